"""What two tools know of a context: the vectors of its words, and a linear map that tells them."""

import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.pretrain.config import read_recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.initial_weights import first_context_loss
from elmokit.weights.pretrained import PretrainedModel

RIDGE = 0.01


class ContextWords:
    """The vectors of a vocabulary's words, by how much each counts in ``train.context``."""

    def __init__(self, model: PretrainedModel, corpus: Corpus, vectors: str) -> None:
        if model.output_words is None:
            raise InputError(f"{model.source}: has no softmax; export the model with it")
        settings = ["train.context=1", f"train.vectors={vectors}"]
        loss = first_context_loss(read_recipe("small", settings), corpus)
        assert loss is not None
        self._vectors = loss.weighted_vectors(model.output_words.softmax.weight.detach(), None)
        self._rows = {word: number for number, word in enumerate(corpus.vocabulary.words)}

    def of(self, sentence: list[str]) -> Tensor:
        """(T, E); zeros for a word that is not in the vocabulary."""
        nothing = torch.zeros_like(self._vectors[0])
        rows = map(self._rows.get, sentence)
        return torch.stack([nothing if row is None else self._vectors[row] for row in rows])


def linear_map(inputs: Tensor, goals: Tensor) -> tuple[Tensor, Tensor]:
    """The map (P, E) from ``inputs`` (N, P), which are centred, to ``goals``; their covariance."""
    covariance = inputs.T @ inputs / len(inputs)
    ridge = RIDGE * covariance.diagonal().mean() * torch.eye(len(covariance))
    return torch.linalg.solve(covariance + ridge, inputs.T @ goals / len(inputs)), covariance
