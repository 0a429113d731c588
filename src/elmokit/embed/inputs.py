"""FILES -> SENTENCES for the command line: one sentence a line, read as it is needed."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from elmokit.errors import InputError

STANDARD_INPUT = "-"


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
    """How many lines there will be; None where standard input is among the inputs."""
    require_inputs(inputs)
    if STANDARD_INPUT in inputs:
        return None
    total = 0
    for name in inputs:
        last = b"\n"
        with open(name, "rb") as file:
            while block := file.read(1 << 20):
                total += block.count(b"\n")
                last = block[-1:]
        total += last != b"\n"
    return total


def require_inputs(inputs: Sequence[str]) -> None:
    """Refuse a missing file before the model is loaded, not after an hour of the others."""
    for name in inputs:
        if name != STANDARD_INPUT and not Path(name).is_file():
            raise InputError(f"{name}: there is no such file")


@contextmanager
def open_input(name: str) -> Iterator[IO[bytes]]:
    if name == STANDARD_INPUT:
        yield sys.stdin.buffer
    else:
        with open(name, "rb") as file:
            yield file


def decoded(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        shown = "standard input" if name == STANDARD_INPUT else name
        raise InputError(
            f"{shown}: line {number} is not UTF-8 text; convert the file, for example with iconv"
        ) from None


def _lines(inputs: Sequence[str]) -> Iterator[str]:
    for name in inputs:
        with open_input(name) as file:
            for number, line in enumerate(file, start=1):
                yield decoded(line, name, number)
