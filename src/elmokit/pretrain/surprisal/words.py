"""Joins the tokens of words that the tokeniser splits: *don't* is *do* + *n't*.

By the chain rule, the forward surprisal of a word is the sum over its tokens, and so is the
backward surprisal. There is no such rule for the combined prediction, so a word of several tokens
has no combined surprisal.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from elmokit.pretrain.surprisal.measure import SentenceSurprisal
from elmokit.text.tokenize import Token


class WordSurprisal(NamedTuple):
    """A word of a text, or a token; missing bits and entropies are NaN, missing ranks are 0."""

    word: str
    start: int
    end: int
    num_tokens: int
    bits: tuple[float, float, float]
    """Forward, backward, combined."""
    entropy: tuple[float, float, float]
    """Entropy before the word is read: at its first token forward, at its last backward."""
    rank: tuple[int, int, int]
    is_unknown: bool
    """Whether any of its tokens is outside the vocabulary."""
    without_punctuation: str
    """The only token that is not punctuation, to look up the frequency of; else the whole word."""


def each_token(tokens: Sequence[Token], found: SentenceSurprisal) -> list[WordSurprisal]:
    """One row per token."""
    return [_joined(tokens, found, [place]) for place in range(len(tokens))]


def whole_words(tokens: Sequence[Token], found: SentenceSurprisal) -> list[WordSurprisal]:
    """One row per word between spaces.

    Args:
        tokens: the tokens of a sentence, as ``elmokit.tokenize`` returns them.
        found: the result of ``surprisal`` for the same tokens.
    """
    return [_joined(tokens, found, places) for places in _between_spaces(tokens)]


def _between_spaces(tokens: Sequence[Token]) -> Iterator[list[int]]:
    """Groups of adjacent tokens without a space between them."""
    places: list[int] = []
    for place, token in enumerate(tokens):
        if places and tokens[place - 1].end != token.start:
            yield places
            places = []
        places.append(place)
    if places:
        yield places


def _joined(
    tokens: Sequence[Token], found: SentenceSurprisal, places: Sequence[int]
) -> WordSurprisal:
    first, last = places[0], places[-1]
    part = slice(first, last + 1)
    ways = (found.forward, found.backward, found.combined)
    forward, backward, combined = (float(way.bits[part].sum()) for way in ways)
    is_one = first == last
    return WordSurprisal(
        "".join(tokens[place].text for place in places),
        tokens[first].start,
        tokens[last].end,
        len(places),
        (forward, backward, combined if is_one else np.nan),
        (
            float(found.forward.entropy[first]),
            float(found.backward.entropy[last]),
            float(found.combined.entropy[first]) if is_one else np.nan,
        ),
        tuple(int(way.rank[first]) if is_one else 0 for way in ways),  # type: ignore[arg-type]
        bool(found.is_unknown[part].any()),
        _without_punctuation([tokens[place].text for place in places]),
    )


def _without_punctuation(tokens: Sequence[str]) -> str:
    """The only token with a letter or digit; if there is not exactly one, all tokens joined.

    >>> _without_punctuation(['"', "the", '"', "."]), _without_punctuation(["do", "n't"])
    ('the', "don't")
    """
    found = [token for token in tokens if any(map(str.isalnum, token))]
    return found[0] if len(found) == 1 else "".join(tokens)
