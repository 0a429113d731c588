"""Run a loaded model over sentences, for tests that compare layers."""

from collections.abc import Sequence

import numpy as np
import torch

from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.packing import batch_tokens
from elmokit.text.token_ids import TokenIndexer

Sentences = Sequence[Sequence[str]]


def run_fresh(
    bilm: BiLm, indexer: TokenIndexer, sentences: Sentences, start: BiLmState | None = None
) -> list[np.ndarray]:
    """(L + 1, T, D) of each sentence, in one batch, by the fast path."""
    with torch.no_grad():
        batch = batch_tokens(sentences, indexer)
        table = bilm.encoder(batch.ids)
        layers = bilm.layers(table, batch.rows, batch.lengths.tolist(), start)
    return _cut(layers, sentences)


def run_carried(
    bilm: BiLm, indexer: TokenIndexer, sentences: Sentences, state: BiLmState
) -> tuple[list[np.ndarray], BiLmState]:
    """The same, each sentence going on from its row of ``state``."""
    with torch.no_grad():
        batch = batch_tokens(sentences, indexer)
        table = bilm.encoder(batch.ids)
        output = bilm.carry(table, batch.rows, batch.lengths.tolist(), state)
    return _cut(output.layers, sentences), output.state


def _cut(layers: torch.Tensor, sentences: Sentences) -> list[np.ndarray]:
    pairs = zip(layers.numpy(), sentences, strict=True)
    return [one[:, : len(sentence)] for one, sentence in pairs]
