# ruff: noqa: RUF001  the ambiguous characters are the point
"""Where sentences end: the decisions of a trained Punkt model (Kiss and Strunk 2006).

A period, question or exclamation mark may end a sentence. Punkt looks at the word before it and
the word after it, and at what it has learned: which words are abbreviations, which pairs of
words belong together across a period, which words often begin sentences, and in which positions
each word was written in upper or lower case. The sections named below are those of the paper.

The sentences are those of NLTK 3.10's ``PunktSentenceTokenizer``, including its peculiarities.
Training is left to NLTK. Unlike there, all of this is linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from elmokit.text.treebank import is_word_character

# What Punkt knows of a word: the positions and cases in which training saw it.
STARTED_UPPER = 1 << 1
INSIDE_UPPER = 1 << 2
ANYWHERE_UPPER = 1 << 3
STARTED_LOWER = 1 << 4
INSIDE_LOWER = 1 << 5
ANYWHERE_LOWER = 1 << 6
SEEN_UPPER = STARTED_UPPER | INSIDE_UPPER | ANYWHERE_UPPER
SEEN_LOWER = STARTED_LOWER | INSIDE_LOWER | ANYWHERE_LOWER

_NUMBER = "##number##"
"""Stands for every number in what a model has learned."""

# Punkt's spaces are those of Unicode; Python adds four control characters, U+001C to U+001F.
_SPACE = r"[^\S\x1c-\x1f]"
_NO_SPACE = r"[\S\x1c-\x1f]"
_SPACES = re.compile(f"{_SPACE}*")
_RUN = re.compile(f"{_NO_SPACE}*")
_ASCII_SPACES = frozenset(" \t\n\r\x0b\x0c")

_ENDS_WORD = r"""[)";}\]*:@'({\[‘’“”«»?!]"""
_CLOSING = re.compile(r"""["')\]}‘’“”«»]+""")
_POTENTIAL_END = re.compile(f"[.?!](?=(?:{_ENDS_WORD}|{_SPACE}))")

# Hyphens, an ellipsis (". . ." too), a word, or a single mark. A word goes up to a space, a mark
# or an ellipsis, and takes a comma with it only if more of the word follows.
_SPACED_DOTS = rf"\.{_SPACE}\.{_SPACE}\."
_MANY = rf"--|\.\.|{_SPACED_DOTS}"
_TOKEN = re.compile(
    rf"""
    -{{2,}} | \.{{2,}} | {_SPACED_DOTS}(?:{_SPACE}\.)*
    | (?!["`(){{}}\[\]:;&\#*@,-]){_NO_SPACE}
      (?: (?!{_ENDS_WORD}|{_MANY}|,(?:\Z|{_SPACE}|{_ENDS_WORD}|{_MANY})){_NO_SPACE} )*
    | {_NO_SPACE}
    """,
    re.VERBOSE,
)
_NUMERIC = re.compile(r"-?[.,]?\d[\d,.-]*")
_MARKS = frozenset(";:,.!?")


@dataclass(frozen=True)
class PunktParameters:
    """What Punkt has learned of a language.

    Attributes:
        abbreviations: words in lower case, without their final period.
        collocations: pairs of words that belong together across a period.
        sentence_starters: words that often begin a sentence.
        orthography: for each word, the sum of flags such as ``INSIDE_UPPER``.
    """

    abbreviations: frozenset[str] = frozenset()
    collocations: frozenset[tuple[str, str]] = frozenset()
    sentence_starters: frozenset[str] = frozenset()
    orthography: Mapping[str, int] = field(default_factory=dict)


def sentence_spans(text: str, parameters: PunktParameters) -> Iterator[tuple[int, int]]:
    """(start, end) of each sentence of ``text``, in order.

    >>> list(sentence_spans("He left. She stayed.", PunktParameters()))
    [(0, 8), (9, 20)]
    """
    start, length = 0, len(text.rstrip())
    breaks = chain(_breaks(text, parameters), [_Break(length, length)])
    for (end, next_start), (next_end, _) in pairwise(breaks):
        closed, resumed = _closing_marks(text, next_start, next_end)
        end = max(end, closed)
        if start < end:
            yield start, end
        start = resumed
    if start < length:
        yield start, length


class _Break(NamedTuple):
    """A sentence ends here, and the next one starts there."""

    end: int
    next_start: int


