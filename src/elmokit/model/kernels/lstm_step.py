"""One LSTM step except its matrix products, forward and backward, in plain PyTorch.

``compiled/lstm_step.py`` does the same in one pass over memory if there is a C compiler; tests
compare the two. A step has n rows; gates are in the order i, f, o, j, each of width H.
``lstm_inference.py`` and ``lstm_training.py`` are the loops over the steps.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

aten = torch.ops.aten


class StepForward(Protocol):
    """Gates before activation -> activations (in place), cell, tanh(cell) and o * tanh(cell)."""

    def __call__(
        self,
        gates: Tensor,  # (n, 4H): x W_x + h W_h + b, or h W_h alone with a table
        table: Tensor | None,  # (N, 4H): x W_x + b of N distinct inputs ...
        rows: Tensor | None,  # ... (n,): and which of them each row reads
        keep: Tensor | None,  # (n, 1): 0 where a row forgets its cell, otherwise 1
        before: Tensor,  # (n, H): the cell of the previous step
        cell_clip: float | None,
        *,
        cell: Tensor,  # (n, H): written
        squashed: Tensor,  # (n, H): tanh(cell), written
        full: Tensor,  # (n, H): o * tanh(cell), written
    ) -> None: ...


class StepBackward(Protocol):
    """The gradient of a step with respect to its gates before activation and the previous cell."""

    def __call__(
        self,
        gates: Tensor,  # (n, 4H): the activations
        before: Tensor,  # (n, H)
        cell: Tensor,  # (n, H)
        squashed: Tensor,  # (n, H)
        to_full: Tensor,  # (n, H)
        to_cell: Tensor,  # (n, H): gradient of this cell; overwritten by that of the previous one
        cell_clip: float | None,
        rows: Tensor | None,
        *,
        to_gates: Tensor,  # (n, 4H): written; may be ``gates`` itself
        to_table: Tensor | None,  # (N, 4H): each row's gradient is added to the row it has read
        to_bias: Tensor,  # (4H,): the sum over rows, written
    ) -> None: ...


class LstmSteps(NamedTuple):
    """An implementation of both functions."""

    forward: StepForward
    backward: StepBackward


def plain_forward(
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
    """See StepForward."""
    cell_dim = cell.shape[1]
    if table is not None:
        gates.add_(table[rows])
    gates[:, : 3 * cell_dim].sigmoid_()
    gate_in, gate_forget, gate_out, candidate = torch.split(gates, cell_dim, dim=1)
    candidate.tanh_()
    if keep is not None:
        gate_forget.mul_(keep)  # forgotten cells get no gradient either: f (1 - f) is 0
    torch.mul(before, gate_forget, out=cell)
    cell.addcmul_(gate_in, candidate)
    if cell_clip is not None:
        cell.clamp_(-cell_clip, cell_clip)
    torch.tanh(cell, out=squashed)
    torch.mul(squashed, gate_out, out=full)


def plain_backward(
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
    """See StepBackward."""
    cell_dim = cell.shape[1]
    gate_in, gate_forget, gate_out, candidate = torch.split(gates, cell_dim, dim=1)
    through = torch.mul(to_full, gate_out, out=torch.empty_like(cell))
    to_cell.add_(aten.tanh_backward.grad_input(through, squashed, grad_input=through))
    if cell_clip is not None:
        pass_inside(to_cell, cell, cell_clip)
    to_candidate = to_cell * gate_in
    to_in = to_cell * candidate
    to_forget = to_cell * before
    to_out = to_full * squashed
    to_cell.mul_(gate_forget)
    # From here on ``gates`` may be overwritten, part by part.
    aten.tanh_backward.grad_input(
        to_candidate.to(gates.dtype), candidate, grad_input=to_gates[:, 3 * cell_dim :]
    )
    for part, gradient in enumerate((to_in, to_forget, to_out)):
        columns = slice(part * cell_dim, (part + 1) * cell_dim)
        aten.sigmoid_backward.grad_input(
            gradient.to(gates.dtype), gates[:, columns], grad_input=to_gates[:, columns]
        )
    torch.sum(to_gates, dim=0, dtype=to_bias.dtype, out=to_bias)
    if to_table is not None:
        assert rows is not None
        to_table.index_add_(0, rows, to_gates.to(to_table.dtype))


def pass_inside(gradient: Tensor, clipped: Tensor, limit: float) -> None:
    """Zero the gradient, in place, where the value was clipped."""
    aten.hardtanh_backward.grad_input(gradient, clipped, -limit, limit, grad_input=gradient)


PLAIN = LstmSteps(plain_forward, plain_backward)


def last_rows(outputs: Tensor, batch_sizes: Sequence[int], num_rows: int) -> Tensor:
    """(B, P): the output of each sentence at its last step."""
    sizes = torch.tensor(batch_sizes, dtype=torch.long)
    starts = torch.cumsum(sizes, 0) - sizes
    row = torch.arange(num_rows)
    last_step = (sizes[:, None] > row).sum(dim=0) - 1
    return outputs[(starts[last_step] + row).to(outputs.device)]
