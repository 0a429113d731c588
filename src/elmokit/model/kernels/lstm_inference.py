"""The loop over the steps of one LSTM layer, without gradients: in C or in PyTorch.

``usable_precision`` says what the precision "auto" means on this machine.

Steps with few rows run in C if there is a compiler; tests compare both with NumPy. The same loop
with its gradient is in ``lstm_training.py``.
A packed batch holds step 0 of every sentence, then step 1 of those that have one, ...; sentences
are sorted by falling length, so a step is a run of rows and padding is never computed.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from elmokit.device import multiplies_bfloat16_fast, multiplies_int16_fast
from elmokit.errors import InputError
from elmokit.model.kernels.compiled.lstm_layer import Stack, compiled_layer
from elmokit.model.kernels.lstm_step import last_rows
from elmokit.model.kernels.lstm_weights import (
    PRECISIONS,
    LstmWeights,
    NarrowWeights,
    Precision,
)
from elmokit.model.kernels.products import add_product, product

PrecisionName = Precision | Literal["auto"]
"""A precision, or ``auto`` for the fastest one on this processor."""

PROJECTED_ROWS_AT_ONCE = 256
"""Rows whose input projection is computed by one GEMM: enough for full speed with any number of
sentences, few enough to stay in the cache until their step."""
ROWS_IN_ONE_CALL = 1024
"""Up to this many rows run through all layers in one C call, without Python code in between, whose
lock would make the two directions wait for each other."""
PROJECTED_TABLE_BYTES = 256 * 2**20
"""Distinct inputs are projected once if the result is no larger than this."""
FEW_ROWS: dict[Precision, int] = {"float32": 16, "bfloat16": 32, "int8": 32}
"""Steps with at most this many rows run in C; for more, PyTorch is as fast or faster."""


def require_precision(name: str) -> None:
    """Reject an unknown precision before any work is done."""
    if name not in (*PRECISIONS, "auto"):
        raise InputError(f"precision must be {', '.join(PRECISIONS)} or auto, got {name!r}")


def usable_precision(name: str, device: torch.device) -> Precision:
    """The precision of that name; ``auto`` is the fastest one on this processor.

    That is bfloat16 if there are instructions for it, int8 on other CPUs with AVX2 if a C compiler
    is available, and otherwise float32, because PyTorch alone multiplies narrow types more slowly.
    """
    require_precision(name)
    if name == "auto":
        if multiplies_bfloat16_fast(device):
            return "bfloat16"
        is_faster = multiplies_int16_fast(device) and compiled_layer("int8") is not None
        return "int8" if is_faster else "float32"
    return next(precision for precision in PRECISIONS if precision == name)


def describe_auto(device: torch.device) -> str:
    """What ``auto`` means on this machine, and why."""
    chosen = usable_precision("auto", device)
    reasons: dict[Precision, str] = {
        "bfloat16": "multiplied in hardware",
        "int8": "compiled kernel with AVX2; no instructions for bfloat16",
        "float32": "no instructions for bfloat16, and no C compiler or no AVX2",
    }
    return f"{chosen} ({reasons[chosen]})"


def runs_compiled(precision: Precision, num_rows: int, like: Tensor) -> bool:
    """Whether ``run_packed`` will run in C: float32 on the CPU, a compiler, few rows.

    int8 in C is faster for any number of rows, but not than several threads of PyTorch.
    """
    is_few = num_rows <= FEW_ROWS[precision]
    return (
        num_rows > 0
        and (is_few or (precision == "int8" and torch.get_num_threads() == 1))
        and like.dtype == torch.float32
        and like.device.type == "cpu"
        and compiled_layer(precision) is not None
    )


def fits_in_one_call(num_rows: int, inputs: Tensor) -> bool:
    """Whether ``run_stacks`` can replace a ``run_packed`` for each layer, if that runs in C.

    ``num_rows``: S, the rows of all steps.
    """
    return 0 < num_rows <= ROWS_IN_ONE_CALL and len(inputs) <= ROWS_IN_ONE_CALL


def run_stacks(stacks: Sequence[Stack]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Run all layers of one or two directions in one C call.

    Returns, for each, the outputs (L, S, P) including the skip connections, the last hidden state
    (L, B, P) and the last cell state (L, B, H).
    """
    compiled = compiled_layer(stacks[0].layers[0].hidden_weight.precision)
    assert compiled is not None
    stacks = [
        stack._replace(
            inputs=stack.inputs.contiguous(),
            rows=None if stack.rows is None else stack.rows.contiguous(),
            hidden=stack.hidden.clone(memory_format=torch.contiguous_format),
            cell=stack.cell.clone(memory_format=torch.contiguous_format),
        )
        for stack in stacks
    ]
    found = compiled.run_stacks(stacks, torch.get_num_threads() > 1)
    return [
        (outputs, stack.hidden, stack.cell) for outputs, stack in zip(found, stacks, strict=True)
    ]


