"""The joint objective: mean of the forward and the backward language model's loss.

The two directions share the token vectors and the softmax rows, and nothing else. Each runs its
LSTMs, its softmax and its whole gradient in a thread of its own; what they share is added up
afterwards, in a fixed order, so that a step is bit-identical whenever it is run again.

With a ``context_loss`` the top layer is also trained to identify the surrounding words, with a
``meaning_loss`` the token vectors to tell static ones. The matrices of these losses are used only
in training, and neither changes the softmax rows.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.kernels.compiled.int16_products import compiled_int16_products
from elmokit.model.kernels.compiled.lstm_step import compiled_steps
from elmokit.model.kernels.int16_products import PLAIN as PLAIN_INT16
from elmokit.model.kernels.lstm_step import PLAIN
from elmokit.model.kernels.lstm_training import Workspace
from elmokit.model.kernels.products import TORCH
from elmokit.model.lstm import LstmStack, LstmState
from elmokit.model.softmax import Softmax, full_softmax_loss, sampled_softmax_loss
from elmokit.model.two_directions import run_both
from elmokit.pretrain.training.auxiliary_losses import ContextLoss, MeaningLoss
from elmokit.pretrain.training.batches import Batch, DirectionBatch


class SoftmaxGradient(NamedTuple):
    """The gradient of the rows in play only: a large softmax is never updated as a whole."""

    rows: Tensor | None  # (R,) vocabulary ids; None: all
    weight: Tensor  # (R, P)
    bias: Tensor  # (R,)


class StepResult(NamedTuple):
    """What one training step returns."""

    loss: Tensor  # a scalar whose backward() reaches the biLM's parameters
    forward_loss: float
    backward_loss: float
    state: BiLmState
    softmax: SoftmaxGradient


class _Direction(NamedTuple):
    """One direction's loss and its gradients, already scaled."""

    loss: float
    state: LstmState
    to_table: Tensor
    to_weights: tuple[Tensor, ...]
    to_rows: Tensor
    to_bias: Tensor
    to_context: Tensor | None


