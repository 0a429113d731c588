"""The best match of each filter anywhere in a token: a valid convolution and its maximum.

A GEMM a position, whose result is still in the cache when it is compared with the best so far;
the matrix of all positions, which a convolution would write and a maximum read again, never
exists. The gradient goes the same way back, to the position that was best.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def best_match(characters: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(N, C, E) characters, (num, E, width) filters -> (N, num)."""
    num_filters, dim, width = weight.shape
    kernel = weight.permute(2, 1, 0).reshape(width * dim, num_filters)
    flat = characters.flatten(1)  # (N, C * E): a window is a run of columns
    matches: Tensor = _BestMatch.apply(flat, kernel, dim)  # type: ignore[no-untyped-call]
    return matches + bias


class _BestMatch(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, flat: Tensor, kernel: Tensor, dim: int) -> Tensor:
        columns = [
            slice(start, start + len(kernel))
            for start in range(0, flat.shape[1] - len(kernel) + 1, dim)
        ]
        best = torch.mm(flat[:, columns[0]], kernel)  # (N, num)
        match = torch.empty_like(best)
        for window in columns[1:]:
            torch.mm(flat[:, window], kernel, out=match)
            torch.maximum(best, match, out=best)
        ctx.columns = columns
        ctx.save_for_backward(flat, kernel, best)
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        flat, kernel, best = ctx.saved_tensors
        to_flat, to_kernel = torch.zeros_like(flat), torch.zeros_like(kernel)
        match = torch.empty_like(best)
        left = gradient.clone()  # what has not yet found its position: ties go to the first
        for window in ctx.columns:
            torch.mm(flat[:, window], kernel, out=match)
            here = left * (match == best)  # (N, num)
            left -= here
            to_flat[:, window].addmm_(here, kernel.t())
            to_kernel.addmm_(flat[:, window].t(), here)
        return to_flat, to_kernel, None
