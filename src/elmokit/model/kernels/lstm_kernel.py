"""The inner loop of the biLM: two entries with one meaning.

``run_packed`` for inference, ``LstmFunction`` with a hand-written backward for training; tests hold
both to a NumPy twin and to autograd. Steps of few rows run in C where there is a compiler.
A packed batch holds step 0 of every sentence, then step 1 of those that have one, ...; sentences
are sorted by falling length, so a step is a run of rows and padding is never computed.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elmokit.device import multiplies_bfloat16_fast
from elmokit.model.kernels.compiled.lstm_layer import Stack, compiled_layer
from elmokit.model.kernels.lstm_step import PLAIN, LstmSteps, pass_inside
from elmokit.model.kernels.lstm_weights import LstmWeights, NarrowWeights, Precision

PROJECTED_ROWS_AT_ONCE = 256
"""Rows whose input projection is made by one GEMM: enough for its full speed at any number of
sentences, few enough that they are still in the cache when their step comes."""
ROWS_IN_ONE_CALL = 1024
"""So few rows run through all layers in one call of C: nothing of Python stands between them, for
which two directions in two threads would wait."""
PROJECTED_TABLE_BYTES = 256 * 2**20
"""Distinct inputs are projected once as long as the result is no larger than this."""


FEW_ROWS: dict[Precision, int] = {"float32": 16, "bfloat16": 32, "int8": 32}
"""Steps of at most so many rows run in C: beyond them PyTorch's products are as fast or faster."""


def runs_compiled(precision: Precision, num_rows: int, like: Tensor) -> bool:
    """Whether ``run_packed`` will run in C: float32 on the CPU, a compiler, few rows.

    int8 in C is faster at any number of rows, but not than several threads of PyTorch.
    """
    is_few = num_rows <= FEW_ROWS[precision]
    return (
        num_rows > 0
        and (is_few or (precision == "int8" and torch.get_num_threads() == 1))
        and like.dtype == torch.float32
        and like.device.type == "cpu"
        and compiled_layer(precision) is not None
    )


def runs_in_one_call(precision: Precision, num_rows: int, inputs: Tensor, like: Tensor) -> bool:
    """Whether ``run_stacks`` may take the place of ``run_packed`` for each layer.

    ``num_rows``: S, of all steps; ``like``: the hidden state, (B, P) or (L, B, P).
    """
    is_small = max(num_rows, len(inputs)) <= ROWS_IN_ONE_CALL
    return is_small and num_rows > 0 and runs_compiled(precision, like.shape[-2], like)


