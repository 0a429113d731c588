"""Examples -> batches of similar length: little padding, the same for the same seed and epoch."""

from collections.abc import Sequence

import numpy as np


def shuffled_batches(
    lengths: Sequence[int], batch_size: int, max_batch_tokens: int, seed: int, epoch: int
) -> list[list[int]]:
    """Numbers of the examples of each training batch, every example once.

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


def cut_batches(
    order: Sequence[int],
    lengths: Sequence[int],
    max_batch_tokens: int,
    batch_size: int | None = None,
) -> list[list[int]]:
    """Examples, taken in ``order``, in batches of bounded size; padding counts as tokens.

    An example that is longer than ``max_batch_tokens`` is a batch of its own.

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
