# ruff: noqa: RUF001  the ambiguous characters are the point
"""TEXT -> TOKENS with character offsets, in the Penn Treebank style of the published models.

The rules (treebank.py) look no further than the spaces around a run of characters; only the
final period depends on the end of the sentence. So each distinct run is split once and
remembered, for speed. Any text takes time in proportion to its length.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.treebank import split_run

TOKENIZER = "nltk-words-1"
"""Names these rules in files; changes whenever a text would be split differently."""

_LONGEST_REMEMBERED = 40
_REMEMBERED_RUNS = 1 << 17
_LONGEST_RUN = 50_000
"""Longer runs without a space are cut before they are split; no language has such words."""

_SPLIT_IN_TWO = frozenset(["cannot", "gimme", "gonna", "gotta", "lemme", "wanna"])
"""The only runs of letters and digits alone that are split."""

_RUN = re.compile(r"\S+")
_PUNCTUATION = re.compile(r"[^\w\s]+")
_CLOSERS = frozenset("]})>\"'»”’")


class Token(NamedTuple):
    """A token and its character offsets: ``text`` is exactly ``original[start:end]``."""

    text: str
    start: int
    end: int


class Overlap(NamedTuple):
    """Our token and their token share at least one character."""

    ours: int
    theirs: int


def tokenize(text: str) -> list[Token]:
    """Split a string of one or more sentences; periods come off at the end of each.

    >>> [token.text for token in tokenize("Dr. Who can't wait. He left.")]
    ['Dr.', 'Who', 'ca', "n't", 'wait', '.', 'He', 'left', '.']
    """
    if not isinstance(text, str):
        raise InputError(f"tokenize takes one string, got {text!r}; call it once per string")
    if not _has_inner_period(text):  # one sentence as far as tokens go, and five times as fast
        return tokenize_sentence(text)
    splitter = SentenceSplitter.default()
    return [
        Token(token.text, sentence.start + token.start, sentence.start + token.end)
        for sentence in splitter.split(text)
        for token in tokenize_sentence(sentence.text)
    ]


def tokenize_sentence(sentence: str) -> list[Token]:
    """Split a string that is known to be one sentence."""
    tokens = []
    for run, start, is_final in _runs(sentence):
        for piece in _pieces(run, is_final):
            tokens.append(Token(piece, start, start + len(piece)))
            start += len(piece)
    return tokens


def words(sentence: str) -> list[str]:
    """The texts of ``tokenize_sentence`` alone: what a corpus of many sentences needs."""
    found: list[str] = []
    runs = sentence.split()
    first_final = _first_final(runs)
    for number, run in enumerate(runs):
        found += _pieces(run, number >= first_final)
    return found


def align(ours: Sequence[Token], theirs: Sequence[Token | tuple[int, int]]) -> list[Overlap]:
    """All pairs of our and their tokens that share a character of the same text, in order.

    Their tokens are ``Token``s or (start, end) pairs, such as a subword tokeniser's offset
    mapping; both sides are in text order. An empty span overlaps nothing.

    >>> align([Token("unlock", 0, 6), Token("it", 7, 9)], [(0, 2), (2, 6), (7, 9), (0, 0)])
    [Overlap(ours=0, theirs=0), Overlap(ours=0, theirs=1), Overlap(ours=1, theirs=2)]
    """
    spans = sorted((*_span(token), number) for number, token in enumerate(theirs))
    pairs = []
    first = 0  # every span before this one ends before our token begins
    for our_number, (_, our_start, our_end) in enumerate(ours):
        while first < len(spans) and spans[first][1] <= our_start:
            first += 1
        position = first
        while position < len(spans) and spans[position][0] < our_end:
            start, end, their_number = spans[position]
            if max(start, our_start) < min(end, our_end):
                pairs.append(Overlap(our_number, their_number))
            position += 1
    return pairs


def _span(token: Token | tuple[int, int]) -> tuple[int, int]:
    return (token.start, token.end) if isinstance(token, Token) else token


def _has_inner_period(text: str) -> bool:
    """A period at the end of a run, though not of the text: it may or may not come off."""
    length = len(text.rstrip())
    period = text.find(".")
    while period >= 0:
        found = _PUNCTUATION.match(text, period)
        end = found.end() if found else period + 1
        if end < length and text[end].isspace():
            return True
        period = text.find(".", end)
    return False


def _runs(sentence: str) -> Iterator[tuple[str, int, bool]]:
    """Runs without a space: the run, where it starts, and whether the sentence ends with it."""
    spans = [found.span() for found in _RUN.finditer(sentence)]
    runs = [sentence[start:end] for start, end in spans]
    first_final = _first_final(runs)
    for number, run in enumerate(runs):
        yield run, spans[number][0], number >= first_final


def _first_final(runs: Sequence[str]) -> int:
    """The last run that is more than closing quotes and brackets: its period ends the sentence."""
    first = len(runs) - 1
    while first > 0 and _CLOSERS.issuperset(runs[first]):
        first -= 1
    return first


def _pieces(run: str, is_final: bool) -> Sequence[str]:
    if run.isalnum() and run.lower() not in _SPLIT_IN_TWO:
        return (run,)
    if len(run) <= _LONGEST_REMEMBERED:
        return _remembered_pieces(run, is_final)
    if len(run) <= _LONGEST_RUN:
        return _split(run, is_final)
    cuts = range(0, len(run), _LONGEST_RUN)
    return [piece for cut in cuts for piece in _split(run[cut : cut + _LONGEST_RUN], is_final)]


@lru_cache(_REMEMBERED_RUNS)
def _remembered_pieces(run: str, is_final: bool) -> Sequence[str]:
    return _split(run, is_final)


def _split(run: str, is_final: bool) -> Sequence[str]:
    stem, mark = run[:-1], run[-1]
    if stem.isalnum() and stem.lower() not in _SPLIT_IN_TWO:  # most distinct runs: "word,"
        if mark in ",;:?!)":
            return stem, mark
        if mark == ".":
            return (stem, mark) if is_final else (run,)
    return split_run(run, is_final)
