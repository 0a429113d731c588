"""The biLM: a shared token encoder under a forward and a backward stack of LSTMs.

    x_k = TokenEncoder(t_k)
    forward:  <S> t_1 ... t_k   -> h_{k,1} ... h_{k,L}     sees the past
    backward: </S> t_N ... t_k  -> h_{k,1} ... h_{k,L}     sees the future
    layer 0 = [x_k; x_k],  layer j = [forward h_{k,j}; backward h_{k,j}]

One class for pretraining, fine-tuning and inference. State is an argument and a result.
"""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn

from elmokit.config import ModelConfig
from elmokit.model.kernels.lstm_inference import fits_in_one_call, runs_compiled
from elmokit.model.kernels.lstm_weights import Precision
from elmokit.model.lstm import LstmStack, LstmState, run_together
from elmokit.model.packing import BEGIN_ROW, END_ROW, Packing, add_markers, pack
from elmokit.model.token_encoder import TokenEncoder
from elmokit.model.two_directions import ROWS_WORTH_A_THREAD, run_both
from elmokit.model.weights_version import weights_version

Function = TypeVar("Function", bound=Callable[..., Any])


def runs_eagerly(function: Function) -> Function:
    """Keep the biLM eager under ``torch.compile``: its kernels are faster than a traced graph.

    Like ``torch.compiler.disable``, but imports torch's compiler only when it is used: the import
    alone would double the time to load a model.
    """
    disabled: list[Callable[..., Any]] = []

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if "torch._dynamo" not in sys.modules:
            return function(*arguments, **options)
        if not disabled:
            disabled.append(torch.compiler.disable(function))  # type: ignore[no-untyped-call]
        return disabled[0](*arguments, **options)

    return cast(Function, call)


class BiLmState(NamedTuple):
    """The state of both directions, for B sentences (or one row, as a start for any sentence)."""

    forward: LstmState
    backward: LstmState

    @property
    def num_rows(self) -> int:
        """B, the number of sentences."""
        return self.forward.hidden.shape[1]

    def to(self, device: str | torch.device) -> "BiLmState":
        """The same state on another device."""
        return BiLmState(self.forward.to(device), self.backward.to(device))

    def rows(self, start: int, end: int) -> "BiLmState":
        """The states of sentences ``start`` to ``end`` (exclusive)."""
        index = torch.arange(start, end, device=self.forward.hidden.device)
        return BiLmState(self.forward.rows(index), self.backward.rows(index))

    def join(self, other: "BiLmState") -> "BiLmState":
        """The rows of this state followed by those of ``other``."""
        return BiLmState(self.forward.join(other.forward), self.backward.join(other.backward))


class BiLmOutput(NamedTuple):
    """The layers of a batch, and the final state of its sentences."""

    layers: Tensor  # (B, L + 1, T, D), zero beyond a sentence's length
    state: BiLmState


