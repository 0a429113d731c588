"""Sentiment: the biattentive classification network, BCN (McCann et al. 2017).

[word; ELMo] -> ReLU layer -> biLSTM -> x
c = softmax(x x^T) x                       each token attends to the whole text
[x; x - c; x * c] -> biLSTM -> max, mean, min and self-attentive pooling -> maxout -> classes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.model.dropout import Dropout
from elmokit.tasks.data.sentiment import SentimentText, parse_texts, read_sentiment
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.layers.labels import Label, likeliest
from elmokit.tasks.layers.masked import masked_max, masked_mean, masked_softmax
from elmokit.tasks.layers.rnn import PackedBiRnn
from elmokit.tasks.metrics.accuracy import accuracy
from elmokit.tasks.render import labelled
from elmokit.tasks.task import Scores, Task


@dataclass(frozen=True)
class BcnConfig:
    """Sizes and dropouts."""

    hidden_dim: int
    """Of the ReLU layer and of both biLSTMs, per direction."""
    maxout_dims: tuple[int, ...]
    maxout_pool: int
    """Linear pieces of which each maxout unit takes the greatest."""
    input_dropout: float
    maxout_dropout: float
    min_phrase_tokens: int
    """Train on the phrases of the trees too, from this length on; 0: on whole sentences only."""

    def __post_init__(self) -> None:
        for name in ("input_dropout", "maxout_dropout"):
            value = getattr(self, name)
            require(0 <= value < 1, f"model.{name} must lie in [0, 1), got {value}")
        require(self.min_phrase_tokens >= 0, "model.min_phrase_tokens must not be negative")


class Maxout(nn.Module):
    """(B, E) -> (B, output_dim): each unit is the greatest of ``pool`` linear ones."""

    def __init__(self, input_dim: int, output_dim: int, pool: int) -> None:
        super().__init__()
        self.linear = nn.Linear(input_dim, output_dim * pool)
        self.pool = pool

    def forward(self, inputs: Tensor) -> Tensor:
        """(B, E) -> (B, output_dim)"""
        pieces: Tensor = self.linear(inputs)
        return pieces.view(len(pieces), -1, self.pool).amax(dim=-1)


class BcnModel(nn.Module):
    """Classifies texts."""

    def __init__(self, config: BcnConfig, vectors: TokenVectors, labels: list[str]) -> None:
        super().__init__()
        self.vectors = vectors
        self.labels = labels
        self.label_ids = {label: number for number, label in enumerate(labels)}
        self.dropout = Dropout(config.input_dropout)
        self.feed = nn.Linear(vectors.input_dim, config.hidden_dim)
        self.encoder = PackedBiRnn(config.hidden_dim, config.hidden_dim)
        encoded_dim = vectors.output_dim(self.encoder.output_dim)
        self.integrator = PackedBiRnn(3 * encoded_dim, config.hidden_dim)
        self.attend = nn.Linear(self.integrator.output_dim, 1)
        pieces: list[nn.Module] = []
        dim = 4 * self.integrator.output_dim
        for wider in config.maxout_dims:
            pieces += [Dropout(config.maxout_dropout), Maxout(dim, wider, config.maxout_pool)]
            dim = wider
        self.classify = nn.Sequential(*pieces, nn.Linear(dim, len(labels)))

    def loss(self, examples: Sequence[SentimentText]) -> Tensor:
        """Mean cross-entropy."""
        gold = torch.tensor([self.label_ids[example.label] for example in examples])
        return nn.functional.cross_entropy(self._logits(examples), gold.to(self.vectors.device))

    def predict(self, examples: Sequence[SentimentText]) -> list[Label]:
        """The likeliest label of each text."""
        return likeliest(self._logits(examples), self.labels)

    def _logits(self, examples: Sequence[SentimentText]) -> Tensor:
        """(B, K)"""
        tensors = self.vectors.tensors([example.tokens for example in examples])
        mask = tensors.mask  # (B, T)
        inputs = torch.relu(self.feed(self.dropout(self.vectors(tensors))))
        x = self.encoder(self.dropout(inputs), tensors.lengths)
        x = self.vectors.at_output(x, tensors)  # (B, T, E)
        attention = masked_softmax(x @ x.transpose(1, 2), mask[:, None, :])  # (B, T, T)
        c = attention @ x
        joined = torch.cat([x, x - c, x * c], dim=-1)
        y = self.integrator(self.dropout(joined), tensors.lengths)  # (B, T, 2H)
        focus = masked_softmax(self.attend(y)[:, :, 0], mask)  # (B, T)
        pooled = [
            masked_max(y, mask),
            masked_mean(y, mask),
            -masked_max(-y, mask),
            torch.einsum("bt,bte->be", focus, y),
        ]
        logits: Tensor = self.classify(torch.cat(pooled, dim=-1))
        return logits


def _expand(config: BcnConfig, texts: Sequence[SentimentText]) -> list[SentimentText]:
    """Sentences, and their phrases if the config asks for them; each text and label once."""
    found = dict.fromkeys(text._replace(phrases=()) for text in texts)
    if config.min_phrase_tokens:
        for text in texts:
            for start, end, label in text.phrases:
                if end - start >= config.min_phrase_tokens:
                    found[SentimentText(text.tokens[start:end], label)] = None
    return list(found)


def _score(texts: Sequence[SentimentText], predicted: Sequence[Label]) -> Scores:
    return accuracy([text.label for text in texts], [found.label for found in predicted])


def _render(text: SentimentText, found: Label) -> Text:
    return labelled(*found.best, " ".join(text.tokens))


def _to_json(text: SentimentText, found: Label) -> dict[str, Any]:
    return {"text": " ".join(text.tokens), **found._asdict()}


TASK = Task(
    name="sentiment",
    measure="accuracy",
    unit="texts",
    model_config=BcnConfig,
    read=read_sentiment,
    parse=parse_texts,
    sentences=lambda text: [text.tokens],
    labels=lambda texts: sorted({text.label for text in texts}),
    build=BcnModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=Label("", {}),
    expand=_expand,
)
