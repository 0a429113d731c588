"""The biLM: a shared token encoder under a forward and a backward stack of LSTMs.

    x_k = TokenEncoder(t_k)
    forward:  <S> t_1 ... t_k   -> h_{k,1} ... h_{k,L}     sees the past
    backward: </S> t_N ... t_k  -> h_{k,1} ... h_{k,L}     sees the future
    layer 0 = [x_k; x_k],  layer j = [forward h_{k,j}; backward h_{k,j}]

One class for pretraining, fine-tuning and inference. State is an argument and a result.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmokit.config import ModelConfig
from elmokit.model.lstm import LstmStack, LstmState
from elmokit.model.side_by_side import side_by_side
from elmokit.model.token_encoder import TokenEncoder
from elmokit.model.weights_now import weights_now

BEGIN_ROW, END_ROW = 0, 1
"""Where the sentence markers stand in every table of token vectors."""


class BiLmState(NamedTuple):
    """What both directions remember, for B sentences (or one, to start any sentence from)."""

    forward: LstmState
    backward: LstmState

    @property
    def num_rows(self) -> int:
        return self.forward.hidden.shape[1]


class BiLmOutput(NamedTuple):
    layers: Tensor  # (B, L + 1, T, D), zero beyond a sentence's length
    state: BiLmState | None  # after each sentence, where state was carried in


class BiLm(nn.Module):
    """Build from a config, then load weights (``elmokit.weights``) or train."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = TokenEncoder(config)
        self.forward_lstm = LstmStack(config.lstm)
        self.backward_lstm = LstmStack(config.lstm)
        self._started: tuple[BiLmState | None, object, BiLmState] | None = None

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def num_layers(self) -> int:
        """L + 1: the token layer counts."""
        return self.config.lstm.num_layers + 1

    def train(self, mode: bool = True) -> "BiLm":
        self._started = None
        return super().train(mode)

    def zero_state(self, num_rows: int) -> BiLmState:
        return BiLmState(
            self.forward_lstm.zero_state(num_rows), self.backward_lstm.zero_state(num_rows)
        )

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(
        self,
        table: Tensor,
        index: Tensor,
        lengths: Sequence[int],
        start: BiLmState | None = None,
        carried: BiLmState | None = None,
    ) -> BiLmOutput:
        """Layers of B sentences, from the vectors of their distinct tokens.

        ``table`` (N, P): the encoder's output; rows 0 and 1 are the begin and end markers.
        ``index`` (B, T): each token's row of the table; what lies beyond ``lengths`` is ignored.
        ``start``: one row; every sentence starts from it (default: zeros).
        ``carried``: B rows; each sentence goes on from its own, and the new state is returned.
        """
        is_fast = not (torch.is_grad_enabled() and self._needs_gradient(table))
        if carried is None:
            opened = self._after_marker(table, start, is_fast)
            state = BiLmState(*(direction.expand(len(lengths)) for direction in opened))
            layers, _ = self._run(table, index, lengths, state, is_fast)
            return BiLmOutput(layers, None)
        output = self.run_marked(table, wrap(index, lengths), [n + 2 for n in lengths], carried)
        inside = _mask(lengths, index.shape[1]).to(table.device)
        return BiLmOutput(output.layers[:, :, 1:-1] * inside[:, None, :, None], output.state)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def run_marked(
        self, table: Tensor, index: Tensor, lengths: Sequence[int], state: BiLmState
    ) -> BiLmOutput:
        """Sentences that stand between their markers already; the markers have layers too."""
        is_fast = not (torch.is_grad_enabled() and self._needs_gradient(table))
        layers, after = self._run(table, index, lengths, state, is_fast)
        return BiLmOutput(layers, after)

    def _run(
        self, table: Tensor, index: Tensor, lengths: Sequence[int], state: BiLmState, is_fast: bool
    ) -> tuple[Tensor, BiLmState]:
        packing = pack(lengths, index.shape[1], table.device)
        flat = index.reshape(-1)
        rows = flat[packing.forward], flat[packing.backward]  # each (S,)
        stacks = self.forward_lstm, self.backward_lstm
        starts = state.forward.rows(packing.order), state.backward.rows(packing.order)

        def run(side: int) -> tuple[list[Tensor], LstmState]:
            if is_fast:
                return stacks[side].infer(table, rows[side], packing.batch_sizes, starts[side])
            result: tuple[list[Tensor], LstmState] = stacks[side](
                table[rows[side]], packing.batch_sizes, starts[side]
            )
            return result

        if is_fast:
            num_rows = len(packing.order)
            results = side_by_side(lambda: run(0), lambda: run(1), table.device, num_rows)
        else:
            results = run(0), run(1)
        layers = self._unpack(
            table, rows, [outputs for outputs, _ in results], index.shape, packing
        )
        ended = []
        for before, (_, after) in zip(state, results, strict=True):
            # A sentence of no tokens keeps the state it had.
            ended.append(
                LstmState(
                    before.hidden.index_copy(1, packing.order, after.hidden),
                    before.cell.index_copy(1, packing.order, after.cell),
                )
            )
        return layers, BiLmState(*ended)

    def _unpack(
        self,
        table: Tensor,
        rows: tuple[Tensor, Tensor],
        outputs: list[list[Tensor]],
        shape: torch.Size,
        packing: "Packing",
    ) -> Tensor:
        """Packed rows to their places in (B, L + 1, T, D): a copy, and the rest is zero."""
        (batch, columns), dim = shape, table.shape[1]
        flat = table.new_zeros(batch * self.num_layers * columns, 2 * dim)
        for side, places in enumerate((packing.forward, packing.backward)):
            sentence = places // max(columns, 1)
            first = places + sentence * columns * (self.num_layers - 1)  # (S,): in layer 0
            half = flat[:, side * dim : (side + 1) * dim]
            for number, layer in enumerate([table[rows[side]], *outputs[side]]):
                half.index_copy_(0, first + number * columns, layer)
        return flat.view(batch, self.num_layers, columns, 2 * dim)

    def _after_marker(
        self, table: Tensor, start: BiLmState | None, is_fast: bool
    ) -> tuple[LstmState, LstmState]:
        """The state after the sentence marker, one row a direction.

        From a given start it is a constant of the model: computed once, kept until a weight moves.
        In training it is not kept, for averages of weights are often swapped in unseen by autograd.
        """
        weights = weights_now(self)
        if is_fast and self._started is not None and not self.training:
            known_start, known_weights, state = self._started
            if known_start is start and known_weights == weights:
                return state
        begin = self.zero_state(1) if start is None else start
        if is_fast:
            with torch.no_grad():
                row = torch.zeros(1, dtype=torch.long, device=table.device)
                _, forward = self.forward_lstm.infer(table, row + BEGIN_ROW, [1], begin.forward)
                _, backward = self.backward_lstm.infer(table, row + END_ROW, [1], begin.backward)
            self._started = (start, weights, BiLmState(forward, backward))
        else:
            first, last = table[BEGIN_ROW : BEGIN_ROW + 1], table[END_ROW : END_ROW + 1]
            _, forward = self.forward_lstm(first, [1], begin.forward)
            _, backward = self.backward_lstm(last, [1], begin.backward)
        return forward, backward

    def _needs_gradient(self, table: Tensor) -> bool:
        return table.requires_grad or any(weight.requires_grad for weight in self.parameters())


