"""Sums over a block of logits, from which surprisal, entropy and rank are computed."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Sums(NamedTuple):
    """Sums over all words so far, for N forward, backward and combined predictions: each (3, N)."""

    total: Tensor  # of 2^z, float64
    weighted: Tensor  # of z 2^z, float64
    better: Tensor  # how many words have z above the threshold, int64


SoftmaxSums = Callable[[Tensor, Tensor, Tensor, Tensor, Sums], None]
"""logits, bias, shift, threshold, sums: adds the sums of one block of words to ``sums``.

Forward and backward, z = ``logits`` + ``bias`` - ``shift``, in bits; the combined prediction uses
their mean. ``logits`` (2, N, W) do not include the bias, and may be overwritten; ``bias`` is (W,);
``shift`` (2, N) is near the highest logit of each row; ``threshold`` is (3, N).
"""


def torch_sums(logits: Tensor, bias: Tensor, shift: Tensor, threshold: Tensor, sums: Sums) -> None:
    """The sums in PyTorch, on any device."""
    logits += bias
    logits -= shift[:, :, None]
    for place, some in enumerate((logits[0], logits[1], torch.lerp(logits[0], logits[1], 0.5))):
        sums.better[place] += (some > threshold[place, :, None]).sum(dim=1)
        shares = some.exp2()
        sums.total[place] += shares.sum(dim=1)
        sums.weighted[place] += shares.mul_(some).sum(dim=1)
