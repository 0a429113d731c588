"""The loop over the steps of one LSTM layer with a hand-written gradient, for training.

Tests compare it with ``lstm_inference.py`` (the same loop without a gradient, which also describes
how a batch is packed), with autograd and with NumPy.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elmokit.model.kernels.lstm_step import PLAIN, LstmSteps, last_rows, pass_inside
from elmokit.model.kernels.products import TORCH, Products


class Workspace:
    """The large buffers of one layer's training step, kept for the next step.

    A new buffer of this size costs a page fault for every 4 KiB. Tensors taken from a workspace are
    valid until the next forward pass, and backward can be called only once.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """An uninitialised tensor with the dtype and device of ``like``."""
        kept = self._buffers.get(name)
        size = math.prod(shape)
        if (
            kept is None
            or len(kept) < size
            or (kept.dtype, kept.device) != (like.dtype, like.device)
        ):
            kept = self._buffers[name] = like.new_empty(size)
        return kept[:size].view(shape)


class LstmFunction(torch.autograd.Function):
    """One layer with its gradient; twice as fast as letting autograd record every step.

    ``inputs`` is (S, P), or with ``rows`` (S,) a table (N, P) of the distinct inputs: x W_x and
    its gradients are then computed once per distinct input.
    The matrices may be narrower than the state (bfloat16 and float32): products and gates then have
    the dtype of the matrices; the cell, the outputs and sums over the steps have that of the state.
    ``products`` multiplies the matrices.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        hidden: Tensor,
        cell: Tensor,
        keep: Tensor | None,
        batch_sizes: Sequence[int],
        input_weight: Tensor,
        hidden_weight: Tensor,
        bias: Tensor,
        projection: Tensor | None,
        cell_clip: float | None,
        projection_clip: float | None,
        rows: Tensor | None = None,
        workspace: Workspace | None = None,
        steps: LstmSteps = PLAIN,
        products: Products = TORCH,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run all steps; returns the outputs (S, P), the last hidden and the last cell state."""
        take = (workspace or Workspace()).take
        from_hidden = products(hidden_weight, take, "from_hidden")
        from_full = None if projection is None else products(projection, take, "from_full")
        cell_dim = hidden_weight.shape[1] // 4
        num_rows = sum(batch_sizes)
        inputs = inputs.to(input_weight.dtype)
        gates = take("gates", inputs, num_rows, 4 * cell_dim)  # becomes the activations
        table = None if rows is None else take("table", inputs, len(inputs), 4 * cell_dim)
        projected = gates if table is None else table
        projected.copy_(bias.expand_as(projected))
        products(input_weight, take, "from_inputs").product(inputs, out=projected, adds=True)
        cells = take("cells", cell, num_rows, cell_dim)
        squashed = take("squashed", cell, num_rows, cell_dim)  # tanh(c)
        outputs = hidden.new_empty(num_rows, hidden.shape[1])
        full = outputs if projection is None else take("full", inputs, num_rows, cell_dim)
        before_hidden = take("before_hidden", inputs, *outputs.shape)  # after forgetting
        before_cell = cell.contiguous()
        start = 0
        for size in batch_sizes:
            step = slice(start, start + size)
            kept = None if keep is None else keep[step]
            before = before_hidden[step]
            if kept is None:
                before.copy_(hidden[:size])
            else:
                torch.mul(hidden[:size], kept, out=before)
            now = gates[step]
            from_hidden.product(before, out=now, adds=table is None)
            steps.forward(
                now, table, None if rows is None else rows[step], kept, before_cell[:size],
                cell_clip, cell=cells[step], squashed=squashed[step], full=full[step],
            )  # fmt: skip
            if from_full is not None:
                from_full.product(full[step], out=outputs[step])
                if projection_clip is not None:
                    outputs[step].clamp_(-projection_clip, projection_clip)
            hidden, before_cell = outputs[step], cells[step]
            start += size
        ctx.batch_sizes, ctx.clips, ctx.steps = batch_sizes, (cell_clip, projection_clip), steps
        ctx.workspace, ctx.products = workspace, products
        ctx.save_for_backward(
            inputs, rows, cell, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, full, outputs, before_hidden,
        )  # fmt: skip
        ctx.set_materialize_grads(False)
        num_sentences = batch_sizes[0] if batch_sizes else 0
        return (
            outputs,
            last_rows(outputs, batch_sizes, num_sentences),
            last_rows(cells, batch_sizes, num_sentences),
        )

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_outputs: Tensor | None, grad_hidden: Tensor | None, grad_cell: Tensor | None
    ) -> tuple[Any, ...]:
        """Run the steps in reverse; gradients in the order of the arguments of ``forward``."""
        (
            inputs, rows, first_cell, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, full, outputs, before_hidden,
        ) = ctx.saved_tensors  # fmt: skip
        batch_sizes: Sequence[int] = ctx.batch_sizes
        cell_clip, projection_clip = ctx.clips
        take, products = (ctx.workspace or Workspace()).take, ctx.products
        to_before = products(hidden_weight.t(), take, "to_before")
        through_projection = None
        if projection is not None:
            through_projection = products(projection.t(), take, "through_projection")
        if grad_outputs is None:
            grad_outputs = torch.zeros_like(outputs)
        num_sentences = batch_sizes[0] if batch_sizes else 0
        to_hidden = _own(grad_hidden, outputs, num_sentences)  # gradient of h_t from the future
        to_cell = _own(grad_cell, cells, num_sentences)
        to_projected = torch.empty_like(outputs)  # of h before its clip
        if ctx.workspace is None:
            to_gates = torch.empty_like(gates)  # of the gates before sigmoid and tanh
        else:
            to_gates = gates
            torch.autograd.graph.increment_version(gates)  # makes a second backward() fail
        to_bias = cells.new_empty(len(batch_sizes), gates.shape[1])  # step by step
        to_table = None
        if rows is not None:
            to_table = take("to_table", cells, len(inputs), gates.shape[1]).zero_()
        start = len(outputs)
        for number in reversed(range(len(batch_sizes))):
            size = batch_sizes[number]
            start -= size
            step = slice(start, start + size)
            before_start = start - batch_sizes[number - 1]
            before_cell = first_cell if number == 0 else cells[before_start:]
            output_grad = torch.add(to_hidden[:size], grad_outputs[step], out=to_projected[step])
            if projection_clip is not None:
                pass_inside(output_grad, outputs[step], projection_clip)
            to_full = output_grad  # (n, H)
            if through_projection is not None:
                to_full = take("to_full", gates, size, gates.shape[1] // 4)
                through_projection.product(output_grad, out=to_full)
            ctx.steps.backward(
                gates[step], before_cell[:size], cells[step], squashed[step], to_full,
                to_cell[:size], cell_clip, None if rows is None else rows[step],
                to_gates=to_gates[step], to_table=to_table, to_bias=to_bias[number],
            )  # fmt: skip
            to_before.product(to_gates[step], out=to_hidden[:size])
            if keep is not None:
                to_hidden[:size].mul_(keep[step])
        to_projection = None
        if projection is not None:
            last = products(to_projected.to(full.dtype), take, "to_projected")
            to_projection = last.product_of_transposed(full)
        to_projected_inputs = to_gates if to_table is None else to_table.to(gates.dtype)
        to_inputs = None
        if ctx.needs_input_grad[0]:
            to_inputs = torch.empty(inputs.shape, dtype=outputs.dtype, device=outputs.device)
            products(input_weight.t(), take, "to_inputs").product(to_projected_inputs, to_inputs)
        by_step = products(to_gates, take, "by_step")
        by_input = by_step
        if to_table is not None:
            by_input = products(to_projected_inputs, take, "by_input")
        return (
            to_inputs,
            to_hidden,
            to_cell,
            None,
            None,
            by_input.product_of_transposed(inputs),
            by_step.product_of_transposed(before_hidden),
            to_bias.sum(dim=0).to(gates.dtype),
            to_projection,
            *7 * [None],
        )


def _own(gradient: Tensor | None, like: Tensor, num_rows: int) -> Tensor:
    if gradient is None:
        return like.new_zeros(num_rows, like.shape[1])
    return gradient.clone(memory_format=torch.contiguous_format)
