"""Sums over a block of logits, from which surprisal, entropy and rank are made."""

from typing import Protocol

import torch
from torch import Tensor


class SoftmaxSums(Protocol):
    """Adds the sums of one block of words to those of the blocks before it."""

    def __call__(
        self,
        logits: Tensor,
        bias: Tensor,
        shift: Tensor,
        threshold: Tensor,
        *,
        total: Tensor,
        weighted: Tensor,
        better: Tensor,
    ) -> None:
        """Logits are in bits, z = ``logits`` + ``bias`` - ``shift``, forward and backward; those of
        the third prediction are the means of theirs.

        Args:
            logits: (2, N, W), forward and backward, without bias; it may be overwritten.
            bias: (W,).
            shift: (2, N), near the highest logit of each row.
            threshold: (3, N).
            total: (3, N) float64, to which the sum of 2^z is added.
            weighted: (3, N) float64, to which the sum of z 2^z is added.
            better: (3, N) int64, to which the number of words with z above the threshold is added.
        """


def torch_sums(
    logits: Tensor,
    bias: Tensor,
    shift: Tensor,
    threshold: Tensor,
    *,
    total: Tensor,
    weighted: Tensor,
    better: Tensor,
) -> None:
    """On any device, by a pass of PyTorch for each."""
    logits += bias
    logits -= shift[:, :, None]
    for place, some in enumerate((logits[0], logits[1], torch.lerp(logits[0], logits[1], 0.5))):
        better[place] += (some > threshold[place, :, None]).sum(dim=1)
        shares = some.exp2()
        total[place] += shares.sum(dim=1)
        weighted[place] += shares.mul_(some).sum(dim=1)
