"""Examples -> batches of similar length: little padding, the same for the same seed and epoch."""

from collections.abc import Sequence

import numpy as np

from elmokit.embed.chunks import cut_batches


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
