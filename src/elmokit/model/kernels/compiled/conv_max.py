"""The best match of each filter, in C."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, POINTER, address, library


class ConvMaxSteps(NamedTuple):
    """What is not a matrix product, in PyTorch or compiled.

    ``keep(match, position, best, at)``: where ``match`` is above ``best``, take it, and note in
    ``at`` (int32) that it is from ``position``; all are (N, num).
    ``spread(flat, kernel, gradient, at, dim, to_flat, to_kernel)``: add the gradients of ``flat``
    (N, C * dim) and ``kernel`` (width * dim, num) to the last two arguments.
    """

    keep: Callable[[Tensor, int, Tensor, Tensor], None]
    spread: Callable[[Tensor, Tensor, Tensor, Tensor, int, Tensor, Tensor], None]


@cache
def compiled_conv_max() -> ConvMaxSteps | None:
    """For float32 tensors on the CPU; None without a compiler."""
    found = library("conv_max")
    if found is None:
        return None
    keep_best, run_spread = found.keep_best, found.spread
    keep_best.restype = run_spread.restype = None
    keep_best.argtypes = [COUNT, ctypes.c_int32, *3 * [POINTER]]
    run_spread.argtypes = [*5 * [COUNT], *6 * [POINTER]]

    def keep(match: Tensor, position: int, best: Tensor, at: Tensor) -> None:
        keep_best(match.numel(), position, address(match), address(best), address(at, torch.int32))

    def spread(
        flat: Tensor,
        kernel: Tensor,
        gradient: Tensor,
        at: Tensor,
        dim: int,
        to_flat: Tensor,
        to_kernel: Tensor,
    ) -> None:
        filters = kernel.t().contiguous()
        to_filters = torch.zeros_like(filters)
        run_spread(
            *flat.shape, *filters.shape, dim, address(flat), address(filters), address(gradient),
            address(at, torch.int32), address(to_flat), address(to_filters),
        )  # fmt: skip
        to_kernel += to_filters.t()

    return ConvMaxSteps(keep, spread)
