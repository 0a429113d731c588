"""The inner loop of the biLM, in plain PyTorch: the one seam for a compiled kernel.

Two entries with one meaning (tests hold both to a NumPy twin and to autograd):
``run_packed`` for inference, ``LstmFunction`` with a hand-written backward for training.
A packed batch holds step 0 of every sentence, then step 1 of those that have one, ...; sentences
are sorted by falling length, so a step is a run of rows and padding is never computed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

aten = torch.ops.aten

PROJECTED_ROWS_AT_ONCE = 256
"""Rows whose input projection is made by one GEMM: enough for its full speed at any number of
sentences, few enough that they are still in the cache when their step comes."""
PROJECTED_TABLE_BYTES = 256 * 2**20
"""Distinct inputs are projected once as long as the result is no larger than this."""


class LstmWeights(NamedTuple):
    """One layer; the gates' columns stand i, f, o, j."""

    input_weight: Tensor  # (P, 4H)
    hidden_weight: Tensor  # (P, 4H)
    bias: Tensor  # (4H): the forget bias is in it
    projection: Tensor | None  # (H, P)
    cell_clip: float | None
    projection_clip: float | None


def run_packed(
    weights: LstmWeights,
    inputs: Tensor,
    rows: Tensor | None,
    batch_sizes: Sequence[int],
    hidden: Tensor,
    cell: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer over a packed batch -> outputs (S, P), last hidden (B, P), last cell (B, H).

    ``inputs`` is (S, P), or with ``rows`` (S,) a table (N, P) of the distinct inputs.
    """
    cell_dim = weights.hidden_weight.shape[1] // 4
    outputs = hidden.new_empty(sum(batch_sizes), hidden.shape[1])
    cell = cell.clone(memory_format=torch.contiguous_format)
    activated = hidden.new_empty(len(cell), cell_dim)
    start = 0
    for gates in _projected_steps(weights, inputs, rows, batch_sizes):  # (n, 4H), ours
        size = len(gates)
        gates.addmm_(hidden[:size], weights.hidden_weight)
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
            torch.mm(full, weights.projection, out=output)
            if weights.projection_clip is not None:
                output.clamp_(-weights.projection_clip, weights.projection_clip)
        hidden = output
        start += size
    return outputs, _last_rows(outputs, batch_sizes, len(cell)), cell


def _projected_steps(
    weights: LstmWeights, inputs: Tensor, rows: Tensor | None, batch_sizes: Sequence[int]
) -> Iterator[Tensor]:
    """x W_x + b of each step; what is yielded may be overwritten, and is when the next is asked."""
    width = len(weights.bias)
    if rows is not None and len(inputs) * width * inputs.element_size() <= PROJECTED_TABLE_BYTES:
        table = torch.addmm(weights.bias, inputs, weights.input_weight)  # (N, 4H)
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
        gates = torch.addmm(weights.bias, some, weights.input_weight, out=buffer[: len(some)])
        yield from torch.split(gates, sizes)
        start += len(some)


def _blocks(batch_sizes: Sequence[int]) -> Iterator[list[int]]:
    """Runs of whole steps, each of at most PROJECTED_ROWS_AT_ONCE rows or of one step."""
    block: list[int] = []
    for size in batch_sizes:
        if block and sum(block) + size > PROJECTED_ROWS_AT_ONCE:
            yield block
            block = []
        block.append(size)
    if block:
        yield block


def _last_rows(outputs: Tensor, batch_sizes: Sequence[int], num_rows: int) -> Tensor:
    """(B, P): each sentence's output at its own last step."""
    sizes = torch.tensor(batch_sizes, dtype=torch.long)
    starts = torch.cumsum(sizes, 0) - sizes
    row = torch.arange(num_rows)
    last_step = (sizes[:, None] > row).sum(dim=0) - 1
    return outputs[(starts[last_step] + row).to(outputs.device)]


class LstmFunction(torch.autograd.Function):
    """One layer with its gradient; twice as fast as letting autograd record every step.

    The matrices may be narrower than the state (bfloat16 beside float32): products and gates then
    have the dtype of the matrices; the cell, the outputs and what sums up over the steps keep
    that of the state.
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
    ) -> tuple[Tensor, Tensor, Tensor]:
        cell_dim = hidden_weight.shape[1] // 4
        num_rows = len(inputs)
        inputs = inputs.to(input_weight.dtype)
        gates = torch.addmm(bias, inputs, input_weight)  # (S, 4H), becomes the activations
        cells = cell.new_empty(num_rows, cell_dim)
        squashed = torch.empty_like(cells)  # tanh(c)
        outputs = hidden.new_empty(num_rows, hidden.shape[1])
        before_hidden = gates.new_empty(outputs.shape)  # h_{t-1}, after forgetting
        before_cell = torch.empty_like(cells)
        full = gates.new_empty(len(cell), cell_dim)
        start = 0
        for size in batch_sizes:
            step = slice(start, start + size)
            if keep is None:
                before_hidden[step] = hidden[:size]
                before_cell[step] = cell[:size]
            else:
                torch.mul(hidden[:size], keep[step], out=before_hidden[step])
                torch.mul(cell[:size], keep[step], out=before_cell[step])
            now = gates[step].addmm_(before_hidden[step], hidden_weight)
            in_forget_out = now[:, : 3 * cell_dim].sigmoid_()
            candidate = now[:, 3 * cell_dim :].tanh_()
            new_cell = cells[step]
            torch.mul(before_cell[step], in_forget_out[:, cell_dim : 2 * cell_dim], out=new_cell)
            new_cell.addcmul_(in_forget_out[:, :cell_dim], candidate)
            if cell_clip is not None:
                new_cell.clamp_(-cell_clip, cell_clip)
            torch.tanh(new_cell, out=squashed[step])
            gate = in_forget_out[:, 2 * cell_dim :]
            if projection is None:
                torch.mul(squashed[step], gate, out=outputs[step])
            else:
                torch.mul(squashed[step], gate, out=full[:size])
                _product(full[:size], projection, out=outputs[step])
                if projection_clip is not None:
                    outputs[step].clamp_(-projection_clip, projection_clip)
            hidden, cell = outputs[step], new_cell
            start += size
        ctx.batch_sizes, ctx.clips = batch_sizes, (cell_clip, projection_clip)
        ctx.save_for_backward(
            inputs, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, outputs, before_hidden, before_cell,
        )  # fmt: skip
        ctx.set_materialize_grads(False)
        num_sentences = batch_sizes[0] if batch_sizes else 0
        return (
            outputs,
            _last_rows(outputs, batch_sizes, num_sentences),
            _last_rows(cells, batch_sizes, num_sentences),
        )

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_outputs: Tensor | None, grad_hidden: Tensor | None, grad_cell: Tensor | None
    ) -> tuple[Any, ...]:
        (
            inputs, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, outputs, before_hidden, before_cell,
        ) = ctx.saved_tensors  # fmt: skip
        batch_sizes: Sequence[int] = ctx.batch_sizes
        cell_clip, projection_clip = ctx.clips
        cell_dim = cells.shape[1]
        if grad_outputs is None:
            grad_outputs = torch.zeros_like(outputs)
        num_sentences = batch_sizes[0] if batch_sizes else 0
        to_hidden = _own(grad_hidden, outputs, num_sentences)  # gradient of h_t from the future
        to_cell = _own(grad_cell, cells, num_sentences)
        to_projected = torch.empty_like(outputs)  # of h before its clip
        to_gates = torch.empty_like(gates)  # of the gates before sigmoid and tanh
        to_squashed = cells.new_empty(num_sentences, cell_dim)
        full_weight = None if projection is None else projection.t()
        start = len(outputs)
        for size in reversed(batch_sizes):
            start -= size
            step = slice(start, start + size)
            output_grad = torch.add(to_hidden[:size], grad_outputs[step], out=to_projected[step])
            if projection_clip is not None:
                _pass_inside(output_grad, outputs[step], projection_clip)
            to_full = output_grad  # (n, H)
            if full_weight is not None:
                to_full = output_grad.to(gates.dtype) @ full_weight
            activation, gradient = gates[step], to_gates[step]
            gate = activation[:, 2 * cell_dim : 3 * cell_dim]
            cell_grad = to_cell[:size]
            through = torch.mul(to_full, gate, out=to_squashed[:size])
            aten.tanh_backward.grad_input(through, squashed[step], grad_input=through)
            cell_grad.add_(through)
            if cell_clip is not None:
                _pass_inside(cell_grad, cells[step], cell_clip)
            torch.mul(cell_grad, activation[:, 3 * cell_dim :], out=gradient[:, :cell_dim])
            torch.mul(cell_grad, before_cell[step], out=gradient[:, cell_dim : 2 * cell_dim])
            torch.mul(to_full, squashed[step], out=gradient[:, 2 * cell_dim : 3 * cell_dim])
            torch.mul(cell_grad, activation[:, :cell_dim], out=gradient[:, 3 * cell_dim :])
            _sigmoid_backward(gradient[:, : 3 * cell_dim], activation[:, : 3 * cell_dim])
            _tanh_backward(gradient[:, 3 * cell_dim :], activation[:, 3 * cell_dim :])
            cell_grad.mul_(activation[:, cell_dim : 2 * cell_dim])
            _product(gradient, hidden_weight.t(), out=to_hidden[:size])
            if keep is not None:
                to_hidden[:size].mul_(keep[step])
                cell_grad.mul_(keep[step])
        to_projection = None
        if projection is not None:
            full = squashed.to(gates.dtype) * gates[:, 2 * cell_dim : 3 * cell_dim]
            to_projection = full.t() @ to_projected.to(gates.dtype)
        to_inputs = None
        if ctx.needs_input_grad[0]:
            to_inputs = (to_gates @ input_weight.t()).to(outputs.dtype)
        return (
            to_inputs,
            to_hidden,
            to_cell,
            None,
            None,
            inputs.t() @ to_gates,
            before_hidden.t() @ to_gates,
            to_gates.sum(dim=0),
            to_projection,
            None,
            None,
        )


def _product(left: Tensor, right: Tensor, out: Tensor) -> None:
    if left.dtype == out.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(left @ right)


def _own(gradient: Tensor | None, like: Tensor, num_rows: int) -> Tensor:
    if gradient is None:
        return like.new_zeros(num_rows, like.shape[1])
    return gradient.clone(memory_format=torch.contiguous_format)


def _pass_inside(gradient: Tensor, clipped: Tensor, limit: float) -> None:
    """In place: no gradient where the value was clipped."""
    aten.hardtanh_backward.grad_input(gradient, clipped, -limit, limit, grad_input=gradient)


def _sigmoid_backward(gradient: Tensor, activation: Tensor) -> None:
    aten.sigmoid_backward.grad_input(gradient, activation, grad_input=gradient)


def _tanh_backward(gradient: Tensor, activation: Tensor) -> None:
    aten.tanh_backward.grad_input(gradient, activation, grad_input=gradient)
