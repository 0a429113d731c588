"""Named entities from CoNLL columns: IOB1, IOB2, BIOES or BILOU.

The word is the first column, the tag the last; a blank line ends a sentence. Tags become spans
by the rule of the conlleval script, which reads all four schemes alike: an entity starts at
B or S, and at any other tag that does not continue the one before it.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import tokenize

_STARTS, _INSIDE, _ENDS, _WHOLE = "B", "I", "EL", "SU"


class Entity(NamedTuple):
    """A labelled span of tokens."""

    start: int
    end: int
    """One past the last token."""
    label: str


class NerSentence(NamedTuple):
    """The tokens of a sentence and its entities (none where they are not known)."""

    tokens: tuple[str, ...]
    entities: tuple[Entity, ...]


class RawSentence(NerSentence):
    """A line of raw text, tokenised here: it also knows the offsets of its tokens."""

    text: str
    offsets: tuple[tuple[int, int], ...]
    """Of each token in ``text``: its first character, and one past its last."""

    @classmethod
    def of(cls, text: str) -> "RawSentence":
        """Tokenise a line of text."""
        found = tokenize(text)
        sentence = cls(tuple(token.text for token in found), ())
        sentence.text = text
        sentence.offsets = tuple((token.start, token.end) for token in found)
        return sentence


def read_entities(path: Path) -> list[NerSentence]:
    """The sentences of a file of CoNLL columns."""
    sentences: list[NerSentence] = []
    tokens: list[str] = []
    tags: list[str] = []
    for number, line in list(read_lines(path)):
        fields = line.split("\t") if "\t" in line else line.split()
        if not "".join(fields).strip():
            if tokens:
                sentences.append(NerSentence(tuple(tokens), entities_of(tags)))
            tokens, tags = [], []
            continue
        if fields[0] == "-DOCSTART-" or (fields[0].startswith("#") and len(fields) == 1):
            continue
        _check(fields, f"{path}, line {number}")
        tokens.append(fields[0].strip())
        tags.append(fields[-1].strip())
    if tokens:
        sentences.append(NerSentence(tuple(tokens), entities_of(tags)))
    return sentences


def parse_sentences(lines: Iterable[str], where: str) -> Iterator[NerSentence]:
    """Raw text, one sentence per line."""
    for line in lines:
        yield RawSentence.of(line.rstrip("\r\n"))


def entities_of(tags: Sequence[str]) -> tuple[Entity, ...]:
    """Tags of any scheme -> entities.

    >>> entities_of(["I-PER", "B-PER", "O", "S-LOC"])
    (Entity(start=0, end=1, label='PER'), Entity(start=1, end=2, label='PER'), Entity(start=3, end=4, label='LOC'))
    """  # noqa: E501
    entities: list[Entity] = []
    is_open = False
    for place, tag in enumerate(tags):
        prefix, _, label = tag.partition("-")
        if prefix == "O":
            is_open = False
            continue
        continues = is_open and entities[-1].label == label and prefix not in _STARTS + _WHOLE
        if continues:
            entities[-1] = entities[-1]._replace(end=place + 1)
        else:
            entities.append(Entity(place, place + 1, label))
        is_open = prefix in _STARTS + _INSIDE
    return tuple(entities)


def bioes_tags(entities: Iterable[Entity], num_tokens: int) -> list[str]:
    """What the model learns: the finest of the schemes."""
    tags = ["O"] * num_tokens
    for start, end, label in entities:
        tags[start:end] = [f"I-{label}"] * (end - start)
        tags[end - 1] = f"E-{label}"
        tags[start] = f"B-{label}" if end - start > 1 else f"S-{label}"
    return tags


def _check(fields: Sequence[str], where: str) -> None:
    if len(fields) < 2:
        raise InputError(
            f"{where}: one column ({fields[0]!r}); expected the word first and its tag last"
        )
    if not fields[0].strip():
        raise InputError(f"{where}: the first column, the word, is empty")
    prefix, dash, label = fields[-1].strip().partition("-")
    is_tag = prefix == "O" and not dash
    is_tag = is_tag or (len(prefix) == 1 and prefix in "BIELSU" and bool(label))
    if not is_tag:
        raise InputError(
            f"{where}: the last column must be a tag such as O, B-PER or I-PER, "
            f"got {fields[-1].strip()!r}"
        )
