"""A whole layer in C equals the same in PyTorch, with the same rounded weights."""

import math

import pytest
import torch
from torch import Tensor

from elmokit.model.kernels import lstm_inference
from elmokit.model.kernels.compiled import build
from elmokit.model.kernels.compiled.lstm_layer import Stack, compiled_layer
from elmokit.model.kernels.lstm_inference import run_packed, run_stacks
from elmokit.model.kernels.lstm_weights import LstmWeights, Precision

TOLERANCE: dict[Precision, float] = {"float32": 2e-6, "bfloat16": 2e-6, "int8": 2e-4}
"""int8 also rounds the rows that are multiplied, to 16 bits."""
PRECISIONS = pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
Result = tuple[Tensor, Tensor, Tensor]


def require_compiled(precision: Precision) -> None:
    if compiled_layer(precision) is None:
        assert build.find_compiler() is None, "there is a compiler, but it fails"
        pytest.skip("no C compiler")


def drawn(*shape: int, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def layer(
    depth: int, width: int, *, has_projection: bool = True, clip: float | None = 0.5
) -> LstmWeights:
    return LstmWeights(
        drawn(depth, 4 * width, scale=depth**-0.5),
        drawn(depth, 4 * width + 1, scale=depth**-0.5)[:, 1:].contiguous(),
        drawn(4 * width),
        drawn(width, depth, scale=width**-0.5) if has_projection else None,
        clip,
        clip if has_projection else None,
    )


def both_ways(
    weights: LstmWeights,
    precision: Precision,
    batch_sizes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    has_rows: bool = True,
) -> tuple[Result, Result]:
    """In C, then in PyTorch, which rounds the rows too on processors that multiply bfloat16."""
    require_compiled(precision)
    depth, width = len(weights.hidden_weight), len(weights.bias) // 4
    table = drawn(7, depth)
    rows = torch.arange(sum(batch_sizes)) * 3 % 7
    inputs = (table, rows) if has_rows else (table[rows], None)
    state = drawn(batch_sizes[0], depth), drawn(batch_sizes[0], width)
    narrow = weights.narrowed(precision)
    fast = run_packed(narrow, *inputs, batch_sizes, *state)
    with monkeypatch.context() as patched:
        patched.setattr(lstm_inference, "runs_compiled", lambda *arguments: False)
        patched.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda place: False)
        slow = run_packed(narrow, *inputs, batch_sizes, *state)
    return fast, slow


def largest_difference(fast: Result, slow: Result) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(fast, slow, strict=True))


