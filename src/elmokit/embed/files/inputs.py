"""FILES -> SENTENCES for the command line: one sentence per line, read as it is needed."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from elmokit.text.sources import can_be_read_twice, open_source, read_lines, require_sources


class Item(NamedTuple):
    """One sentence (or protein) whose vectors are to be written."""

    key: str
    text: str
    tokens: list[str]


def read_sentences(inputs: Sequence[str], *, pretokenized: bool) -> Iterator[Item]:
    """Number the lines of all inputs from 0, including blank ones: line i has key i."""
    from elmokit.text.tokenize import tokenize

    lines = (line for name in inputs for _, line in read_lines(name))
    for number, line in enumerate(lines):
        text = line.strip()
        tokens = text.split() if pretokenized else [token.text for token in tokenize(text)]
        yield Item(str(number), text, tokens)


def count_lines(inputs: Sequence[str]) -> int | None:
    """The number of lines; None if an input can be read only once."""
    require_sources(inputs)
    if not can_be_read_twice(inputs):
        return None
    total = 0
    for name in inputs:
        last = b"\n"
        with open_source(name) as file:
            while block := file.read(1 << 20):
                total += block.count(b"\n")
                last = block[-1:]
        total += last != b"\n"
    return total
