"""Whole LSTM layers in C, for steps with so few rows that reading weights dominates the time."""

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
    """C functions that read and write float32 tensors on the CPU."""

    project: Callable[[Tensor, NarrowWeights, Tensor], None]
    """inputs (N, P), weights, out (N, 4H): writes x W_x + b to ``out``."""
    run_steps: Callable[
        [NarrowWeights, Tensor, Tensor | None, Sequence[int], Tensor, Tensor, Tensor], None
    ]
    """weights, output of ``project``, its rows (S,) or None, batch sizes, hidden (B, P), cell
    (B, H), outputs (S, P): overwrites ``cell`` with the last one, and writes ``outputs``."""
    run_stacks: Callable[[Sequence["Stack"], bool], list[Tensor]]
    """one or two stacks, and whether the second runs in its own thread -> the outputs (L, S, P) of
    each."""


class Stack(NamedTuple):
    """All layers of one direction, and their inputs."""

    layers: Sequence[NarrowWeights]
    has_skip: bool
    """Whether the input of every layer but the first is added to its output."""
    inputs: Tensor  # (N, P)
    rows: Tensor | None  # (S,): which input each step and sentence reads; None: its own
    batch_sizes: Sequence[int]
    hidden: Tensor  # (L, B, P), overwritten by the last one
    cell: Tensor  # (L, B, H), overwritten by the last one


class _CStack(ctypes.Structure):
    """The struct of the same fields in lstm_layer.c."""

    _fields_ = (
        ("num_layers", COUNT), ("layers", POINTER), ("num_steps", COUNT), ("batch_sizes", POINTER),
        ("num_rows", COUNT), ("depth", COUNT), ("width", COUNT), ("cell_clip", NUMBER),
        ("projection_clip", NUMBER), ("has_skip", COUNT), ("num_inputs", COUNT),
        ("inputs", POINTER), ("rows", POINTER), ("hidden", POINTER), ("cell", POINTER),
        ("outputs", POINTER), ("table", POINTER), ("gates", POINTER), ("full", POINTER),
    )  # fmt: skip


@cache
def compiled_layer(precision: Precision) -> CompiledLayer | None:
    """The functions for matrices of one precision; None without a compiler."""
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
    """Fill the struct; return the outputs (L, S, P) and the objects that must outlive the call."""
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
