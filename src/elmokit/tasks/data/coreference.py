"""Coreference from CoNLL columns: documents of sentences, clusters of mentions.

The last column holds the brackets (``(3``, ``3)``, ``(3)``, joined by ``|`` or by nothing). The
word is the fourth column where there are that many (CoNLL-2012), else the second (OntoGUM).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import words

Mention = tuple[int, int]
"""First and last token, counted through the document, both included."""

NO_BRACKETS = ("", "-", "_")
LONGEST_WITHOUT_STOP = 100
"""Tokens of a sentence in a file without sentence boundaries, where no full stop comes."""


class CorefDocument(NamedTuple):
    """The sentences of a document and its clusters of mentions."""

    name: str
    sentences: tuple[tuple[str, ...], ...]
    clusters: tuple[tuple[Mention, ...], ...]

    @property
    def tokens(self) -> list[str]:
        """All tokens of the document, in order."""
        return [token for sentence in self.sentences for token in sentence]


def read_coreference(path: Path) -> list[CorefDocument]:
    """The documents of one file, or of all ``*.conll`` files of a folder in order of name."""
    if path.is_dir():
        files = sorted(path.glob("*.conll"))
        if not files:
            raise InputError(f"{path}: no *.conll file in this folder")
        return [document for file in files for document in read_coreference(file)]
    return list(_documents(read_lines(path), str(path), path.stem))


def parse_documents(lines: Iterable[str], where: str) -> Iterator[CorefDocument]:
    """Running text; a blank line ends a document. Sentences and tokens are found here.

    Columns after a ``#begin document`` are read as ``read_coreference`` reads them; their
    mentions are left out.
    """
    gathered: list[str] = []
    number = 0
    numbered = enumerate(chain((line.rstrip("\r\n") for line in lines), [""]), start=1)
    for line_number, line in numbered:
        if _BEGIN.match(line) and not gathered:
            columns = _documents(chain([(line_number, line)], numbered), where, where)
            yield from (document._replace(clusters=()) for document in columns)
            return
        if line.strip():
            gathered.append(line)
        elif gathered:
            number += 1
            sentences = SentenceSplitter.default().split("\n".join(gathered))
            yield CorefDocument(
                f"{where} {number}",
                tuple(tuple(words(sentence.text)) for sentence in sentences),
                (),
            )
            gathered = []


def without_singletons(document: CorefDocument) -> CorefDocument:
    """Leave out clusters of one mention, as OntoNotes (and so the paper) does not annotate them."""
    kept = tuple(cluster for cluster in document.clusters if len(cluster) > 1)
    return document._replace(clusters=kept)


def excerpt(document: CorefDocument, start: int, num_sentences: int) -> CorefDocument:
    """Some sentences of a document, with the mentions that lie in them, renumbered."""
    sentences = document.sentences[start : start + num_sentences]
    begin = sum(map(len, document.sentences[:start]))
    end = begin + sum(map(len, sentences))
    clusters = (
        tuple((a - begin, b - begin) for a, b in cluster if begin <= a and b < end)
        for cluster in document.clusters
    )
    kept = tuple(cluster for cluster in clusters if cluster)
    return document._replace(sentences=sentences, clusters=kept)


class _Reading:
    """A document on its way in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sentences: list[list[str]] = [[]]
        self.is_ontogum = False  # a layout without sentence boundaries
        self.num_tokens = 0
        self.open: dict[str, list[tuple[int, int]]] = {}  # (token, line) of each bracket
        self.clusters: dict[str, list[Mention]] = {}

    def add(self, word: str, brackets: str, where: str, line: int) -> None:
        token = self.num_tokens
        for opens, label, closes in _brackets(brackets, where):
            if opens:
                self.open.setdefault(label, []).append((token, line))
            if closes:
                if not self.open.get(label):
                    raise InputError(f"{where}: mention {label} closes but never opened")
                first, _ = self.open[label].pop()
                self.clusters.setdefault(label, []).append((first, token))
        self.sentences[-1].append(word)
        self.num_tokens += 1

    def end_sentence(self) -> None:
        if self.sentences[-1]:
            self.sentences.append([])

    def finish(self, where: str) -> CorefDocument:
        for label, brackets in self.open.items():
            for _, line in brackets:
                raise InputError(f"{where}, line {line}: mention {label} opens and is never closed")
        sentences = [sentence for sentence in self.sentences if sentence]
        if self.is_ontogum and len(sentences) == 1:
            sentences = list(_split_at_stops(sentences[0]))
        seen: set[Mention] = set()
        clusters = []
        for mentions in self.clusters.values():
            fresh = sorted(set(mentions) - seen)  # as the reference scorer: the first cluster wins
            seen.update(fresh)
            if fresh:
                clusters.append(tuple(fresh))
        return CorefDocument(self.name, tuple(map(tuple, sentences)), tuple(sorted(clusters)))


