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
    batches = _cut(order.tolist(), lengths, batch_size, max_batch_tokens)
    return [batches[number] for number in random.permutation(len(batches))]


def sorted_batches(
    lengths: Sequence[int], batch_size: int, max_batch_tokens: int
) -> list[list[int]]:
    """The same for prediction: shortest first, nothing random."""
    order = np.argsort(np.asarray(lengths), kind="stable")
    return _cut(order.tolist(), lengths, batch_size, max_batch_tokens)


def _cut(
    order: list[int], lengths: Sequence[int], batch_size: int, max_batch_tokens: int
) -> list[list[int]]:
    batches: list[list[int]] = []
    longest = 0
    for number in order:
        longest = max(longest, lengths[number])
        room = batches and len(batches[-1]) < batch_size
        if room and longest * (len(batches[-1]) + 1) <= max_batch_tokens:
            batches[-1].append(number)
        else:
            batches.append([number])
            longest = lengths[number]
    return batches
