"""Groups sentences into batches of similar length with a bounded number of tokens: which run
together, in an ``Embedder`` and in task models.
"""

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

import numpy as np

SENTENCES_AT_ONCE = 256
"""Every step reads all the weights, so that more rows share the cost. Beyond this number the gain
is small; BATCH_TOKENS bounds the memory of long sentences."""

SizedItem = TypeVar("SizedItem", bound=Sized)


def chunks_of(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Indices of the sentences of each chunk, longest first, so that memory peaks early.

    >>> chunks_of([3, 9, 1, 4], batch_tokens=9)
    [[1], [3, 0], [2]]
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    return cut_batches(order, lengths, batch_tokens, SENTENCES_AT_ONCE)


def cut_batches(
    order: Sequence[int],
    lengths: Sequence[int],
    max_batch_tokens: int,
    batch_size: int | None = None,
) -> list[list[int]]:
    """Items, taken in ``order``, in batches of bounded size; padding counts as tokens.

    An item that is longer than ``max_batch_tokens`` is a batch of its own.

    >>> cut_batches([0, 1, 2, 3], lengths=[3, 3, 4, 9], max_batch_tokens=9)
    [[0, 1], [2], [3]]
    """
    batches: list[list[int]] = []
    longest = 0
    for number in order:
        longest = max(longest, lengths[number])
        has_room = batches and (batch_size is None or len(batches[-1]) < batch_size)
        if has_room and longest * (len(batches[-1]) + 1) <= max_batch_tokens:
            batches[-1].append(number)
        else:
            batches.append([number])
            longest = lengths[number]
    return batches


def shuffled_batches(
    lengths: Sequence[int], batch_size: int, max_batch_tokens: int, seed: int, epoch: int
) -> list[list[int]]:
    """Numbers of the examples of each batch of an epoch of training, every example once.

    Lengths are blurred by a tenth before they are sorted, so that batches change from epoch to
    epoch; then the batches are shuffled.
    """
    random = np.random.default_rng([seed, epoch])
    blurred = np.asarray(lengths) * random.uniform(0.9, 1.1, size=len(lengths))
    order = np.argsort(blurred + random.uniform(0, 0.5, size=len(lengths)), kind="stable")
    batches = cut_batches(order.tolist(), lengths, max_batch_tokens, batch_size)
    return [batches[number] for number in random.permutation(len(batches))]


def sorted_batches(
    lengths: Sequence[int], batch_size: int, max_batch_tokens: int
) -> list[list[int]]:
    """The same for prediction: shortest first, nothing random."""
    order = np.argsort(np.asarray(lengths), kind="stable")
    return cut_batches(order.tolist(), lengths, max_batch_tokens, batch_size)


def windows_of(
    sentences: Iterable[SizedItem], window_tokens: int, max_sentences: int | None = None
) -> Iterator[list[SizedItem]]:
    """Windows of consecutive sentences, each sorted separately; the input may be endless.

    >>> list(windows_of(["ab", "c", "", "def"], window_tokens=5, max_sentences=3))
    [['ab', 'c'], ['', 'def']]
    """
    window: list[SizedItem] = []
    room = window_tokens
    for sentence in sentences:
        window.append(sentence)
        room -= len(sentence) + 1  # so that empty lines fill a window too
        if room <= 0 or len(window) == max_sentences:
            yield window
            window, room = [], window_tokens
    if window:
        yield window