def run_packed(
    weights: LstmWeights | NarrowWeights,
    inputs: Tensor,
    rows: Tensor | None,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    cell: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer over a packed batch -> outputs (S, P), last hidden (B, P), last cell (B, H).

    ``inputs`` is (S, P), or with ``rows`` (S,) a table (N, P) of the distinct inputs.
    """
    precision = weights.precision if isinstance(weights, NarrowWeights) else "float32"
    if runs_compiled(precision, len(hidden), hidden):
        narrow = weights.narrowed(precision) if isinstance(weights, LstmWeights) else weights
        outputs, cell = _run_compiled(narrow, inputs, rows, batch_sizes, hidden, cell)
    else:
        if isinstance(weights, NarrowWeights):
            weights = weights.widened(_products_dtype(precision, hidden))
        outputs, cell = _run_plain(weights, inputs, rows, batch_sizes, hidden, cell)
    return outputs, last_rows(outputs, batch_sizes, len(cell)), cell


def _products_dtype(precision: Precision, like: Tensor) -> torch.dtype:
    """The dtype of products of many rows: bfloat16 if the processor has instructions for it."""
    is_narrow = precision == "bfloat16" and multiplies_bfloat16_fast(like.device)
    return torch.bfloat16 if is_narrow else like.dtype


def _run_compiled(
    weights: NarrowWeights,
    inputs: Tensor,
    rows: Tensor | None,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    cell: Tensor,
) -> tuple[Tensor, Tensor]:
    """In C -> outputs (S, P), last cell (B, H)."""
    compiled = compiled_layer(weights.precision)
    assert compiled is not None
    width = len(weights.bias)
    outputs = hidden.new_empty(sum(batch_sizes), hidden.shape[1])
    hidden, inputs = hidden.contiguous(), inputs.contiguous()
    cell = cell.clone(memory_format=torch.contiguous_format)
    if rows is not None and _fits(inputs, width):
        table = inputs.new_empty(len(inputs), width)
        compiled.project(inputs, weights, table)
        compiled.run_steps(weights, table, rows.contiguous(), batch_sizes, hidden, cell, outputs)
        return outputs, cell
    start = 0
    for sizes in _blocks(batch_sizes):
        block = slice(start, start + sum(sizes))
        some = inputs[block] if rows is None else inputs[rows[block]]
        table = inputs.new_empty(len(some), width)
        compiled.project(some, weights, table)
        compiled.run_steps(weights, table, None, sizes, hidden, cell, outputs[block])
        start += len(some)
        hidden = outputs[start - sizes[-1] : start]
    return outputs, cell


def _run_plain(
    weights: LstmWeights,
    inputs: Tensor,
    rows: Tensor | None,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    cell: Tensor,
) -> tuple[Tensor, Tensor]:
    """In PyTorch -> outputs (S, P), last cell (B, H).

    The matrices may be bfloat16; then their other factors are rounded too, and nothing else.
    """
    cell_dim = weights.hidden_weight.shape[1] // 4
    outputs = hidden.new_empty(sum(batch_sizes), hidden.shape[1])
    cell = cell.clone(memory_format=torch.contiguous_format)
    activated = hidden.new_empty(len(cell), cell_dim)
    start = 0
    for gates in _projected_steps(weights, inputs, rows, batch_sizes):  # (n, 4H), ours
        size = len(gates)
        add_product(hidden[:size], weights.hidden_weight, out=gates)
        in_forget_out, candidate = torch.split(gates, [3 * cell_dim, cell_dim], dim=1)
        gate_in, gate_forget, gate_out = torch.split(in_forget_out.sigmoid_(), cell_dim, dim=1)
        now = cell[:size].mul_(gate_forget).addcmul_(gate_in, candidate.tanh_())
        if weights.cell_clip is not None:
            now.clamp_(-weights.cell_clip, weights.cell_clip)
        output = outputs[start : start + size]
        if weights.projection is None:
            torch.tanh(now, out=output).mul_(gate_out)
        else:
            full = torch.tanh(now, out=activated[:size]).mul_(gate_out)
            product(full.to(weights.projection.dtype), weights.projection, out=output)
            if weights.projection_clip is not None:
                output.clamp_(-weights.projection_clip, weights.projection_clip)
        hidden = output
        start += size
    return outputs, cell


def _projected_steps(
    weights: LstmWeights, inputs: Tensor, rows: Tensor | None, batch_sizes: Sequence[int]
) -> Iterator[Tensor]:
    """Yield x W_x + b of each step; the tensor may be modified, and is reused for the next step."""
    width = len(weights.bias)
    if rows is not None and _fits(inputs, width):
        table = inputs.new_empty(len(inputs), width)
        _project(inputs, weights, out=table)
        gates = table.new_empty(max(batch_sizes, default=0), width)
        start = 0
        for size in batch_sizes:
            yield torch.index_select(table, 0, rows[start : start + size], out=gates[:size])
            start += size
        return
    buffer = inputs.new_empty(max(PROJECTED_ROWS_AT_ONCE, max(batch_sizes, default=0)), width)
    start = 0
    for sizes in _blocks(batch_sizes):
        block = slice(start, start + sum(sizes))
        some = inputs[block] if rows is None else inputs[rows[block]]
        _project(some, weights, out=buffer[: len(some)])
        yield from torch.split(buffer[: len(some)], sizes)
        start += len(some)


def _fits(inputs: Tensor, width: int) -> bool:
    return len(inputs) * width * inputs.element_size() <= PROJECTED_TABLE_BYTES


def _project(inputs: Tensor, weights: LstmWeights, out: Tensor) -> None:
    """x W_x + b"""
    if weights.input_weight.dtype == out.dtype:
        torch.addmm(weights.bias, inputs, weights.input_weight, out=out)
    else:
        torch.add(
            inputs.to(weights.input_weight.dtype) @ weights.input_weight, weights.bias, out=out
        )


def _blocks(batch_sizes: Sequence[int]) -> Iterator[list[int]]:
    """Groups of whole steps with at most ``PROJECTED_ROWS_AT_ONCE`` rows, or of a single step."""
    block: list[int] = []
    for size in batch_sizes:
        if block and sum(block) + size > PROJECTED_ROWS_AT_ONCE:
            yield block
            block = []
        block.append(size)
    if block:
        yield block