def _closing_marks(text: str, start: int, stop: int) -> tuple[int, int]:
    """Quotes and brackets at the start of a sentence that close the one before.

    Returns where they end, 0 if there are none, and where the rest of the sentence starts.
    """
    end = _end_of(_CLOSING, text, start, stop)
    rest = _end_of(_SPACES, text, end, stop)
    if end > start and (rest > end or end == stop or text.startswith("--", end, stop)):
        return end, rest
    return 0, start


def _breaks(text: str, parameters: PunktParameters) -> Iterator[_Break]:
    """Every potential end that Punkt takes for an end."""
    for word_start, mark, next_start in _potential_ends(text):
        end = mark + 1
        next_end = end + 1 if next_start == end else _end_of(_RUN, text, next_start, len(text))
        if _has_break(text[word_start:next_end], parameters):
            yield _Break(end, next_start)


class _PotentialEnd(NamedTuple):
    """A mark that may end a sentence."""

    word_start: int
    mark: int
    next_start: int
    """Where the next word starts, or the next mark if no space comes before it."""


def _potential_ends(text: str) -> Iterator[_PotentialEnd]:
    """Marks in front of a space or of another mark; of several in one word, only the last.

    A mark that is the whole word so far counts too: both marks of a word "?!".
    """
    previous = None
    word_start = previous_mark = 0
    for found in _POTENTIAL_END.finditer(text):
        mark = found.start()
        next_start = _end_of(_SPACES, text, mark + 1, len(text))
        if next_start == len(text):
            break
        space = mark - 1
        while space > previous_mark and text[space] not in _ASCII_SPACES:
            space -= 1
        if space > previous_mark:
            word_start = space + 1
        if previous and previous_mark <= word_start:
            yield previous
        previous = _PotentialEnd(word_start, mark, next_start)
        previous_mark = mark
    if previous:
        yield previous


def _has_break(context: str, parameters: PunktParameters) -> bool:
    """Whether a sentence ends in the word before a mark, the mark, or the word after it."""
    lines = context.split("\n")
    tokens = [token for line in lines if line.strip() for token in _TOKEN.findall(line)]
    return any(_ends_sentence(token, after, parameters) for token, after in pairwise(tokens))


def _ends_sentence(token: str, following: str, parameters: PunktParameters) -> bool:
    """Whether a sentence ends between two neighbouring tokens (section 4)."""
    if not token.endswith("."):
        return token in ("?", "!")
    kind = _type(token)
    if len(kind) > 1:
        kind = kind.removesuffix(".")
    next_kind = _type(following)
    if len(next_kind) > 1 and _looks_final(following, parameters):
        next_kind = next_kind.removesuffix(".")
    if (kind, next_kind) in parameters.collocations:  # 4.1.2
        return False

    starts = _starts_sentence(following, next_kind, parameters)
    is_capitalised = following[0].isupper()
    is_initial = len(token) == 2 and is_word_character(token[0]) and not token[0].isdecimal()
    is_end = _looks_final(token, parameters)
    if not is_end and not is_initial:  # 4.2: an abbreviation or an ellipsis may end one as well
        return bool(starts) or (is_capitalised and next_kind in parameters.sentence_starters)
    if is_initial or kind == _NUMBER:  # 4.3: initials and ordinals
        if starts is False:
            return False
        is_name = is_capitalised and not parameters.orthography.get(next_kind, 0) & SEEN_LOWER
        if starts is None and is_initial and is_name:
            return False
    return is_end


def _looks_final(token: str, parameters: PunktParameters) -> bool:
    """Whether a token alone looks like the end of a sentence: no abbreviation, no ellipsis."""
    if token in (".", "?", "!"):
        return True
    if not token.endswith(".") or not token.strip("."):
        return False
    word = token[:-1].lower()
    return (
        word not in parameters.abbreviations
        and word.rpartition("-")[2] not in parameters.abbreviations
    )


def _starts_sentence(token: str, kind: str, parameters: PunktParameters) -> bool | None:
    """What its case says about a word after a period (4.1.1); None: nothing."""
    if token in _MARKS:
        return False
    flags = parameters.orthography.get(kind, 0)
    if token[0].isupper() and flags & SEEN_LOWER and not flags & INSIDE_UPPER:
        return True
    if token[0].islower() and (flags & SEEN_UPPER or not flags & STARTED_LOWER):
        return False
    return None


def _type(token: str) -> str:
    """A token in lower case; all numbers are one type."""
    lowered = token.lower()
    return _NUMBER if _NUMERIC.fullmatch(lowered) else lowered


def _end_of(pattern: re.Pattern[str], text: str, start: int, stop: int) -> int:
    found = pattern.match(text, start, stop)
    return found.end() if found else start
