"""Sums over a block of logits, in C: the arguments are those of ``SoftmaxSums``."""

from functools import cache

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, POINTER, address, library
from elmokit.model.kernels.softmax_sums import SoftmaxSums, Sums


@cache
def compiled_sums() -> SoftmaxSums | None:
    """For float32 logits on the CPU; None without a compiler."""
    found = library("softmax_sums")
    if found is None:
        return None
    add = found.add_sums
    add.restype = None
    add.argtypes = [COUNT, COUNT, *8 * [POINTER]]

    def add_sums(
        logits: Tensor, bias: Tensor, shift: Tensor, threshold: Tensor, sums: Sums
    ) -> None:
        add(
            *logits.shape[1:], address(logits[0]), address(logits[1]), address(bias),
            address(shift), address(threshold), address(sums.total, torch.float64),
            address(sums.weighted, torch.float64), address(sums.better, torch.long),
        )  # fmt: skip

    return add_sums
