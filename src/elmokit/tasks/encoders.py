"""Small pieces that several task models share: dropout, attention and pooling under a mask."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """As nn.Dropout, whose drawing on a CPU took a tenth of a step of entailment."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return inputs
        return inputs * _kept(inputs, self.rate)


class VariationalDropout(nn.Module):
    """Drops the same features at every token of a sentence: one mask (B, 1, E) for (B, T, E)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return inputs
        return inputs * _kept(inputs[:, :1], self.rate)


def _kept(like: Tensor, rate: float) -> Tensor:
    """A mask of that shape: 0 at ``rate`` (to 1 / 65,536), else 1 / (1 - rate).

    Four decisions are made of one random number.
    """
    draws = torch.empty((like.numel() + 3) // 4, dtype=torch.int64, device=like.device)
    draws.random_(-(2**63), None)
    sixteen_bits = draws.view(torch.int16)[: like.numel()].view(like.shape)
    is_kept = sixteen_bits >= round(rate * 2**16) - 2**15
    return is_kept.to(like.dtype).div_(1 - rate)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension where ``mask`` holds; all zeros where it never does."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights * mask


def masked_max(inputs: Tensor, mask: Tensor) -> Tensor:
    """(B, T, E), (B, T) -> (B, E): the greatest value at any token; zeros where there is none."""
    lowest = torch.finfo(inputs.dtype).min
    best = inputs.masked_fill(~mask[:, :, None], lowest).amax(dim=1)
    return best * mask.any(dim=1, keepdim=True)


def masked_mean(inputs: Tensor, mask: Tensor) -> Tensor:
    """(B, T, E), (B, T) -> (B, E); zeros where there is no token."""
    weights = mask.to(inputs.dtype)
    total = torch.einsum("bte,bt->be", inputs, weights)
    return total / weights.sum(dim=1, keepdim=True).clamp(min=1)
