"""A whole LSTM layer in C, for steps of so few rows that most of the work is reading weights."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, NUMBER, POINTER, address, library
from elmokit.model.kernels.lstm_weights import NarrowWeights
from elmokit.model.kernels.narrow import NarrowMatrix, Precision

DEFINES: dict[Precision, tuple[str, ...]] = {
    "float32": (),
    "bfloat16": ("BFLOAT16",),
    "int8": ("INT8",),
}


class CompiledLayer(NamedTuple):
    """Both read and write float32 tensors on the CPU."""

    project: Callable[[Tensor, NarrowWeights, Tensor], None]
    """inputs (N, P), weights, out (N, 4H): x W_x + b is written."""
    run_steps: Callable[
        [NarrowWeights, Tensor, Tensor | None, Sequence[int], Tensor, Tensor, Tensor], None
    ]
    """weights, what ``project`` made, its rows (S,) or None, batch sizes, hidden (B, P), cell
    (B, H), which becomes the last, outputs (S, P), written."""


@cache
def compiled_layer(precision: Precision) -> CompiledLayer | None:
    """For matrices of one precision; None without a compiler."""
    found = library("lstm_layer", *DEFINES[precision])
    if found is None:
        return None
    c_product, c_steps = found.add_product, found.run_steps
    c_product.restype = c_steps.restype = None
    c_product.argtypes = [*3 * [COUNT], *4 * [POINTER]]
    c_steps.argtypes = [
        COUNT, POINTER, COUNT, COUNT, *6 * [POINTER], NUMBER, NUMBER, *5 * [POINTER],
    ]  # fmt: skip

    def project(inputs: Tensor, weights: NarrowWeights, out: Tensor) -> None:
        out.copy_(weights.bias.expand_as(out))
        c_product(
            *inputs.shape, out.shape[1], address(inputs),
            *_addresses(weights.input_weight), address(out),
        )  # fmt: skip

    def run_steps(
        weights: NarrowWeights,
        table: Tensor,
        rows: Tensor | None,
        batch_sizes: Sequence[int],
        hidden: Tensor,
        cell: Tensor,
        outputs: Tensor,
    ) -> None:
        width = cell.shape[1]
        gates, full = table.new_empty(len(hidden), 4 * width), table.new_empty(len(hidden), width)
        sizes = torch.tensor(batch_sizes)
        c_steps(
            len(batch_sizes), address(sizes, torch.long), hidden.shape[1], width,
            address(table), address(rows, torch.long), *_addresses(weights.hidden_weight),
            *_addresses(weights.projection), _limit(weights.cell_clip),
            _limit(weights.projection_clip), address(hidden), address(cell), address(outputs),
            address(gates), address(full),
        )  # fmt: skip

    return CompiledLayer(project, run_steps)


def _addresses(matrix: NarrowMatrix | None) -> tuple[int | None, int | None]:
    if matrix is None:
        return None, None
    return address(matrix.words, torch.int32), address(matrix.units)


def _limit(clip: float | None) -> float:
    return math.inf if clip is None else clip
