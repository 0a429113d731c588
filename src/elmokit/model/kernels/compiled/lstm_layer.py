"""Whole LSTM layers in C, for steps of so few rows that most of the work is reading weights."""

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, NUMBER, POINTER, address, library
from elmokit.model.kernels.lstm_weights import NarrowMatrix, NarrowWeights, Precision

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
    run_stacks: Callable[[Sequence["Stack"], bool], list[Tensor]]
    """one or two stacks, and whether the second has a thread of its own -> outputs of each,
    (L, S, P)."""


class Stack(NamedTuple):
    """All layers of one direction, and what they run over."""

    layers: Sequence[NarrowWeights]
    has_skip: bool
    """The input of every layer but the first is added to its output."""
    inputs: Tensor  # (N, P)
    rows: Tensor | None  # (S,): which input each step and sentence reads; None: their own
    batch_sizes: Sequence[int]
    hidden: Tensor  # (L, B, P), becomes the last
    cell: Tensor  # (L, B, H), becomes the last


class _CStack(ctypes.Structure):
    """As lstm_layer.c has it."""

    _fields_ = (
        ("num_layers", COUNT), ("layers", POINTER), ("num_steps", COUNT), ("batch_sizes", POINTER),
        ("num_rows", COUNT), ("depth", COUNT), ("width", COUNT), ("cell_clip", NUMBER),
        ("projection_clip", NUMBER), ("has_skip", COUNT), ("num_inputs", COUNT),
        ("inputs", POINTER), ("rows", POINTER), ("hidden", POINTER), ("cell", POINTER),
        ("outputs", POINTER), ("table", POINTER), ("gates", POINTER), ("full", POINTER),
    )  # fmt: skip


@cache
def compiled_layer(precision: Precision) -> CompiledLayer | None:
    """For matrices of one precision; None without a compiler."""
    found = library("lstm_layer", *DEFINES[precision])
    if found is None:
        return None
    c_product, c_steps, c_stacks = found.add_product, found.run_steps, found.run_stacks
    c_product.restype = c_steps.restype = c_stacks.restype = None
    c_stacks.argtypes = [COUNT, POINTER, COUNT]
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

    def run_stacks(stacks: Sequence[Stack], is_apart: bool) -> list[Tensor]:
        given = (_CStack * len(stacks))()
        kept = [_fill(each, stack) for each, stack in zip(given, stacks, strict=True)]
        c_stacks(len(stacks), given, is_apart)
        return [outputs for outputs, _ in kept]

    return CompiledLayer(project, run_steps, run_stacks)


def _fill(given: _CStack, stack: Stack) -> tuple[Tensor, object]:
    """Its fields -> the outputs, (L, S, P), and all that C reads and nobody else keeps."""
    num_layers, batch, depth = stack.hidden.shape
    width, num_rows = stack.cell.shape[2], sum(stack.batch_sizes)
    assert stack.batch_sizes[0] == batch
    sizes = torch.tensor(stack.batch_sizes)
    outputs = stack.hidden.new_empty(num_layers, num_rows, depth)
    room = stack.hidden.new_empty(max(len(stack.inputs), num_rows) + batch, 4 * width)
    full = stack.hidden.new_empty(batch, width)
    pointers = [
        each
        for weights in stack.layers
        for each in (
            *_addresses(weights.input_weight),
            address(weights.bias),
            *_addresses(weights.hidden_weight),
            *_addresses(weights.projection),
        )
    ]
    layers = (POINTER * len(pointers))(*pointers)
    given.num_layers, given.layers = num_layers, ctypes.addressof(layers)
    given.num_steps, given.batch_sizes = len(sizes), address(sizes, torch.long)
    given.num_rows, given.depth, given.width = num_rows, depth, width
    given.cell_clip = _limit(stack.layers[0].cell_clip)
    given.projection_clip = _limit(stack.layers[0].projection_clip)
    given.has_skip, given.num_inputs = stack.has_skip, len(stack.inputs)
    given.inputs, given.rows = address(stack.inputs), address(stack.rows, torch.long)
    given.hidden, given.cell = address(stack.hidden), address(stack.cell)
    given.outputs, given.full = address(outputs), address(full)
    given.gates, given.table = address(room), address(room[batch:])
    return outputs, (sizes, room, full, layers)


def _addresses(matrix: NarrowMatrix | None) -> tuple[int | None, int | None]:
    if matrix is None:
        return None, None
    return address(matrix.words, torch.int32), address(matrix.units)


def _limit(clip: float | None) -> float:
    return math.inf if clip is None else clip
