"""Entailment: ESIM (Chen et al. 2017), does the premise entail the hypothesis?

a, b = biLSTM of premise and of hypothesis           one biLSTM for both
a~_i = sum_j softmax_j(a_i . b_j) b_j                what of b answers a_i; and the mirror, b~
[a; a~; a - a~; a * a~] -> projection -> biLSTM -> mean and max pooling -> classifier
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.model.dropout import Dropout, VariationalDropout
from elmokit.tasks.data.entailment import SentencePair, parse_pairs, read_entailment
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.layers.labels import Label, likeliest
from elmokit.tasks.layers.masked import masked_max, masked_mean, masked_softmax
from elmokit.tasks.layers.rnn import PackedBiRnn
from elmokit.tasks.metrics.accuracy import accuracy
from elmokit.tasks.render import labelled
from elmokit.tasks.task import Scores, Task


@dataclass(frozen=True)
class EsimConfig:
    """Sizes and dropout."""

    hidden_dim: int
    """Of both biLSTMs (per direction), the projection and the classifier."""
    dropout: float

    def __post_init__(self) -> None:
        require(0 <= self.dropout < 1, f"model.dropout must lie in [0, 1), got {self.dropout}")


class EsimModel(nn.Module):
    """Classifies pairs of sentences."""

    def __init__(self, config: EsimConfig, vectors: TokenVectors, labels: list[str]) -> None:
        super().__init__()
        self.vectors = vectors
        self.labels = labels
        self.label_ids = {label: number for number, label in enumerate(labels)}
        hidden_dim = config.hidden_dim
        self.drop_tokens = VariationalDropout(config.dropout)
        self.encoder = PackedBiRnn(vectors.input_dim, hidden_dim)
        encoded_dim = vectors.output_dim(self.encoder.output_dim)
        self.project = nn.Linear(4 * encoded_dim, hidden_dim)
        self.compose = PackedBiRnn(hidden_dim, hidden_dim)
        self.classify = nn.Sequential(
            Dropout(config.dropout),
            nn.Linear(4 * self.compose.output_dim, hidden_dim),
            nn.Tanh(),
            Dropout(config.dropout),
            nn.Linear(hidden_dim, len(labels)),
        )

    def loss(self, examples: Sequence[SentencePair]) -> Tensor:
        """Mean cross-entropy."""
        gold = torch.tensor([self.label_ids[example.label] for example in examples])
        return nn.functional.cross_entropy(self._logits(examples), gold.to(self.vectors.device))

    def predict(self, examples: Sequence[SentencePair]) -> list[Label]:
        """The likeliest label of each pair."""
        return likeliest(self._logits(examples), self.labels)

    def _logits(self, examples: Sequence[SentencePair]) -> Tensor:
        """(B, K). Premises and hypotheses go through every shared layer as one batch of 2B."""
        sentences = [pair.premise for pair in examples] + [pair.hypothesis for pair in examples]
        tensors = self.vectors.tensors(sentences)
        mask = tensors.mask  # (2B, T)
        encoded = self.encoder(self.drop_tokens(self.vectors(tensors)), tensors.lengths)
        encoded = self.vectors.at_output(encoded, tensors)  # (2B, T, E)
        a, b = encoded.chunk(2)
        scores = a @ b.transpose(1, 2)  # (B, T, T)
        aligned = torch.cat(
            [
                masked_softmax(scores, mask[len(examples) :, None, :]) @ b,
                masked_softmax(scores.transpose(1, 2), mask[: len(examples), None, :]) @ a,
            ]
        )  # (2B, T, E)
        compared = encoded.new_zeros(*mask.shape, self.project.out_features)
        compared[mask] = self._compare(encoded[mask], aligned[mask])
        composed = self.compose(self.drop_tokens(compared), tensors.lengths)
        pooled = torch.cat([masked_mean(composed, mask), masked_max(composed, mask)], dim=-1)
        logits: Tensor = self.classify(torch.cat(pooled.chunk(2), dim=-1))
        return logits

    def _compare(self, x: Tensor, aligned: Tensor) -> Tensor:
        """relu(W [x; x~; x - x~; x * x~] + b), the difference's columns added to the others'."""
        of_x, of_aligned, of_difference, of_product = self.project.weight.chunk(4, dim=1)
        linear = nn.functional.linear
        return torch.relu(
            linear(x, of_x + of_difference, self.project.bias)
            + linear(aligned, of_aligned - of_difference)
            + linear(x * aligned, of_product)
        )


def _score(pairs: Sequence[SentencePair], predicted: Sequence[Label]) -> Scores:
    return accuracy([pair.label for pair in pairs], [found.label for found in predicted])


def _render(pair: SentencePair, found: Label) -> Text:
    return labelled(*found.best, f"{' '.join(pair.premise)}  =>  {' '.join(pair.hypothesis)}")


def _to_json(pair: SentencePair, found: Label) -> dict[str, Any]:
    return {
        "premise": " ".join(pair.premise),
        "hypothesis": " ".join(pair.hypothesis),
        **found._asdict(),
    }


TASK = Task(
    name="entailment",
    measure="accuracy",
    unit="pairs",
    model_config=EsimConfig,
    read=read_entailment,
    parse=parse_pairs,
    sentences=lambda pair: [pair.premise, pair.hypothesis],
    labels=lambda pairs: sorted({pair.label for pair in pairs}),
    build=EsimModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=Label("", {}),
)
