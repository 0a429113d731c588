"""Which word types a corpus keeps, and in which order: renumbers words by their counts."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.pretrain.corpus.split_text import FIRST_WORD, UNKNOWN_TYPE, Block
from elmokit.text.vocabulary import MARKERS, Vocabulary


class TypeNumbers:
    """The distinct words of a corpus, numbered in order of first occurrence.

    At most ``max_live`` words are kept in memory. If there are more, the rarest are dropped: their
    numbers stay in the stream and become ``<UNK>`` in the end.
    """

    def __init__(self, max_live: int) -> None:
        self.max_live = max_live
        self.next_number = FIRST_WORD
        self.num_forgotten = 0
        self._numbers: dict[bytes, int] = {}
        self._counts = np.zeros(1 << 16, dtype=np.int64)

    def add(self, block: Block) -> npt.NDArray[np.uint32]:
        """Convert the ids of a block to the numbers of the whole corpus."""
        numbers = self._numbers
        renumber = np.arange(FIRST_WORD + len(block.words), dtype=np.uint32)
        for position, word in enumerate(block.words, FIRST_WORD):
            number = numbers.get(word)
            if number is None:
                number = numbers[word] = self.next_number
                self.next_number += 1
            renumber[position] = number
        self._count(renumber, np.bincount(block.ids, minlength=len(renumber)))
        if len(numbers) > self.max_live:
            self._forget()
        return renumber[block.ids]

    def live(self) -> tuple[list[bytes], npt.NDArray[np.int64]]:
        """The words that were not dropped, in code-point order, and their numbers."""
        words = sorted(self._numbers)  # UTF-8 bytes sort as code points do
        get = self._numbers.__getitem__
        return words, np.fromiter(map(get, words), dtype=np.int64, count=len(words))

    def _count(self, numbers: npt.NDArray[np.uint32], counts: npt.NDArray[np.int64]) -> None:
        if self.next_number > len(self._counts):
            grown = np.zeros(2 * self.next_number, dtype=np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[numbers[FIRST_WORD:]] += counts[FIRST_WORD:]

    def _forget(self) -> None:
        """Drop the rarest words, all of one count at a time, until a quarter of them are gone."""
        live = np.fromiter(self._numbers.values(), dtype=np.int64, count=len(self._numbers))
        live_counts = np.sort(self._counts[live])
        threshold = live_counts[len(live_counts) - self.max_live * 3 // 4 - 1]
        kept = {w: n for w, n in self._numbers.items() if self._counts[n] > threshold}
        self.num_forgotten += len(self._numbers) - len(kept)
        self._numbers = kept


class Ranking(NamedTuple):
    """The types of a finished corpus, in order of their ids."""

    vocabulary: Vocabulary
    letters: list[bytes]
    counts: npt.NDArray[np.int64]  # in the training part
    renumber: npt.NDArray[np.uint32]  # number by first occurrence -> type id
    num_dropped: int


def rank_types(
    numbers: TypeNumbers,
    counts: npt.NDArray[np.int64],
    vocabulary_size: int,
    min_count: int,
    max_types: int,
    given: Vocabulary | None,
) -> Ranking:
    """Order types by decreasing count, ties by code point; a given vocabulary comes first."""
    words, arrival = numbers.live()
    order = np.argsort(-counts[arrival], kind="stable")
    new = np.full(len(words), UNKNOWN_TYPE, dtype=np.uint32)  # type id of each word
    if given is None:
        num_targets = int(np.count_nonzero(counts[arrival] >= max(min_count, 1)))
        num_targets = min(num_targets, max(vocabulary_size - len(MARKERS), 0))
        targets = [words[i] for i in order[:num_targets]]
        new[order[:num_targets]] = np.arange(num_targets) + FIRST_WORD
    else:
        targets = [word.encode() for word in dict.fromkeys(given.words) if word not in MARKERS]
        target_ids = {word: number for number, word in enumerate(targets, FIRST_WORD)}
        new[:] = [target_ids.get(word, UNKNOWN_TYPE) for word in words]
    room = max(max_types - FIRST_WORD - len(targets), 0)
    rest = order[new[order] == UNKNOWN_TYPE]
    new[rest[:room]] = np.arange(len(rest[:room])) + FIRST_WORD + len(targets)

    renumber = np.full(numbers.next_number, UNKNOWN_TYPE, dtype=np.uint32)
    renumber[:FIRST_WORD] = np.arange(FIRST_WORD)
    renumber[arrival] = new
    letters = [*(marker.encode() for marker in MARKERS), *targets]
    letters += [words[i] for i in rest[:room]]
    return Ranking(
        Vocabulary([*MARKERS, *(word.decode() for word in targets)]),
        letters,
        np.bincount(renumber, weights=counts, minlength=len(letters)).astype(np.int64),
        renumber,
        len(rest[room:]),
    )
