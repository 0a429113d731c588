"""Occurrences of many words in a text of any size: all are counted, a sample of each is kept."""

import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from elmokit.analysis.words.occurrences import Occurrence

MAX_TYPES = 2_000_000
"""The maximum number of distinct words counted; beyond it, words seen once are dropped."""


class WordSample(NamedTuple):
    """A word's occurrences in a text."""

    num_found: int
    """How often it occurs."""
    occurrences: list[Occurrence]
    """All occurrences or a random sample of them, in the order of the text."""


def sample_occurrences(
    sentences: Iterable[Sequence[str]], words: Iterable[str], limit: int, seed: int = 0
) -> dict[str, WordSample]:
    """A uniform sample of at most ``limit`` occurrences of each word, ignoring case.

    The sample of a word depends only on the text, the seed and that word. Memory is bounded by the
    sample: the text is read once, sentence by sentence.
    """
    drawn = {word.casefold(): _Reservoir(word.casefold(), limit, seed) for word in words}
    for sentence in sentences:
        for place, token in enumerate(sentence):
            reservoir = drawn.get(token.casefold())
            if reservoir is not None:
                reservoir.offer(sentence, place)
    return {word: reservoir.sample() for word, reservoir in drawn.items()}


class _Reservoir:
    """Algorithm R (Vitter 1985)."""

    def __init__(self, word: str, limit: int, seed: int) -> None:
        self.limit = limit
        self.count = 0
        self._kept: list[tuple[int, Occurrence]] = []
        self._random = np.random.default_rng([seed, zlib.crc32(word.encode())])

    def offer(self, sentence: Sequence[str], place: int) -> None:
        self.count += 1
        if len(self._kept) < self.limit:
            self._kept.append((self.count, Occurrence(list(sentence), place)))
            return
        row = int(self._random.integers(self.count))
        if row < self.limit:
            self._kept[row] = (self.count, Occurrence(list(sentence), place))

    def sample(self) -> WordSample:
        return WordSample(self.count, [occurrence for _, occurrence in sorted(self._kept)])


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