def run_stacks(stacks: Sequence[Stack]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """One or two directions, all of their layers in one call of C.

    Returns of each outputs (L, S, P), in which the skip connections are, the last hidden (L, B, P)
    and the last cell (L, B, H).
    """
    compiled = compiled_layer(stacks[0].layers[0].precision)
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
    return outputs, _last_rows(outputs, batch_sizes, len(cell)), cell


def _products_dtype(precision: Precision, like: Tensor) -> torch.dtype:
    """Of many rows: bfloat16 if the processor has instructions for it, which double the speed."""
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

    The matrices may be bfloat16: what they multiply is rounded too, and all else stays as it is.
    """
    cell_dim = weights.hidden_weight.shape[1] // 4
    outputs = hidden.new_empty(sum(batch_sizes), hidden.shape[1])
    cell = cell.clone(memory_format=torch.contiguous_format)
    activated = hidden.new_empty(len(cell), cell_dim)
    start = 0
    for gates in _projected_steps(weights, inputs, rows, batch_sizes):  # (n, 4H), ours
        size = len(gates)
        _add_product(hidden[:size], weights.hidden_weight, out=gates)
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
            _product(full.to(weights.projection.dtype), weights.projection, out=output)
            if weights.projection_clip is not None:
                output.clamp_(-weights.projection_clip, weights.projection_clip)
        hidden = output
        start += size
    return outputs, cell


def _projected_steps(
    weights: LstmWeights, inputs: Tensor, rows: Tensor | None, batch_sizes: Sequence[int]
) -> Iterator[Tensor]:
    """x W_x + b of each step; what is yielded may be overwritten, and is when the next is asked."""
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


def _add_product(left: Tensor, right: Tensor, out: Tensor) -> None:
    if right.dtype == out.dtype:
        out.addmm_(left, right)
    else:
        out.add_(left.to(right.dtype) @ right)


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


class Workspace:
    """The large buffers of one layer's training step, kept for the next step.

    A fresh buffer of this size costs a page fault for every 4 KiB. What is taken from a workspace
    is valid until the next forward pass, and its gradient can be asked for only once.
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
        rows: Tensor | None = None,
        workspace: Workspace | None = None,
        steps: LstmSteps = PLAIN,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run all steps; returns the outputs (S, P), the last hidden and the last cell state."""
        take = (workspace or Workspace()).take
        cell_dim = hidden_weight.shape[1] // 4
        num_rows = sum(batch_sizes)
        inputs = inputs.to(input_weight.dtype)
        gates = take("gates", inputs, num_rows, 4 * cell_dim)  # becomes the activations
        table = None
        if rows is None:
            torch.addmm(bias, inputs, input_weight, out=gates)
        else:
            table = take("table", inputs, len(inputs), 4 * cell_dim)
            torch.addmm(bias, inputs, input_weight, out=table)
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
            if table is None:
                now.addmm_(before, hidden_weight)
            else:
                torch.mm(before, hidden_weight, out=now)
            steps.forward(
                now, table, None if rows is None else rows[step], kept, before_cell[:size],
                cell_clip, cell=cells[step], squashed=squashed[step], full=full[step],
            )  # fmt: skip
            if projection is not None:
                _product(full[step], projection, out=outputs[step])
                if projection_clip is not None:
                    outputs[step].clamp_(-projection_clip, projection_clip)
            hidden, before_cell = outputs[step], cells[step]
            start += size
        ctx.batch_sizes, ctx.clips, ctx.steps = batch_sizes, (cell_clip, projection_clip), steps
        ctx.workspace = workspace
        ctx.save_for_backward(
            inputs, rows, cell, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, full, outputs, before_hidden,
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
        """Run the steps in reverse; gradients in the order of the arguments of ``forward``."""
        (
            inputs, rows, first_cell, keep, input_weight, hidden_weight, projection,
            gates, cells, squashed, full, outputs, before_hidden,
        ) = ctx.saved_tensors  # fmt: skip
        batch_sizes: Sequence[int] = ctx.batch_sizes
        cell_clip, projection_clip = ctx.clips
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
            torch.autograd.graph.increment_version(gates)  # a second backward() is refused
        to_bias = cells.new_empty(len(batch_sizes), gates.shape[1])  # step by step
        to_table = None
        if rows is not None:
            to_table = (ctx.workspace or Workspace()).take(
                "to_table", cells, len(inputs), gates.shape[1]
            )
            to_table.zero_()
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
            if projection is not None:
                to_full = output_grad.to(gates.dtype) @ projection.t()
            ctx.steps.backward(
                gates[step], before_cell[:size], cells[step], squashed[step], to_full,
                to_cell[:size], cell_clip, None if rows is None else rows[step],
                to_gates=to_gates[step], to_table=to_table, to_bias=to_bias[number],
            )  # fmt: skip
            _product(to_gates[step], hidden_weight.t(), out=to_hidden[:size])
            if keep is not None:
                to_hidden[:size].mul_(keep[step])
        to_projection = None
        if projection is not None:
            to_projection = full.t() @ to_projected.to(full.dtype)
        to_projected_inputs = to_gates if to_table is None else to_table.to(gates.dtype)
        to_inputs = None
        if ctx.needs_input_grad[0]:
            to_inputs = (to_projected_inputs @ input_weight.t()).to(outputs.dtype)
        return (
            to_inputs,
            to_hidden,
            to_cell,
            None,
            None,
            inputs.t() @ to_projected_inputs,
            before_hidden.t() @ to_gates,
            to_bias.sum(dim=0).to(gates.dtype),
            to_projection,
            *6 * [None],
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