class Packing(NamedTuple):
    """Which token of B sentences each row of a packed batch is."""

    batch_sizes: list[int]  # sentences still running at each step
    order: Tensor  # (B'): the sentences that have tokens, longest first
    forward: Tensor  # (S,): flat position b * T + t of each packed row, first token first
    backward: Tensor  # (S,): the same, last token first


def pack(lengths: Sequence[int], num_columns: int, device: torch.device) -> Packing:
    """Sort by falling length and lay the steps one after the other."""
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    sorted_sizes = sizes[order]
    longest = int(sorted_sizes[0]) if len(order) else 0
    batch_sizes = (sorted_sizes[None, :] > np.arange(longest)[:, None]).sum(axis=1)
    starts = np.cumsum(batch_sizes) - batch_sizes
    step = np.repeat(np.arange(longest), batch_sizes)  # (S,)
    row = np.arange(len(step)) - np.repeat(starts, batch_sizes)
    sentence = order[row]
    forward = sentence * num_columns + step
    backward = sentence * num_columns + sizes[sentence] - 1 - step

    def tensor(array: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Packing(
        batch_sizes.tolist(),
        tensor(order),
        tensor(forward),
        tensor(backward),
    )


def _mask(lengths: Sequence[int], num_columns: int) -> Tensor:
    return torch.arange(num_columns) < torch.tensor(lengths, dtype=torch.long)[:, None]


def wrap(index: Tensor, lengths: Sequence[int]) -> Tensor:
    """(B, T) -> (B, T + 2): every sentence between its markers."""
    wrapped = torch.nn.functional.pad(index, (1, 1), value=END_ROW)
    wrapped[:, 0] = BEGIN_ROW
    for row, length in enumerate(lengths):
        wrapped[row, length + 1] = END_ROW
    return wrapped
