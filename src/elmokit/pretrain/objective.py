"""The joint objective: mean of the forward and the backward language model's loss.

The two directions share the token vectors and the softmax rows, and nothing else. Each runs its
LSTMs, its softmax and its whole gradient in a thread of its own; what they share is added up
afterwards, in a fixed order, so that a step is bit-identical whenever it is run again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmStack, LstmState
from elmokit.model.side_by_side import side_by_side
from elmokit.model.softmax import Softmax, full_softmax_loss, sampled_softmax_loss
from elmokit.pretrain.batches import Batch, DirectionBatch


class SoftmaxGradient(NamedTuple):
    """Only of the rows in play: a large softmax is never touched as a whole."""

    rows: Tensor | None  # (R,) vocabulary ids; None: all
    weight: Tensor  # (R, P)
    bias: Tensor  # (R,)


class StepResult(NamedTuple):
    loss: Tensor  # a scalar whose backward() reaches the biLM's parameters
    forward_loss: float
    backward_loss: float
    state: BiLmState
    softmax: SoftmaxGradient


class _Direction(NamedTuple):
    loss: float
    state: LstmState
    to_table: Tensor
    to_weights: tuple[Tensor, ...]
    to_rows: Tensor
    to_bias: Tensor


class Objective(nn.Module):
    """The biLM under its training loss: what DistributedDataParallel wraps.

    The softmax is not a submodule: its gradient comes back apart, for the rows in play alone.
    """

    def __init__(
        self,
        bilm: BiLm,
        softmax: Softmax,
        dropout: float,
        matrix_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.bilm = bilm
        self.softmax_of: Callable[[], Softmax] = lambda: softmax  # hidden from nn.Module
        self.dropout = dropout
        self.matrix_dtype = matrix_dtype

    def forward(self, batch: Batch, state: BiLmState, seed: int, scale: float) -> StepResult:
        """``seed`` fixes the dropout masks; ``scale`` multiplies the loss and its gradient."""
        table = self.bilm.encoder(batch.ids)  # (N, P)
        softmax = self.softmax_of()
        weight, bias = softmax.weight.detach(), softmax.bias.detach()
        if batch.softmax_rows is not None:
            weight, bias = weight[batch.softmax_rows], bias[batch.softmax_rows]
        stacks = self.bilm.forward_lstm, self.bilm.backward_lstm

        def run(side: int) -> _Direction:
            return self._run_direction(
                stacks[side], table.detach(), state[side], batch.directions[side], batch.keep,
                (weight, bias), torch.Generator().manual_seed(2 * seed + side),
            )  # fmt: skip

        shared: list[tuple[_Direction, _Direction]] = []

        def run_both() -> tuple[_Direction, _Direction]:
            both = side_by_side(lambda: run(0), lambda: run(1), table.device)
            shared.append(both)
            return both

        parameters = [*stacks[0].parameters(), *stacks[1].parameters()]
        loss: Tensor = _BothDirections.apply(run_both, scale, table, *parameters)  # type: ignore[no-untyped-call]
        forward, backward = shared[0]
        return StepResult(
            loss,
            forward.loss,
            backward.loss,
            BiLmState(forward.state, backward.state),
            SoftmaxGradient(
                batch.softmax_rows,
                (forward.to_rows + backward.to_rows) * (0.5 * scale),
                (forward.to_bias + backward.to_bias) * (0.5 * scale),
            ),
        )

    def _run_direction(
        self,
        stack: LstmStack,
        table: Tensor,
        state: LstmState,
        part: DirectionBatch,
        keep: Tensor | None,
        softmax: tuple[Tensor, Tensor],
        generator: torch.Generator,
    ) -> _Direction:
        with torch.enable_grad():
            table = table.requires_grad_()
            weight, bias = (tensor.detach().requires_grad_() for tensor in softmax)
            drop = self._dropout(generator)
            num_lanes = state.hidden.shape[1]
            inputs = nn.functional.embedding(part.rows, table)  # (S, P)
            batch_sizes = [num_lanes] * (len(part.rows) // num_lanes)
            outputs, after = stack(inputs, batch_sizes, state, keep, drop, self.matrix_dtype)
            top = outputs[-1] if drop is None else drop(outputs[-1])  # (S, P)
            if part.candidates is None:
                loss = full_softmax_loss(top, weight, bias, part.targets)
            else:
                loss = sampled_softmax_loss(top, weight, bias, part.targets, part.candidates)
            weights = list(stack.parameters())
            wanted = [each for each in weights if each.requires_grad]
            to_table, to_weight, to_bias, *found = torch.autograd.grad(
                loss, [table, weight, bias, *wanted]
            )
        given = iter(found)
        to_weights = tuple(
            next(given) if each.requires_grad else torch.zeros_like(each) for each in weights
        )
        return _Direction(loss.item(), after.detach(), to_table, to_weights, to_weight, to_bias)

    def _dropout(self, generator: torch.Generator) -> Callable[[Tensor], Tensor] | None:
        if self.dropout == 0.0 or not self.training:
            return None
        kept = 1.0 - self.dropout

        def drop(values: Tensor) -> Tensor:
            mask = torch.empty(values.shape).bernoulli_(kept, generator=generator).div_(kept)
            return values * mask.to(values.device)

        return drop


class _BothDirections(torch.autograd.Function):
    """Joins the two finished gradients to the graph of the token encoder."""

    @staticmethod
    def forward(
        ctx: Any,
        run_both: Callable[[], tuple[_Direction, _Direction]],
        scale: float,
        table: Tensor,
        *parameters: Tensor,
    ) -> Tensor:
        forward, backward = run_both()
        ctx.scale = 0.5 * scale
        ctx.save_for_backward(
            forward.to_table + backward.to_table, *forward.to_weights, *backward.to_weights
        )
        return table.new_tensor((forward.loss + backward.loss) * ctx.scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        factor = gradient * ctx.scale
        return None, None, *(saved * factor for saved in ctx.saved_tensors)
