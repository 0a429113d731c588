"""The maximum over all positions of a convolution: one GEMM per position, the best match kept.

A match is still in the cache when it is compared with the best so far. Unlike with a convolution,
the matrix of all positions never exists. The gradient goes to the position that had the maximum.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class ConvMaxSteps(NamedTuple):
    """What is not a matrix product, in PyTorch or compiled.

    ``keep(match, position, best, at)``: where ``match`` is above ``best``, take it, and note in
    ``at`` (int32) that it is from ``position``; all are (N, num).
    ``spread(flat, kernel, gradient, at, dim, to_flat, to_kernel)``: add the gradients of ``flat``
    (N, C * dim) and ``kernel`` (width * dim, num) to the last two arguments.
    """

    keep: Callable[[Tensor, int, Tensor, Tensor], None]
    spread: Callable[[Tensor, Tensor, Tensor, Tensor, int, Tensor, Tensor], None]


def _keep(match: Tensor, position: int, best: Tensor, at: Tensor) -> None:
    at.masked_fill_(match > best, position)
    torch.maximum(best, match, out=best)


def _spread(
    flat: Tensor,
    kernel: Tensor,
    gradient: Tensor,
    at: Tensor,
    dim: int,
    to_flat: Tensor,
    to_kernel: Tensor,
) -> None:
    for position, window in enumerate(windows(flat, kernel, dim)):
        here = gradient * (at == position)  # (N, num)
        to_flat[:, window].addmm_(here, kernel.t())
        to_kernel.addmm_(flat[:, window].t(), here)


PLAIN = ConvMaxSteps(_keep, _spread)


def windows(flat: Tensor, kernel: Tensor, dim: int) -> list[slice]:
    """The columns of ``flat`` that each position of a filter covers."""
    last = flat.shape[1] - len(kernel)
    return [slice(start, start + len(kernel)) for start in range(0, last + 1, dim)]


class ConvMaxFunction(torch.autograd.Function):
    """(N, C * dim) characters, (width * dim, num) filters -> (N, num); ties go to the first."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, kernel: Tensor, dim: int, steps: ConvMaxSteps) -> Tensor:
        """Without a gradient to come, positions are not kept."""
        needs_gradient = any(ctx.needs_input_grad)
        first, *others = windows(flat, kernel, dim)
        best = torch.mm(flat[:, first], kernel)  # (N, num)
        match = torch.empty_like(best)
        at = torch.zeros_like(best, dtype=torch.int32) if needs_gradient else None
        for position, window in enumerate(others, start=1):
            torch.mm(flat[:, window], kernel, out=match)
            if at is None:
                torch.maximum(best, match, out=best)
            else:
                steps.keep(match, position, best, at)
        ctx.dim, ctx.steps = dim, steps
        ctx.save_for_backward(flat, kernel, at)
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        """To the one window of each word that matched best."""
        flat, kernel, at = ctx.saved_tensors
        to_flat, to_kernel = torch.zeros_like(flat), torch.zeros_like(kernel)
        ctx.steps.spread(flat, kernel, gradient.contiguous(), at, ctx.dim, to_flat, to_kernel)
        return to_flat, to_kernel, None, None
