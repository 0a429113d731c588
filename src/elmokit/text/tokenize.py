# ruff: noqa: RUF001  the ambiguous characters are the point
"""TEXT -> TOKENS with character offsets, in the Penn Treebank style of the published models.

The rules are those of NLTK's ``NLTKWordTokenizer``. They look no further than the spaces around
a run of letters (only the final period depends on the end of the sentence), so each distinct run
is split once and remembered: the same tokens, about ten times as fast.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from elmokit.text.sentences import SentenceSplitter

TOKENIZER = "nltk-words-1"
"""Names these rules in files; changes whenever a text would be split differently."""

_LONGEST_REMEMBERED = 40
_REMEMBERED_RUNS = 1 << 17
_LONGEST_RUN = 50_000
"""NLTK gives up after five seconds on the clock; longer runs are cut so that it never does."""

_SPLIT_IN_TWO = frozenset(["cannot", "gimme", "gonna", "gotta", "lemme", "wanna"])
"""The only runs of letters and digits alone that NLTK splits."""

# NLTK's rules know ASCII and some quotes. Each of these characters is shown to them as one that
# is split off in the same way. One character for one, so that offsets stay true; a double quote
# is shown as a curly one because NLTK would replace it with two characters.
_SHOWN_AS = str.maketrans(
    {'"': "”", "…": ";", "‚": "„", "‹": "«", "›": "»", "،": ",", "、": ";", "，": ";", "：": ";"}
    | dict.fromkeys("؛；・׃;", ";")
    | dict.fromkeys("؟。！？｡।॥۔։።။។¿¡", "!")
    | dict.fromkeys("「『（【《〈［｛", "(")
    | dict.fromkeys("」』）】》〉］｝", ")")
)
_APOSTROPHE = re.compile(r"(?<=\w)’(?=\w)")
_RUN = re.compile(r"\S+")
_INNER_PERIOD = re.compile(r"\.[^\w\s]*\s+\S")
"""Only such a period may or may not come off, depending on where sentences end."""
_CLOSERS = frozenset("]})>\"'»”’")


class Token(NamedTuple):
    """A piece of a text; ``text`` is always exactly ``text[start:end]`` of the original."""

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
    if not _INNER_PERIOD.search(text):  # one sentence as far as tokens go, and five times as fast
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
    mapping; both sides stand in text order. An empty span overlaps nothing.

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


def _runs(sentence: str) -> Iterator[tuple[str, int, bool]]:
    """Runs without a space: the run, where it starts, and whether the sentence ends with it."""
    found = [(match.group(), match.start()) for match in _RUN.finditer(sentence)]
    first_final = _first_final([run for run, _ in found])
    for number, (run, start) in enumerate(found):
        yield run, start, number >= first_final


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
    """Pieces of a run as NLTK splits it before another word, or as the last of a sentence."""
    stem, mark = run[:-1], run[-1]
    if stem.isalnum() and stem.lower() not in _SPLIT_IN_TWO:  # most distinct runs: "word,"
        if mark in ",;:?!)":
            return stem, mark
        if mark == ".":
            return (stem, mark) if is_final else (run,)
    shown = _APOSTROPHE.sub("'", run.translate(_SHOWN_AS))
    pieces = _nltk().tokenize(shown if is_final else f"{shown} x")
    if not is_final:
        pieces.pop()
    ends = [0, *accumulate(map(len, pieces))]
    return tuple(run[start:end] for start, end in pairwise(ends))


@lru_cache(1)
def _nltk() -> Any:
    """Imported on first use: NLTK draws in SciPy and takes a second or two."""
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()
