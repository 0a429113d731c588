"""One direction of the biLM: L projected, clipped LSTMs. State in, state out.

For layer l at step t, with gates i, f, o and candidate j:

    i, f, o, j = x_t W_x + h_{t-1} W_h + b            (+ forget_bias on f)
    c_t = clip( sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(j) )
    h_t = clip( (sigmoid(o) * tanh(c_t)) W_p )
    output_t = h_t                from the second layer on, h_t + x_t (the skip connection)

Files order the gates i, j, f, o; here the order is i, f, o, j, so that one sigmoid covers three.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from elmokit.config import LstmConfig
from elmokit.model.kernels.compiled.lstm_layer import Stack
from elmokit.model.kernels.lstm_inference import (
    fits_in_one_call,
    run_packed,
    run_stacks,
    runs_compiled,
)
from elmokit.model.kernels.lstm_step import PLAIN, LstmSteps
from elmokit.model.kernels.lstm_training import LstmFunction, Workspace
from elmokit.model.kernels.lstm_weights import LstmWeights, NarrowWeights, Precision
from elmokit.model.kernels.products import TORCH, Products
from elmokit.model.weights_version import tensors_version


class LstmState(NamedTuple):
    """The state of every layer of one direction, for B sentences."""

    hidden: Tensor  # (L, B, P)
    cell: Tensor  # (L, B, H)

    def rows(self, index: Tensor) -> "LstmState":
        """The states of the sentences ``index``."""
        return LstmState(self.hidden[:, index], self.cell[:, index])

    def replace_rows(self, index: Tensor, other: "LstmState") -> "LstmState":
        """A copy in which the rows ``index`` are replaced by ``other``."""
        return LstmState(
            self.hidden.index_copy(1, index, other.hidden),
            self.cell.index_copy(1, index, other.cell),
        )

    def join(self, other: "LstmState") -> "LstmState":
        """The rows of this state followed by those of ``other``."""
        return LstmState(
            torch.cat([self.hidden, other.hidden], dim=1),
            torch.cat([self.cell, other.cell], dim=1),
        )

    def to(self, device: str | torch.device) -> "LstmState":
        """The same state on another device."""
        return LstmState(self.hidden.to(device), self.cell.to(device))

    def expand(self, num_rows: int) -> "LstmState":
        """The state of one sentence, copied to ``num_rows``."""
        return LstmState(self.hidden.repeat(1, num_rows, 1), self.cell.repeat(1, num_rows, 1))

    def detach(self) -> "LstmState":
        """The same state, detached from the graph."""
        return LstmState(self.hidden.detach(), self.cell.detach())


class ProjectedLstm(nn.Module):
    """The parameters of one layer."""

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        self.config = config
        cell_dim, projection_dim = config.dim, config.projection_dim
        self.input_weight = nn.Parameter(torch.empty(projection_dim, 4 * cell_dim))
        self.hidden_weight = nn.Parameter(torch.empty(projection_dim, 4 * cell_dim))
        self.bias = nn.Parameter(torch.zeros(4 * cell_dim))
        self.projection = (
            nn.Parameter(torch.empty(cell_dim, projection_dim)) if config.has_projection else None
        )
        self._narrow: tuple[object, NarrowWeights] | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the weights randomly; the bias is not changed."""
        # Glorot over the joint matrix [x; h] -> gates, as in bilm-tf; orthogonal is no better.
        bound = (6 / (2 * self.config.projection_dim + 4 * self.config.dim)) ** 0.5
        nn.init.uniform_(self.input_weight, -bound, bound)
        nn.init.uniform_(self.hidden_weight, -bound, bound)
        if self.projection is not None:
            nn.init.xavier_uniform_(self.projection)

    def weights(self, dtype: torch.dtype | None = None) -> LstmWeights:
        """``dtype``: round to it; gradients still reach the parameters."""
        dtype, cell_dim = dtype or self.bias.dtype, self.config.dim
        bias = self.bias.clone()
        bias[cell_dim : 2 * cell_dim] += self.config.forget_bias  # which no file stores
        return LstmWeights(
            self.input_weight.to(dtype),
            self.hidden_weight.to(dtype),
            bias.to(dtype),
            None if self.projection is None else self.projection.to(dtype),
            self.config.cell_clip,
            self.config.projection_clip if self.projection is not None else None,
        )

    def narrow_weights(self, precision: Precision) -> NarrowWeights:
        """The weights rounded to ``precision``, cached until one changes; float32 is shared."""
        if precision == "float32":
            return self.weights().narrowed(precision)
        version = precision, tensors_version(self._parameters.values())
        if self._narrow is None or self._narrow[0] != version:
            self._narrow = version, self.weights().narrowed(precision)
        return self._narrow[1]