class Objective(nn.Module):
    """The biLM with its training loss, to be wrapped in DistributedDataParallel.

    The softmax is not a submodule: its gradient is returned separately, only for the rows in play.
    ``matrix_dtype``: dtype of the matrix products of highways, LSTMs and the softmax's gradient;
    int16 rounds the factors of the LSTMs' products to integers, and nothing else.
    ``context_loss``, ``meaning_loss``: further losses, which are not reported.
    """

    def __init__(
        self,
        bilm: BiLm,
        softmax: Softmax,
        dropout: float,
        matrix_dtype: torch.dtype = torch.float32,
        context_loss: ContextLoss | None = None,
        meaning_loss: MeaningLoss | None = None,
    ) -> None:
        super().__init__()
        self.bilm = bilm
        self.context_loss = context_loss
        self.meaning_loss = meaning_loss
        self.softmax_parameters = (softmax.weight, softmax.bias)  # a tuple registers nothing
        self.dropout = dropout
        is_plain_cpu = _is_plain_cpu(bilm)
        self.products = TORCH
        if matrix_dtype == torch.int16:
            matrix_dtype = torch.float32
            self.products = (compiled_int16_products() if is_plain_cpu else None) or PLAIN_INT16
        self.matrix_dtype = matrix_dtype
        compiled = compiled_steps(matrix_dtype) if is_plain_cpu else None
        self.kernel = "PyTorch" if compiled is None else "compiled"
        self.steps = compiled or PLAIN
        self.workspaces = [
            [Workspace() for _ in stack.layers] for stack in (bilm.forward_lstm, bilm.backward_lstm)
        ]

    def forward(self, batch: Batch, state: BiLmState, seed: int, scale: float) -> StepResult:
        """``seed`` fixes the dropout masks; ``scale`` multiplies the loss and its gradient."""
        table = self.bilm.encoder(batch.ids, self.matrix_dtype)  # (N, P)
        weight, bias = (tensor.detach() for tensor in self.softmax_parameters)
        context_rows = None
        if self.context_loss is not None:
            context_rows = self.context_loss.weighted_vectors(weight, batch.softmax_rows)
        if batch.softmax_rows is not None:
            weight, bias = weight[batch.softmax_rows], bias[batch.softmax_rows]
        stacks = self.bilm.forward_lstm, self.bilm.backward_lstm

        def run(side: int) -> _Direction:
            return self._run_direction(
                stacks[side], table.detach(), state[side], batch.directions[side], batch.keep,
                (weight, bias), context_rows, torch.Generator().manual_seed(2 * seed + side),
                0.5 * scale, self.workspaces[side], side,
            )  # fmt: skip

        forward, backward = run_both(lambda: run(0), lambda: run(1), table.device)
        to_context = [side.to_context for side in (forward, backward)]
        context = () if self.context_loss is None else tuple(self.context_loss.weights)
        loss: Tensor = _KnownGradients.apply(
            0.5 * scale * (forward.loss + backward.loss),
            (forward.to_table + backward.to_table, *forward.to_weights, *backward.to_weights,
             *(each for each in to_context if each is not None)),
            table, *stacks[0].parameters(), *stacks[1].parameters(), *context,
        )  # type: ignore[no-untyped-call]  # fmt: skip
        if self.meaning_loss is not None:
            share = self.meaning_loss.share * scale
            loss = loss + share * self.meaning_loss(table, batch.words)
        return StepResult(
            loss,
            forward.loss,
            backward.loss,
            BiLmState(forward.state, backward.state),
            SoftmaxGradient(
                batch.softmax_rows,
                forward.to_rows.add_(backward.to_rows),
                forward.to_bias.add_(backward.to_bias),
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
        context_rows: Tensor | None,
        generator: torch.Generator,
        scale: float,
        workspaces: Sequence[Workspace],
        side: int,
    ) -> _Direction:
        with torch.enable_grad():
            table = table.requires_grad_()
            weight, bias = (tensor.detach().requires_grad_() for tensor in softmax)
            drop = self._dropout(generator)
            num_lanes = state.hidden.shape[1]
            batch_sizes = [num_lanes] * (len(part.rows) // num_lanes)
            types, rows = torch.unique(part.rows, return_inverse=True)
            inputs = nn.functional.embedding(types, table)  # (types of this direction, P)
            outputs, after = stack(
                inputs, batch_sizes, state, keep, drop, self.matrix_dtype,
                rows, workspaces, self.steps, self.products,
            )  # fmt: skip
            top = outputs[-1] if drop is None else drop(outputs[-1])  # (S, P)
            loss = total = _softmax_loss(top, weight, bias, part, self.matrix_dtype)
            weights = list(stack.parameters())
            wanted = [each for each in weights if each.requires_grad]
            if self.context_loss is not None and context_rows is not None:
                wanted.append(self.context_loss.weights[side])
                around = self.context_loss(side, top, context_rows[part.targets], num_lanes)
                total = loss + self.context_loss.share * around
            to_table, to_weight, to_bias, *found = torch.autograd.grad(
                total, [table, weight, bias, *wanted], loss.new_tensor(scale)
            )
        to_context = found.pop() if self.context_loss is not None else None
        given = iter(found)
        to_weights = tuple(
            next(given) if each.requires_grad else torch.zeros_like(each) for each in weights
        )
        return _Direction(
            loss.item(), after.detach(), to_table, to_weights, to_weight, to_bias, to_context
        )

    def _dropout(self, generator: torch.Generator) -> Callable[[Tensor], Tensor] | None:
        if self.dropout == 0.0 or not self.training:
            return None
        kept = 1.0 - self.dropout

        def drop(values: Tensor) -> Tensor:
            mask = torch.empty(values.shape).bernoulli_(kept, generator=generator).div_(kept)
            return values * mask.to(values.device)

        return drop


def _softmax_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, part: DirectionBatch, gradient_dtype: torch.dtype
) -> Tensor:
    if part.candidates is None:
        return full_softmax_loss(hidden, weight, bias, part.targets)
    return sampled_softmax_loss(hidden, weight, bias, part.targets, part.candidates, gradient_dtype)


def _is_plain_cpu(bilm: BiLm) -> bool:
    """Whether the compiled kernel can be used: float32 parameters on the CPU."""
    return all(
        each.device.type == "cpu" and each.dtype == torch.float32 for each in bilm.parameters()
    )


class _KnownGradients(torch.autograd.Function):
    """Attaches known gradients of a loss to the graph of the token encoder."""

    @staticmethod
    def forward(
        ctx: Any, loss: float, gradients: tuple[Tensor, ...], table: Tensor, *parameters: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*gradients)
        return table.new_tensor(loss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return None, None, *(known.mul_(gradient) for known in ctx.saved_tensors)
