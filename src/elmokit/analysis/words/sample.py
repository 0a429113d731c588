"""Occurrences of many words in a text of any size: all are counted, a sample of each is kept."""

import sys
import zlib
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.wug import Usage

T = TypeVar("T")

MAX_TYPES = 2_000_000
"""The maximum number of distinct words counted; beyond it, words seen once are dropped."""


class WordSample(NamedTuple):
    """A word's occurrences in a text."""

    num_found: int
    """How often it occurs."""
    occurrences: list[Occurrence]
    """All occurrences or a random sample of them, in the order of the text."""
    usages: list[Usage] | None = None
    """The same occurrences with their origin, if they come from a file of usages."""

    def rows(self, numbers: Sequence[int]) -> "WordSample":
        """Some of the occurrences."""
        usages = None if self.usages is None else [self.usages[number] for number in numbers]
        occurrences = [self.occurrences[number] for number in numbers]
        return WordSample(self.num_found, occurrences, usages)


def sample_occurrences(
    sentences: Iterable[Sequence[str]], words: Iterable[str], limit: int, seed: int = 0
) -> dict[str, WordSample]:
    """A uniform sample of at most ``limit`` occurrences of each word, ignoring case.

    The sample of a word depends only on the text, the seed and that word. Memory is bounded by the
    sample: the text is read once, sentence by sentence; the words of a sentence share its list of
    tokens, and equal tokens of all sentences are one string.
    """
    drawn: dict[str, _Reservoir[Occurrence]] = {
        word.casefold(): _Reservoir(word, limit, seed) for word in words
    }
    for sentence in sentences:
        tokens: list[str] = []
        for place, token in enumerate(sentence):
            reservoir = drawn.get(token.casefold())
            if reservoir is not None:
                tokens = tokens or [sys.intern(str(each)) for each in sentence]
                reservoir.offer(Occurrence(tokens, place))
    return {
        word: WordSample(reservoir.count, reservoir.sample()) for word, reservoir in drawn.items()
    }


def sample_usages(usages: Sequence[Usage], word: str, limit: int, seed: int = 0) -> WordSample:
    """A uniform sample of at most ``limit`` of the usages of a word, in their order."""
    reservoir: _Reservoir[Usage] = _Reservoir(word, limit, seed)
    for usage in usages:
        reservoir.offer(usage)
    kept = reservoir.sample()
    return WordSample(len(usages), [usage.occurrence for usage in kept], kept)


class _Reservoir(Generic[T]):
    """Algorithm R (Vitter 1985)."""

    def __init__(self, word: str, limit: int, seed: int) -> None:
        self.limit = limit
        self.count = 0
        self._kept: list[tuple[int, T]] = []
        self._random = np.random.default_rng([seed, zlib.crc32(word.casefold().encode())])

    def offer(self, item: T) -> None:
        self.count += 1
        if len(self._kept) < self.limit:
            self._kept.append((self.count, item))
            return
        row = int(self._random.integers(self.count))
        if row < self.limit:
            self._kept[row] = (self.count, item)

    def sample(self) -> list[T]:
        return [item for _, item in sorted(self._kept, key=lambda pair: pair[0])]


def count_words(sentences: Iterable[Sequence[str]]) -> dict[str, int]:
    """How often each word occurs, ignoring case; in a huge text, words seen once may be dropped."""
    counts: dict[str, int] = {}
    for sentence in sentences:
        for token in sentence:
            word = token.casefold()
            counts[word] = counts.get(word, 0) + 1
        if len(counts) > MAX_TYPES:
            counts = {word: count for word, count in counts.items() if count > 1}
    return counts
