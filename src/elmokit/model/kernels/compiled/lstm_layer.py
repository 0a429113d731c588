"""A whole LSTM layer in C, for steps of so few rows that reading the weights is most of the work.

The arguments and results are those of ``run_packed``, which is its twin.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache

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

RunLayer = Callable[
    [NarrowWeights, Tensor, Tensor | None, Sequence[int], Tensor, Tensor], tuple[Tensor, Tensor]
]


@cache
def compiled_layer(precision: Precision) -> RunLayer | None:
    """-> outputs (S, P), last cell (B, H), of float32 tensors on the CPU; None if no compiler."""
    found = library("lstm_layer", *DEFINES[precision])
    if found is None:
        return None
    add_product, run_steps = found.add_product, found.run_steps
    add_product.restype = run_steps.restype = None
    add_product.argtypes = [*3 * [COUNT], *4 * [POINTER]]
    run_steps.argtypes = [
        COUNT, POINTER, COUNT, COUNT, *6 * [POINTER], NUMBER, NUMBER, *5 * [POINTER],
    ]  # fmt: skip

    def run(
        weights: NarrowWeights,
        inputs: Tensor,
        rows: Tensor | None,
        batch_sizes: Sequence[int],
        hidden: Tensor,
        cell: Tensor,
    ) -> tuple[Tensor, Tensor]:
        num_rows, (depth, width) = max(batch_sizes), (hidden.shape[1], cell.shape[1])
        table = weights.bias.repeat(len(inputs), 1)  # (N, 4H): becomes x W_x + b
        matrix = weights.input_weight
        add_product(
            len(inputs), inputs.shape[1], 4 * width, address(inputs.contiguous()),
            *_addresses(matrix), address(table),
        )  # fmt: skip
        sizes = torch.tensor(batch_sizes)
        hidden = hidden.contiguous()
        cell = cell.clone(memory_format=torch.contiguous_format)
        outputs = table.new_empty(sum(batch_sizes), depth)
        gates, full = table.new_empty(num_rows, 4 * width), table.new_empty(num_rows, width)
        rows = None if rows is None else rows.contiguous()
        run_steps(
            len(batch_sizes), address(sizes, torch.long), depth, width,
            address(table), address(rows, torch.long), *_addresses(weights.hidden_weight),
            *_addresses(weights.projection), _limit(weights.cell_clip),
            _limit(weights.projection_clip), address(hidden), address(cell), address(outputs),
            address(gates), address(full),
        )  # fmt: skip
        return outputs, cell

    return run


def _addresses(matrix: NarrowMatrix | None) -> tuple[int | None, int | None]:
    if matrix is None:
        return None, None
    return address(matrix.words, torch.int32), address(matrix.units)


def _limit(clip: float | None) -> float:
    return math.inf if clip is None else clip
