"""Attention and pooling under a mask: padding has no weight."""

import torch
from torch import Tensor


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
