"""One LSTM step except its matrix products, in C; the arguments are those of ``LstmSteps``."""

import math
from functools import cache

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, NUMBER, POINTER, address, library
from elmokit.model.kernels.lstm_step import LstmSteps

DEFINES: dict[torch.dtype, tuple[str, ...]] = {torch.float32: (), torch.bfloat16: ("BFLOAT16",)}


@cache
def compiled_steps(dtype: torch.dtype) -> LstmSteps | None:
    """For CPU tensors with gates of ``dtype`` and all else float32; None if not available."""
    if dtype not in DEFINES or (found := library("lstm_step", *DEFINES[dtype])) is None:
        return None
    run_forward, run_backward = found.step_forward, found.step_backward
    run_forward.restype = run_backward.restype = None
    run_forward.argtypes = [COUNT, COUNT, *4 * [POINTER], NUMBER, *4 * [POINTER]]
    run_backward.argtypes = [COUNT, COUNT, *6 * [POINTER], NUMBER, *4 * [POINTER]]

    def forward(
        gates: Tensor,
        table: Tensor | None,
        rows: Tensor | None,
        keep: Tensor | None,
        before: Tensor,
        cell_clip: float | None,
        *,
        cell: Tensor,
        squashed: Tensor,
        full: Tensor,
    ) -> None:
        run_forward(
            *cell.shape, address(gates, dtype), address(table, dtype), address(rows, torch.long),
            address(keep), math.inf if cell_clip is None else cell_clip,
            address(before), address(cell), address(squashed), address(full, dtype),
        )  # fmt: skip

    def backward(
        gates: Tensor,
        before: Tensor,
        cell: Tensor,
        squashed: Tensor,
        to_full: Tensor,
        to_cell: Tensor,
        cell_clip: float | None,
        rows: Tensor | None,
        *,
        to_gates: Tensor,
        to_table: Tensor | None,
        to_bias: Tensor,
    ) -> None:
        run_backward(
            *cell.shape, address(gates, dtype), address(before), address(cell), address(squashed),
            address(to_full, dtype), address(to_cell), math.inf if cell_clip is None else cell_clip,
            address(rows, torch.long), address(to_gates, dtype),
            address(to_table), address(to_bias),
        )  # fmt: skip

    return LstmSteps(forward, backward)
