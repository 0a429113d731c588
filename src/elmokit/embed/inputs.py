"""FILES -> SENTENCES for the command line: one sentence a line, read as it is needed."""

import gzip
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from elmokit.errors import InputError

STANDARD_INPUT = "-"
_BYTE_ORDER_MARK = "\ufeff"


class Item(NamedTuple):
    """One sentence (or protein) on its way to a file of vectors."""

    key: str
    text: str
    tokens: list[str]


def read_sentences(inputs: Sequence[str], *, pretokenized: bool) -> Iterator[Item]:
    """Number the lines of all inputs from 0, blank ones too: line i of the text has key i."""
    from elmokit.text.tokenize import tokenize

    for number, line in enumerate(_lines(inputs)):
        text = line.strip()
        tokens = text.split() if pretokenized else [token.text for token in tokenize(text)]
        yield Item(str(number), text, tokens)


def count_lines(inputs: Sequence[str]) -> int | None:
    """How many lines there will be; None where an input can be read only once."""
    require_inputs(inputs)
    if not can_be_read_twice(inputs):
        return None
    total = 0
    for name in inputs:
        last = b"\n"
        with open_input(name) as file:
            while block := file.read(1 << 20):
                total += block.count(b"\n")
                last = block[-1:]
        total += last != b"\n"
    return total


def require_inputs(inputs: Sequence[str]) -> None:
    """Refuse a missing file before the model is loaded, not after an hour of the others."""
    for name in inputs:
        if name == STANDARD_INPUT:
            continue
        if not Path(name).exists():
            raise InputError(f"{name}: there is no such file")
        if Path(name).is_dir():
            raise InputError(f"{name}: this is a folder; name the files in it")


def can_be_read_twice(inputs: Sequence[str]) -> bool:
    """Not so standard input and pipes, such as the shell's ``<(command)``."""
    return all(name != STANDARD_INPUT and Path(name).is_file() for name in inputs)


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    """Bytes of a file, unpacked where its name ends in .gz, or of standard input."""
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
        return
    with open(name, "rb") as file:
        if not name.endswith(".gz"):
            yield file
            return
        with gzip.open(file) as unpacked:
            try:
                yield cast(IO[bytes], unpacked)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise InputError(f"{name}: damaged gzip file ({error}); copy it again") from None


def decoded(line: bytes, name: str, number: int) -> str:
    """Text of line ``number`` (from 1), without the mark that some editors put in front."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        shown = "standard input" if name == STANDARD_INPUT else name
        raise InputError(
            f"{shown}: line {number} is not UTF-8 text; convert the file, for example with iconv"
        ) from None
    return text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text


def _lines(inputs: Sequence[str]) -> Iterator[str]:
    for name in inputs:
        with open_input(name) as file:
            for number, line in enumerate(file, start=1):
                yield decoded(line, name, number)