@PRECISIONS
@pytest.mark.parametrize("has_rows", [False, True])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_the_compiled_layer_equals_the_plain_one(
    precision: Precision, has_rows: bool, clip: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = layer(6, 37, clip=clip)  # neither is a multiple of a vector or of a word
    fast, slow = both_ways(weights, precision, [3, 3, 2, 1], monkeypatch, has_rows)
    assert largest_difference(fast, slow) < TOLERANCE[precision]


@PRECISIONS
@pytest.mark.parametrize("num_rows", [1, 2, 4, 5, 6, 7, 13])
def test_every_number_of_rows_is_right(
    precision: Precision, num_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow = both_ways(layer(8, 20), precision, [num_rows, num_rows], monkeypatch)
    assert largest_difference(fast, slow) < TOLERANCE[precision]


@PRECISIONS
def test_more_columns_than_a_tile_and_more_rows_than_a_chunk(
    precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, slow = both_ways(layer(33, 1030), precision, [2, 1], monkeypatch)
    assert largest_difference(fast, slow) < TOLERANCE[precision]


@PRECISIONS
@pytest.mark.parametrize("has_rows", [False, True])
def test_long_batches_run_in_blocks(
    precision: Precision, has_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lstm_inference, "PROJECTED_ROWS_AT_ONCE", 5)
    monkeypatch.setattr(lstm_inference, "PROJECTED_TABLE_BYTES", 0)
    fast, slow = both_ways(layer(6, 9), precision, [4, 3, 3, 2, 2, 1], monkeypatch, has_rows)
    assert largest_difference(fast, slow) < TOLERANCE[precision]


@PRECISIONS
def test_a_layer_without_projection(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = layer(20, 20, has_projection=False)
    fast, slow = both_ways(weights, precision, [3, 1], monkeypatch)
    assert largest_difference(fast, slow) < TOLERANCE[precision]


@PRECISIONS
def test_nan_is_not_hidden(precision: Precision) -> None:
    require_compiled(precision)
    weights = layer(6, 9, clip=None).narrowed(precision)
    table = drawn(2, 6)
    table[0, 3] = math.nan
    outputs, _, _ = run_packed(weights, table, None, [1, 1], drawn(1, 6), drawn(1, 9))
    assert outputs.isnan().any()


@PRECISIONS
def test_the_callers_state_is_left_alone(precision: Precision) -> None:
    weights = layer(6, 9).narrowed(precision)
    hidden, cell = drawn(2, 6), drawn(2, 9)
    before = hidden.clone(), cell.clone()
    run_packed(weights, drawn(3, 6), None, [2, 1], hidden, cell)
    assert torch.equal(hidden, before[0]) and torch.equal(cell, before[1])


def test_strided_states_and_inputs_are_read_right() -> None:
    weights = layer(6, 9)
    hidden, cell, inputs = drawn(2, 6), drawn(2, 9), drawn(3, 6)
    plain = run_packed(weights, inputs, None, [2, 1], hidden, cell)
    strided = [tensor.t().contiguous().t() for tensor in (inputs, hidden, cell)]
    again = run_packed(weights, strided[0], None, [2, 1], strided[1], strided[2])
    assert largest_difference(plain, again) == 0.0


def test_many_rows_are_multiplied_in_bfloat16_where_the_processor_does_that_fast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then rows are rounded too; all else is float32."""
    weights = layer(16, 24).narrowed("bfloat16")
    batch_sizes, state = [40, 39], (drawn(40, 16), drawn(40, 24))
    inputs = drawn(79, 16)
    monkeypatch.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda place: False)
    exact = run_packed(weights, inputs, None, batch_sizes, *state)
    monkeypatch.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda place: True)
    rounded = run_packed(weights, inputs, None, batch_sizes, *state)
    assert all(tensor.dtype == torch.float32 for tensor in rounded)
    assert 0.0 < largest_difference(rounded, exact) < 0.05


def test_without_a_compiler_pytorch_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = layer(6, 9)
    arguments = (drawn(3, 6), None, [2, 1], drawn(2, 6), drawn(2, 9))
    here = run_packed(weights, *arguments)
    monkeypatch.setattr(lstm_inference, "compiled_layer", lambda precision: None)
    without = run_packed(weights, *arguments)
    assert largest_difference(here, without) < TOLERANCE["float32"]


def test_auto_is_what_the_processor_multiplies_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda place: True)
    assert lstm_inference.usable_precision("auto", cpu) == "bfloat16"
    monkeypatch.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda place: False)
    monkeypatch.setattr(lstm_inference, "multiplies_int16_fast", lambda place: place == cpu)
    monkeypatch.setattr(lstm_inference, "compiled_layer", lambda precision: object())
    assert lstm_inference.usable_precision("auto", cpu) == "int8"
    assert lstm_inference.usable_precision("auto", torch.device("meta")) == "float32"
    monkeypatch.setattr(lstm_inference, "compiled_layer", lambda precision: None)
    assert lstm_inference.usable_precision("auto", cpu) == "float32"


@PRECISIONS
@pytest.mark.parametrize("has_skip", [False, True])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_two_stacks_in_one_call_equal_their_layers_one_by_one(
    precision: Precision, has_skip: bool, num_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_compiled(precision)
    monkeypatch.setattr(torch, "get_num_threads", lambda: num_threads)
    sizes = [3, 3, 2, 1]
    layers = [layer(6, 9, clip=clip).narrowed(precision) for clip in (0.5, 0.5, 0.5)]
    table, rows = drawn(7, 6), torch.arange(sum(sizes)) * 3 % 7
    stacks = [
        Stack(layers, has_skip, table * sign, rows, sizes, drawn(3, 3, 6), drawn(3, 3, 9))
        for sign in (1, -1)
    ]
    found = run_stacks(stacks)
    for stack, (outputs, hidden, cell) in zip(stacks, found, strict=True):
        inputs, places = stack.inputs, stack.rows
        for number, weights in enumerate(layers):
            output, *ended = run_packed(
                weights, inputs, places, sizes, stack.hidden[number], stack.cell[number]
            )
            if number and has_skip:
                output = output + inputs
            inputs, places = output, None
            torch.testing.assert_close(outputs[number], output, rtol=0, atol=1e-6)
            for ours, expected in zip((hidden[number], cell[number]), ended, strict=True):
                torch.testing.assert_close(ours, expected, rtol=0, atol=1e-6)
    assert torch.equal(stacks[0].hidden, drawn(3, 3, 6))  # what was given stays as it was