class BiLm(nn.Module):
    """The biLM. Build it from a config, then load weights (``elmokit.weights``) or train it.

    There are three ways to run it on the vectors of a batch's distinct tokens: ``layers`` (every
    sentence on its own), ``carry`` (sentences that continue from a state) and ``forward`` (rows
    as given, markers included).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.num_layers = config.lstm.num_layers + 1
        """L + 1: the number of layers, including the token layer."""
        self.encoder = TokenEncoder(config)
        self.forward_lstm = LstmStack(config.lstm)
        self.backward_lstm = LstmStack(config.lstm)
        self.precision: Precision = "float32"
        self.output_basis: Tensor | None
        """(L, D, D), by which layers 1 to L are multiplied on output; None: not at all. It changes
        neither what the LSTMs compute nor their state."""
        self.register_buffer("output_basis", None, persistent=False)
        self._opened: tuple[BiLmState | None, object, BiLmState] | None = None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def train(self, mode: bool = True) -> "BiLm":
        """Set the training mode, as in every module; drops values cached from the weights."""
        self._opened = None
        return super().train(mode)

    def set_precision(self, precision: Precision) -> None:
        """Set the precision of the LSTMs' matrices for inference; the weights are not changed."""
        self.precision, self._opened = precision, None

    def zero_state(self, num_rows: int) -> BiLmState:
        """A state of zeros for ``num_rows`` sentences."""
        return BiLmState(
            self.forward_lstm.zero_state(num_rows), self.backward_lstm.zero_state(num_rows)
        )

    @runs_eagerly
    def layers(
        self, table: Tensor, rows: Tensor, lengths: Sequence[int], start: BiLmState | None = None
    ) -> Tensor:
        """Return the layers (B, L + 1, T, D) of B sentences, each on its own, between its markers.

        Args:
            table: (N, P), the encoder's output; rows 0 and 1 are the begin and end markers.
            rows: (B, T), the row of each token in the table.
            lengths: the number of tokens of each sentence.
            start: a state with one row, from which every sentence starts; default: zeros.
        """
        opened = self._after_marker(table, start)
        packing = pack(lengths, rows.shape[1], table.device)
        num_rows = len(packing.order)
        starts = BiLmState(opened.forward.expand(num_rows), opened.backward.expand(num_rows))
        return self._run_packed(table, rows, packing, starts).layers

    def carry(
        self, table: Tensor, rows: Tensor, lengths: Sequence[int], state: BiLmState
    ) -> BiLmOutput:
        """Like ``layers``, but each sentence continues from its own row of ``state``."""
        output: BiLmOutput = self(table, *add_markers(rows, lengths), state)
        places = torch.arange(rows.shape[1], device=rows.device)
        inside = places < torch.tensor(lengths, device=rows.device)[:, None]  # (B, T)
        return BiLmOutput(output.layers[:, :, 1:-1] * inside[:, None, :, None], output.state)

    @runs_eagerly
    def forward(
        self, table: Tensor, rows: Tensor, lengths: Sequence[int], state: BiLmState
    ) -> BiLmOutput:
        """Run rows as given; the caller adds markers around a sentence if needed."""
        packing = pack(lengths, rows.shape[1], table.device)
        starts = BiLmState(state.forward.rows(packing.order), state.backward.rows(packing.order))
        layers, ended = self._run_packed(table, rows, packing, starts)
        kept = [  # a sentence of no tokens keeps its state
            before.replace_rows(packing.order, after)
            for before, after in zip(state, ended, strict=True)
        ]
        return BiLmOutput(layers, BiLmState(*kept))

    def _run_packed(
        self, table: Tensor, rows: Tensor, packing: Packing, starts: BiLmState
    ) -> BiLmOutput:
        """Run the sentences that have tokens; ``starts`` and the resulting state are theirs."""
        flat = rows.reshape(-1)
        inputs = flat[packing.forward], flat[packing.backward]  # each (S,)
        results = self._run(table, inputs, packing.batch_sizes, starts)
        (forward, forward_end), (backward, backward_end) = results
        layers = self._unpack(table, inputs, [forward, backward], rows.shape, packing)
        return BiLmOutput(layers, BiLmState(forward_end, backward_end))

    def _run(
        self,
        table: Tensor,
        inputs: tuple[Tensor, Tensor],
        batch_sizes: Sequence[int],
        starts: BiLmState,
    ) -> Sequence[tuple[list[Tensor], LstmState]]:
        """Run both directions over packed rows of ``table``; the layers and final state of each."""
        stacks = self.forward_lstm, self.backward_lstm
        if self._needs_gradient(table):
            return [
                stack(table[rows], batch_sizes, start)
                for stack, rows, start in zip(stacks, inputs, starts, strict=True)
            ]
        is_compiled = runs_compiled(self.precision, starts.num_rows, table)
        if is_compiled and fits_in_one_call(len(inputs[0]), table):
            return run_together(stacks, table, inputs, batch_sizes, starts, self.precision)
        is_short = not is_compiled and starts.num_rows < ROWS_WORTH_A_THREAD
        return run_both(
            lambda: stacks[0].infer_by_layer(
                table, inputs[0], batch_sizes, starts[0], self.precision
            ),
            lambda: stacks[1].infer_by_layer(
                table, inputs[1], batch_sizes, starts[1], self.precision
            ),
            table.device,
            is_short,
            stays_here=is_compiled,
        )

    def _unpack(
        self,
        table: Tensor,
        inputs: tuple[Tensor, Tensor],
        outputs: list[list[Tensor]],
        shape: torch.Size,
        packing: Packing,
    ) -> Tensor:
        """Copy packed rows to their positions in (B, L + 1, T, D); the rest is zero."""
        (batch, columns), dim = shape, table.shape[1]
        flat = table.new_zeros(batch * self.num_layers * columns, 2 * dim)
        for side, places in enumerate((packing.forward, packing.backward)):
            sentence = places // max(columns, 1)
            first = places + sentence * columns * (self.num_layers - 1)  # (S,): in layer 0
            half = flat[:, side * dim : (side + 1) * dim]
            for number, layer in enumerate([table[inputs[side]], *outputs[side]]):
                half.index_copy_(0, first + number * columns, layer)
        layers = flat.view(batch, self.num_layers, columns, 2 * dim)
        if self.output_basis is None:
            return layers
        with torch.autocast(table.device.type, enabled=False):
            return torch.cat([layers[:, :1], layers[:, 1:] @ self.output_basis], dim=1)

    def _after_marker(self, table: Tensor, start: BiLmState | None) -> BiLmState:
        """The state after the sentence marker, one row per direction.

        For a given start it is constant, so it is computed once and cached until a weight changes.
        It is not cached in training, because averaged weights are often swapped in without autograd
        noticing.
        """
        if self._needs_gradient(table):
            return self._read_marker(table, start)
        weights = weights_version(self)
        if self._opened is not None and not self.training:
            known_start, known_weights, state = self._opened
            if known_start is start and known_weights == weights:
                return state
        with torch.no_grad():
            state = self._read_marker(table, start)
        self._opened = (start, weights, state)
        return state

    def _read_marker(self, table: Tensor, start: BiLmState | None) -> BiLmState:
        state = self.zero_state(1) if start is None else start
        markers = torch.tensor([[BEGIN_ROW], [END_ROW]], device=table.device)
        results = self._run(table[: END_ROW + 1], (markers[0], markers[1]), [1], state)
        (_, forward), (_, backward) = results
        return BiLmState(forward, backward)

    def _needs_gradient(self, table: Tensor) -> bool:
        return torch.is_grad_enabled() and (
            table.requires_grad or any(weight.requires_grad for weight in self.parameters())
        )
