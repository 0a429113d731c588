"""Joins the tokens of words that the tokeniser splits: *don't* is *do* + *n't*.

By the chain rule, the forward surprisal of a word is the sum over its tokens, and so is the
backward surprisal. There is no such rule for the combined prediction, so a word of several tokens
has no combined surprisal.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    ways = (found.forward, found.backward, found.combined)
    columns = zip(
        tokens,
        zip(*(way.bits.tolist() for way in ways), strict=True),
        zip(*(way.entropy.tolist() for way in ways), strict=True),
        zip(*(way.rank.tolist() for way in ways), strict=True),
        found.is_unknown.tolist(),
        strict=True,
    )
    return [
        WordSurprisal(
            token.text, token.start, token.end, 1, bits, entropy, rank, is_unknown, token.text
        )
        for token, bits, entropy, rank, is_unknown in columns
    ]


def whole_words(tokens: Sequence[Token], found: SentenceSurprisal) -> list[WordSurprisal]:
    """One row per word between spaces.

    Args:
        tokens: the tokens of a sentence, as ``elmokit.tokenize`` returns them.
        found: the result of ``surprisal`` for the same tokens.
    """
    return [_joined(parts) for parts in _between_spaces(each_token(tokens, found))]


def _between_spaces(rows: Sequence[WordSurprisal]) -> Iterator[list[WordSurprisal]]:
    """Groups of adjacent tokens without a space between them."""
    parts: list[WordSurprisal] = []
    for row in rows:
        if parts and parts[-1].end != row.start:
            yield parts
            parts = []
        parts.append(row)
    if parts:
        yield parts


def _joined(parts: Sequence[WordSurprisal]) -> WordSurprisal:
    """One word of its tokens; a single token stays as it is."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return first
    texts = [part.word for part in parts]
    return WordSurprisal(
        "".join(texts),
        first.start,
        last.end,
        len(parts),
        (sum(part.bits[0] for part in parts), sum(part.bits[1] for part in parts), math.nan),
        (first.entropy[0], last.entropy[1], math.nan),
        (0, 0, 0),
        any(part.is_unknown for part in parts),
        _without_punctuation(texts),
    )


def _without_punctuation(tokens: Sequence[str]) -> str:
    """The only token with a letter or digit; if there is not exactly one, all tokens joined.

    >>> _without_punctuation(['"', "the", '"', "."]), _without_punctuation(["do", "n't"])
    ('the', "don't")
    """
    found = [token for token in tokens if any(map(str.isalnum, token))]
    return found[0] if len(found) == 1 else "".join(tokens)