_BEGIN = re.compile(r"#\s*begin document\s*\(?(?P<name>[^)]*)\)?(?:\s*;\s*part\s+(?P<part>\d+))?")
_END = re.compile(r"#\s*end document")


def _documents(
    lines: Iterable[tuple[int, str]], where: str, name_of_all: str
) -> Iterator[CorefDocument]:
    reading: _Reading | None = None
    for number, line in lines:
        begin = _BEGIN.match(line)
        if begin:
            if reading is not None:
                yield reading.finish(where)
            part = int(begin["part"] or 0)
            name = begin["name"].strip() or name_of_all
            reading = _Reading(f"{name} part {part}" if part else name)
        elif _END.match(line):
            if reading is not None:
                yield reading.finish(where)
            reading = None
        elif line.strip():
            reading = reading or _Reading(name_of_all)
            _read_token(reading, line, number, f"{where}, line {number}")
        elif reading is not None:
            reading.end_sentence()
    if reading is not None:
        yield reading.finish(where)


def _read_token(reading: _Reading, line: str, number: int, where: str) -> None:
    fields = line.split("\t") if "\t" in line else line.split()
    if len(fields) < 3:
        raise InputError(
            f"{where}: {len(fields)} columns; CoNLL-2012 has the word in the fourth and the "
            f"mentions in the last, OntoGUM number, word and mentions"
        )
    reading.is_ontogum = len(fields) <= 4
    reading.add(fields[1 if reading.is_ontogum else 3], fields[-1], where, number)


_PIECE = re.compile(r"(?P<open>\()?(?P<label>[^()|\s]+)(?P<close>\))?")


def _brackets(cell: str, where: str) -> Iterator[tuple[bool, str, bool]]:
    """``(3(1`` -> opens 3, opens 1."""
    if cell in NO_BRACKETS:
        return
    place = 0
    while place < len(cell):
        piece = _PIECE.match(cell, place)
        if piece is None or not (piece["open"] or piece["close"]):
            raise InputError(
                f"{where}: {cell!r} in the last column is no mention such as (12, 12) or (12)"
            )
        yield bool(piece["open"]), piece["label"], bool(piece["close"])
        place = piece.end()
        if place < len(cell) and cell[place] == "|":
            place += 1


def _split_at_stops(tokens: Sequence[str]) -> Iterator[list[str]]:
    """Sentences of a document that came without boundaries: a stop and what closes after it."""
    sentence: list[str] = []
    for place, token in enumerate(tokens):
        sentence.append(token)
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        is_stop = sentence[-1] in STOPS or (
            token in CLOSERS and len(sentence) > 1 and sentence[-2] in STOPS
        )
        if (is_stop and following not in CLOSERS) or len(sentence) >= LONGEST_WITHOUT_STOP:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


STOPS = frozenset(".?!")
CLOSERS = frozenset({"''", "\u201d", "\u2019", ")", "]", '"', "'"})
