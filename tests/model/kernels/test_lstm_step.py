"""One LSTM step beside its products: the compiled kernel and its plain twin say the same."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmokit.model.kernels.compiled import build
from elmokit.model.kernels.compiled.lstm_step import compiled_steps
from elmokit.model.kernels.lstm_step import PLAIN, LstmSteps
from elmokit.model.kernels.lstm_training import LstmFunction, Workspace

NUM_ROWS, CELL_DIM, NUM_TYPES = 5, 37, 4  # 37: vectors of 8 or 16, and a rest
TOLERANCE = {torch.float32: 2e-6, torch.bfloat16: 2e-2}
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def compiled(dtype: torch.dtype) -> LstmSteps:
    steps = compiled_steps(dtype)
    if steps is None:
        assert build.find_compiler() is None, "there is a compiler, but it fails"
        pytest.skip("no C compiler")
    return steps


def run_step(
    steps: LstmSteps, dtype: torch.dtype, has_table: bool, has_keep: bool, clip: float | None
) -> dict[str, Tensor]:
    """Forward and backward on random numbers that depend on the shapes alone."""
    random = torch.Generator().manual_seed(1)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random)

    shape = NUM_ROWS, CELL_DIM
    gates = (2 * drawn(NUM_ROWS, 4 * CELL_DIM)).to(dtype)
    table = drawn(NUM_TYPES, 4 * CELL_DIM).to(dtype) if has_table else None
    rows = torch.tensor([3, 1, 3, 0, 3]) if has_table else None
    keep = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])[:, None] if has_keep else None
    before, to_full, to_cell = 2 * drawn(*shape), drawn(*shape).to(dtype), drawn(*shape)
    cell, squashed, full = torch.empty(shape), torch.empty(shape), torch.empty(shape, dtype=dtype)
    steps.forward(gates, table, rows, keep, before, clip, cell=cell, squashed=squashed, full=full)
    found = {"gates": gates.clone(), "cell": cell, "squashed": squashed, "full": full}
    to_table = torch.ones(NUM_TYPES, 4 * CELL_DIM) if has_table else None
    to_bias = torch.full((4 * CELL_DIM,), torch.nan)
    steps.backward(
        gates, before, cell, squashed, to_full, to_cell, clip, rows,
        to_gates=gates, to_table=to_table, to_bias=to_bias,
    )  # fmt: skip
    found |= {"to_gates": gates, "to_cell": to_cell, "to_bias": to_bias}
    return found if to_table is None else found | {"to_table": to_table}


@DTYPES
@pytest.mark.parametrize("has_table", [False, True])
@pytest.mark.parametrize("has_keep", [False, True])
@pytest.mark.parametrize("clip", [None, 0.6])
def test_the_compiled_step_equals_the_plain_one(
    dtype: torch.dtype, has_table: bool, has_keep: bool, clip: float | None
) -> None:
    case = dtype, has_table, has_keep, clip
    expected = run_step(PLAIN, *case)
    found = run_step(compiled(dtype), *case)
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        torch.testing.assert_close(
            found[name], values, rtol=10 * TOLERANCE[dtype], atol=5 * TOLERANCE[dtype], msg=name
        )
    if clip is not None:
        assert (found["cell"].abs() == clip).any() and (found["cell"].abs() < clip).any()


def test_compiled_gates_are_right_to_rounding_at_any_size() -> None:
    wide = torch.cat([torch.linspace(-120, 120, 4001), torch.logspace(-30, 30, 997)])
    wide = torch.cat([wide, -wide[4001:]])
    gates = wide.repeat(1, 4)
    cell, squashed, full = torch.empty(3, 1, len(wide))
    zero = torch.zeros(1, len(wide))
    steps = compiled(torch.float32)
    steps.forward(gates, None, None, None, zero, None, cell=cell, squashed=squashed, full=full)
    expected = torch.cat([torch.sigmoid(wide.double()).repeat(3), torch.tanh(wide.double())])
    assert ((gates[0] - expected).abs() <= 3e-7 * expected.abs() + 1e-37).all()
    assert gates.abs().max() <= 1.0


@DTYPES
def test_what_is_not_a_number_stays_so(dtype: torch.dtype) -> None:
    """A run that diverges is stopped by its gradient norm: no clip may hide it."""
    for steps in (PLAIN, compiled(dtype)):
        gates = torch.zeros(1, 4 * CELL_DIM, dtype=dtype)
        gates[0, 0] = torch.nan  # an input gate
        gates[0, 3 * CELL_DIM + 8] = torch.nan  # a candidate
        shape = 1, CELL_DIM
        cell, squashed, full = torch.empty(shape), torch.empty(shape), torch.empty(shape).to(dtype)
        before = torch.zeros(shape)
        steps.forward(gates, None, None, None, before, 3.0, cell=cell, squashed=squashed, full=full)
        for values in (cell, squashed, full):
            assert values.isnan().nonzero()[:, 1].tolist() == [0, 8]


def layer_tensors() -> list[Tensor | None]:
    sizes = [(6, 3), (4, 3), (4, 5), None, (3, 20), (3, 20), (20,), (5, 3)]
    return [None if size is None else torch.randn(size).requires_grad_() for size in sizes]


ROWS = torch.tensor([0, 5, 2, 2, 1, 3, 0, 2, 4, 1, 5])
BATCH_SIZES = [4, 3, 3, 1]


def layer_gradients(
    tensors: list[Tensor | None], has_rows: bool, *extra: object
) -> tuple[Tensor, ...]:
    inputs, *others = tensors
    assert inputs is not None
    keep = (torch.arange(len(ROWS))[:, None] % 3 != 1).float()
    hidden, cell, _, *weights = others
    outputs, *last = LstmFunction.apply(
        inputs if has_rows else inputs[ROWS], hidden, cell, keep, BATCH_SIZES, *weights, 0.5, 0.4,
        ROWS if has_rows else None, *extra,
    )  # fmt: skip
    loss = sum(
        (part * torch.linspace(-1, 1, part.numel()).view_as(part)).sum()
        for part in (outputs, *last)
    )
    wanted = [tensor for tensor in tensors if tensor is not None]
    return outputs, *torch.autograd.grad(loss, wanted)


def test_distinct_inputs_and_rows_have_the_gradients_of_the_inputs_they_stand_for() -> None:
    tensors = layer_tensors()
    expected = layer_gradients(tensors, False)
    for one, other in zip(layer_gradients(tensors, True), expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_workspace_that_was_used_before_changes_nothing(
    has_rows: bool, is_compiled: bool
) -> None:
    steps = compiled(torch.float32) if is_compiled else PLAIN
    first, second = layer_tensors(), layer_tensors()
    expected = layer_gradients(second, has_rows, None, steps)
    workspace = Workspace()
    layer_gradients(first, not has_rows, workspace, steps)
    found = layer_gradients(second, has_rows, workspace, steps)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)


def test_a_workspace_refuses_what_it_can_no_longer_tell() -> None:
    inputs, hidden, cell, keep, *weights = layer_tensors()
    workspace = Workspace()

    def outputs() -> Tensor:
        found: tuple[Tensor, ...] = LstmFunction.apply(
            inputs, hidden, cell, keep, [4, 2], *weights, None, None, None, workspace
        )
        return found[0].sum()

    overwritten, twice = outputs(), outputs()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        overwritten.backward()
    twice.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        twice.backward()


def test_without_a_working_compiler_there_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    fresh_library = build.library.__wrapped__
    assert fresh_library("lstm_step") is None
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert build.find_compiler() == str(broken)
    assert fresh_library("lstm_step") is None
    monkeypatch.setenv(build.SWITCH, "0")
    assert build.find_compiler() is None
    assert not list(tmp_path.glob("elmokit/*")), "nothing half-made is left"


def test_the_library_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(torch.float32)  # or skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fresh_library = build.library.__wrapped__
    assert fresh_library("lstm_step") is not None
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.so")}
    assert len(made) == 1
    assert fresh_library("lstm_step") is not None
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.so")} == made
