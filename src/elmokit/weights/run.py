"""Run a model over a few sentences as plainly as can be: for warming and for verifying.

``elmokit.embed`` is what runs many sentences quickly.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from elmokit.model.bilm import BiLmState
from elmokit.model.elmo import batch_tokens
from elmokit.weights.pretrained import PretrainedModel

Layers = npt.NDArray[np.float32]  # (L + 1, T, D)
Sentences = Sequence[Sequence[str]]


class Carried(NamedTuple):
    layers: list[Layers]
    state: BiLmState


@torch.no_grad()
def fresh_layers(
    model: PretrainedModel, sentences: Sentences, start: BiLmState | None = None
) -> list[Layers]:
    """Each sentence on its own, from zeros or from ``start``."""
    batch = batch_tokens(sentences, model.indexer)
    lengths = batch.lengths.tolist()
    table = model.bilm.encoder(batch.ids)
    layers = model.bilm(table, batch.rows, lengths, start=start).layers.numpy()
    return [layers[row, :, :length] for row, length in enumerate(lengths)]


@torch.no_grad()
def carried_layers(model: PretrainedModel, sentences: Sentences, state: BiLmState) -> Carried:
    """Each sentence goes on from its row of ``state``."""
    batch = batch_tokens(sentences, model.indexer)
    lengths = batch.lengths.tolist()
    table = model.bilm.encoder(batch.ids)
    output = model.bilm(table, batch.rows, lengths, carried=state)
    layers = output.layers.numpy()
    return Carried([layers[row, :, :length] for row, length in enumerate(lengths)], output.state)
