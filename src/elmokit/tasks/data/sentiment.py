"""Sentiment: the trees of the Stanford Sentiment Treebank, or text and label separated by a tab."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.tasks.data.lines import read_table
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import words

_COLUMNS = {"text": ("sentence", "text", "review"), "label": ("label", "sentiment", "gold_label")}
_PIECE = re.compile(r"\(|\)|[^\s()]+")
_ESCAPED = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
}


class Phrase(NamedTuple):
    """Tokens ``start`` to ``end`` (excluded) of a tree, and their label."""

    start: int
    end: int
    label: str


class SentimentText(NamedTuple):
    """The tokens of a text and its label."""

    tokens: tuple[str, ...]
    label: str
    """Empty where it is not known."""
    phrases: tuple[Phrase, ...] = ()
    """Every labelled part of more than one token, the whole excepted; none in TSV files."""


def read_sentiment(path: Path) -> list[SentimentText]:
    """Trees if the first line starts with a bracket and has no second column, else a table."""
    for _, line in read_lines(path):
        if line.strip():
            is_tree = line.lstrip().startswith("(") and "\t" not in line.strip()
            return list(_read_trees(path) if is_tree else _read_rows(path))
    return []


def parse_texts(lines: Iterable[str], where: str) -> Iterator[SentimentText]:
    """Running text, one piece per line, tokenised here."""
    for line in lines:
        yield SentimentText(tuple(words(line.strip())), "")


def _read_rows(path: Path) -> Iterator[SentimentText]:
    for number, row in read_table(path, _COLUMNS, default=("text", "label")):
        if not row["label"] or len(row["label"].split()) > 3:
            raise InputError(
                f"{path}, line {number}: expected a label, got {row['label'][:60]!r}; give text "
                "and label in this order, or name the columns in a first line"
            )
        yield SentimentText(tuple(words(row["text"])), row["label"])


def _read_trees(path: Path) -> Iterator[SentimentText]:
    for number, line in read_lines(path):
        if line.strip():
            yield parse_tree(line, f"{path}, line {number}")


def parse_tree(line: str, where: str) -> SentimentText:
    """One tree in brackets, a label in front of every phrase.

    >>> parse_tree("(3 (2 not) (1 bad))", "here")
    SentimentText(tokens=('not', 'bad'), label='3', phrases=())
    """
    tokens: list[str] = []
    phrases: list[Phrase] = []
    open_phrases: list[tuple[int, str]] = []
    pieces = iter(_PIECE.findall(line))
    for piece in pieces:
        if phrases and not open_phrases:
            raise InputError(f"{where}: text after the end of the tree: {piece!r}")
        if piece == "(":
            label = next(pieces, "")
            if label in ("", "(", ")"):
                raise InputError(f"{where}: a bracket without a label")
            open_phrases.append((len(tokens), label))
        elif piece == ")":
            if not open_phrases:
                raise InputError(f"{where}: a bracket closes that never opened")
            start, label = open_phrases.pop()
            phrases.append(Phrase(start, len(tokens), label))
        else:
            tokens.append(_unescaped(piece))
    if open_phrases or not phrases:
        raise InputError(f"{where}: {len(open_phrases)} brackets are never closed")
    *inner, root = phrases
    longer = tuple(phrase for phrase in inner if phrase.end - phrase.start > 1)
    return SentimentText(tuple(tokens), root.label, longer)


def _unescaped(token: str) -> str:
    """The treebank's brackets, quotes and slashes as they stood in the text."""
    return _ESCAPED.get(token, token.replace("\\/", "/").replace("\\*", "*"))