class LstmStack(nn.Module):
    """L layers, run over packed sentences: step 0 of every sentence, then step 1, ..."""

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(ProjectedLstm(config) for _ in range(config.num_layers))

    def zero_state(self, num_rows: int) -> LstmState:
        """Return a state of zeros for ``num_rows`` sentences."""
        like = self.layers[0].bias
        assert isinstance(like, Tensor)
        num_layers = self.config.num_layers
        return LstmState(
            like.new_zeros(num_layers, num_rows, self.config.projection_dim),
            like.new_zeros(num_layers, num_rows, self.config.dim),
        )

    def forward(
        self,
        inputs: Tensor,
        batch_sizes: Sequence[int],
        state: LstmState,
        keep: Tensor | None = None,
        drop: Callable[[Tensor], Tensor] | None = None,
        matrix_dtype: torch.dtype | None = None,
        rows: Tensor | None = None,
        workspaces: Sequence[Workspace] | None = None,
        steps: LstmSteps = PLAIN,
        products: Products = TORCH,
    ) -> tuple[list[Tensor], LstmState]:
        """Run all layers, differentiably.

        ``inputs`` (S, P): step by step.
        ``batch_sizes`` (T): the number of rows of each step, never increasing.
        ``keep`` (S, 1): 0 where a row forgets its state before that step, otherwise 1.
        ``drop``: dropout on each layer's input (which the skip connection adds).
        ``matrix_dtype``: dtype of the matrix products, if not that of the parameters.
        ``rows`` (S,): if given, ``inputs`` is a table (N, P) of which these rows are read.
        ``workspaces``: buffers of each layer, reused in the next call.
        ``products``: how the matrices are multiplied.
        Returns every layer's output, each (S, P), and the state after each row's last step.
        """
        outputs: list[Tensor] = []
        hidden: list[Tensor] = []
        cell: list[Tensor] = []
        if drop is not None and rows is not None:  # each occurrence has its own mask
            inputs, rows = nn.functional.embedding(rows, inputs), None
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, ProjectedLstm)
            inputs = inputs if drop is None else drop(inputs)
            with torch.autocast(inputs.device.type, enabled=False):
                output, last_hidden, last_cell = LstmFunction.apply(
                    inputs, state.hidden[number], state.cell[number], keep, batch_sizes,
                    *layer.weights(matrix_dtype), rows if number == 0 else None,
                    None if workspaces is None else workspaces[number], steps, products,
                )  # type: ignore[no-untyped-call]  # fmt: skip
            inputs = output + inputs if self._has_skip(number) else output
            outputs.append(inputs)
            hidden.append(last_hidden)
            cell.append(last_cell)
        return outputs, LstmState(torch.stack(hidden), torch.stack(cell))

    @torch.no_grad()
    def infer(
        self,
        table: Tensor,
        rows: Tensor,
        batch_sizes: Sequence[int],
        state: LstmState,
        precision: Precision = "float32",
    ) -> tuple[list[Tensor], LstmState]:
        """The same without gradients or dropout, for inputs ``table[rows]``: (N, P) and (S,).

        The first layer's input projection is computed once per distinct token. ``precision``: the
        precision of the matrices.
        """
        is_compiled = runs_compiled(precision, state.hidden.shape[1], table)
        if is_compiled and fits_in_one_call(len(rows), table):
            return run_together([self], table, [rows], batch_sizes, [state], precision)[0]
        return self.infer_by_layer(table, rows, batch_sizes, state, precision)

    @torch.no_grad()
    def infer_by_layer(
        self,
        table: Tensor,
        rows: Tensor,
        batch_sizes: Sequence[int],
        state: LstmState,
        precision: Precision,
    ) -> tuple[list[Tensor], LstmState]:
        """``infer``, one layer after the other, for a batch of any size on any device."""
        outputs: list[Tensor] = []
        hidden: list[Tensor] = []
        cell: list[Tensor] = []
        inputs = None
        for number, layer in enumerate(self.layers):
            assert isinstance(layer, ProjectedLstm)
            is_exact = precision == "float32"
            with torch.autocast(table.device.type, enabled=False):
                output, last_hidden, last_cell = run_packed(
                    layer.weights() if is_exact else layer.narrow_weights(precision),
                    table if inputs is None else inputs,
                    rows if inputs is None else None,
                    batch_sizes,
                    state.hidden[number],
                    state.cell[number],
                )
            if self._has_skip(number):
                assert inputs is not None
                output += inputs
            inputs = output
            outputs.append(output)
            hidden.append(last_hidden)
            cell.append(last_cell)
        return outputs, LstmState(torch.stack(hidden), torch.stack(cell))

    def _has_skip(self, number: int) -> bool:
        return number > 0 and self.config.use_skip_connections


@torch.no_grad()
def run_together(
    stacks: Sequence[LstmStack],
    table: Tensor,
    inputs: Sequence[Tensor],
    batch_sizes: Sequence[int],
    starts: Sequence[LstmState],
    precision: Precision,
) -> list[tuple[list[Tensor], LstmState]]:
    """``infer`` for one or two directions in one C call; see ``fits_in_one_call``."""
    given = []
    for stack, rows, start in zip(stacks, inputs, starts, strict=True):
        layers = []
        for layer in stack.layers:
            assert isinstance(layer, ProjectedLstm)
            layers.append(layer.narrow_weights(precision))
        has_skip = stack.config.use_skip_connections
        given.append(Stack(layers, has_skip, table, rows, batch_sizes, *start))
    return [(list(outputs), LstmState(hidden, cell)) for outputs, hidden, cell in run_stacks(given)]
