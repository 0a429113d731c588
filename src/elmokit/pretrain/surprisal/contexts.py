"""The states from which each direction of a biLM predicts a token, before reading it.

    sentence            w1 w2 w3
    forward   reads     <S> w1 w2 w3       its states predict  w1 w2 w3 </S>
    backward  reads     w1 w2 w3 </S>      its states predict  <S> w1 w2 w3

Neither direction has read the token that it predicts; together they have read all others.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.embed.word_cache import WordCache
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState
from elmokit.model.packing import BEGIN_ROW, END_ROW, Packing, find_places, pack
from elmokit.model.softmax import OutputWords
from elmokit.model.two_directions import ROWS_WORTH_A_THREAD, run_both
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import is_model
from elmokit.weights.pretrained import PretrainedModel


class Contexts(NamedTuple):
    """Top-layer states of B sentences of at most T tokens; zero beyond a sentence's length.

    ``forward[:, t]`` and ``backward[:, t]`` predict the token at position t.
    """

    forward: Tensor  # (B, T, P)
    backward: Tensor  # (B, T, P)
    last: Tensor  # (B, P): the forward state that predicts </S>
    first: Tensor  # (B, P): the backward state that predicts <S>
    state: BiLmState


def with_softmax(elmo: Embedder) -> PretrainedModel:
    """The model with its softmax, if it has one: ``elmokit.load`` leaves it on disk."""
    pretrained = elmo.pretrained
    if pretrained.output_words is None and is_model(elmo.source):
        pretrained.output_words = load_pretrained(elmo.source).output_words
        if pretrained.output_words is not None:
            pretrained.output_words.softmax.to(elmo.device)
    return pretrained


def require_softmax(model: PretrainedModel | Embedder, purpose: str) -> PretrainedModel:
    """The model with its softmax, which is read now if an ``Embedder`` was loaded without it."""
    pretrained = with_softmax(model) if isinstance(model, Embedder) else model
    if pretrained.output_words is None:
        raise InputError(
            f"{pretrained.source}: this model has no softmax, so it cannot {purpose}; give it one "
            f"with  elmokit finetune"
        )
    return pretrained


class ContextReader:
    """Reads sentences with a model that has a softmax; token vectors are cached."""

    def __init__(self, model: PretrainedModel | Embedder, purpose: str) -> None:
        """``purpose``: what the softmax is needed for, in the error if there is none."""
        self.model = require_softmax(model, purpose)
        self.bilm = self.model.bilm.eval()
        self._cache = WordCache(self.bilm.encoder, self.model.indexer)

    @property
    def output_words(self) -> OutputWords:
        """The softmax and its words."""
        assert self.model.output_words is not None
        return self.model.output_words

    @torch.no_grad()
    def read(self, sentences: Sequence[Sequence[str]], state: BiLmState | None = None) -> Contexts:
        """The contexts of B sentences; ``state`` (B rows): their initial state, default zeros."""
        tokens, rows, lengths = find_places(sentences, self.model.indexer)
        table = self._cache.vectors(tokens)  # (N, P)
        batch, longest = rows.shape
        rows = rows.to(table.device)
        # Both have T + 1 columns: forward reads <S> w1 .. wT, backward reads w1 .. wT </S>.
        forward_rows = torch.nn.functional.pad(rows, (1, 0), value=BEGIN_ROW)
        backward_rows = torch.nn.functional.pad(rows, (0, 1), value=END_ROW)
        places = torch.arange(batch, device=table.device)
        ends = torch.tensor(lengths, device=table.device)
        backward_rows[places, ends] = END_ROW
        packing = pack([length + 1 for length in lengths], longest + 1, table.device)
        start = self.bilm.zero_state(batch) if state is None else state
        (forward, forward_state), (backward, backward_state) = run_both(
            lambda: self._run(0, table, forward_rows, packing, start.forward),
            lambda: self._run(1, table, backward_rows, packing, start.backward),
            table.device,
            batch < ROWS_WORTH_A_THREAD,
        )
        return Contexts(
            forward[:, :-1],
            backward[:, 1:],
            forward[places, ends],
            backward[:, 0],
            BiLmState(forward_state, backward_state),
        )

    @torch.no_grad()
    def _run(
        self, side: int, table: Tensor, rows: Tensor, packing: Packing, start: LstmState
    ) -> tuple[Tensor, LstmState]:
        """(B, T + 1, P): the top layer of one direction after each token."""
        stack = (self.bilm.forward_lstm, self.bilm.backward_lstm)[side]
        places = (packing.forward, packing.backward)[side]
        inputs = rows.reshape(-1)[places]
        outputs, ended = stack.infer(
            table,
            inputs,
            packing.batch_sizes,
            start.rows(packing.order),
            self.bilm.precision,
        )
        unpacked = table.new_zeros(rows.numel(), table.shape[1])
        unpacked.index_copy_(0, places, outputs[-1])
        return unpacked.view(*rows.shape, -1), start.replace_rows(packing.order, ended)
