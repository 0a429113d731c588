"""Semantic roles (He et al. 2017): who did what to whom, one predicate at a time.

    [word; ELMo] and "is this the predicate" -> 8 interleaved highway LSTMs -> BIO tags

The tags of a token are scored each on its own; Viterbi keeps them a well-formed BIO sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.model.dropout import VariationalDropout
from elmokit.model.packing import pack
from elmokit.tasks.data.roles import RoleExample, parse_roles, read_roles
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.layers.highway_lstm import InterleavedLstm
from elmokit.tasks.layers.viterbi import BioViterbi
from elmokit.tasks.metrics.roles import PREDICATE, score_roles, spans_of
from elmokit.tasks.render import bracketed
from elmokit.tasks.task import Scores, Task

Tags = tuple[str, ...]
OUTSIDE = "O"


@dataclass(frozen=True)
class SrlConfig:
    """Sizes and dropouts."""

    hidden_dim: int
    num_layers: int
    predicate_dim: int
    """Width of the embedding that marks the predicate."""
    recurrent_dropout: float
    input_dropout: float

    def __post_init__(self) -> None:
        for name in ("hidden_dim", "num_layers", "predicate_dim"):
            value = getattr(self, name)
            require(value >= 1, f"model.{name} must be at least 1, got {value}")
        for name in ("recurrent_dropout", "input_dropout"):
            value = getattr(self, name)
            require(0 <= value < 1, f"model.{name} must lie in [0, 1), got {value}")


class SrlModel(nn.Module):
    """Tags one predicate of one sentence; N is the number of tags."""

    def __init__(self, config: SrlConfig, vectors: TokenVectors, labels: Sequence[str]) -> None:
        super().__init__()
        self.vectors = vectors
        self.labels = list(labels)
        self.number_of = {tag: number for number, tag in enumerate(self.labels)}
        self.is_predicate = nn.Embedding(2, config.predicate_dim)
        self.dropout = VariationalDropout(config.input_dropout)
        self.encoder = InterleavedLstm(
            vectors.input_dim + config.predicate_dim,
            config.hidden_dim,
            config.num_layers,
            config.recurrent_dropout,
        )
        self.to_tags = nn.Linear(vectors.output_dim(config.hidden_dim), len(self.labels))
        self.viterbi = BioViterbi(self.labels)

    def forward(self, examples: Sequence[RoleExample]) -> Tensor:
        """(B, T, N) scores of the tags."""
        tensors = self.vectors.tensors([example.tokens for example in examples])
        marks = torch.zeros_like(tensors.words)  # (B, T)
        for row, example in enumerate(examples):
            marks[row, example.predicate] = 1
        inputs = torch.cat([self.vectors(tensors), self.is_predicate(marks)], dim=-1)
        packing = pack(tensors.lengths.tolist(), marks.shape[1], marks.device)
        hidden = self.encoder(self.dropout(inputs), packing)  # (B, T, H)
        scores: Tensor = self.to_tags(self.vectors.at_output(hidden, tensors))
        return scores

    def loss(self, examples: Sequence[RoleExample]) -> Tensor:
        """Mean cross-entropy of the tags."""
        scores = self(examples)
        nowhere = -1
        gold = torch.full(scores.shape[:2], nowhere)
        for row, example in enumerate(examples):
            assert example.tags is not None
            gold[row, : len(example.tags)] = torch.tensor([self.number_of[t] for t in example.tags])
        return nn.functional.cross_entropy(
            scores.flatten(0, 1), gold.flatten().to(scores.device), ignore_index=nowhere
        )

    def predict(self, examples: Sequence[RoleExample]) -> list[Tags]:
        """The best well-formed tags of each example."""
        lengths = [len(example.tokens) for example in examples]
        paths = self.viterbi.decode(self(examples), lengths)
        return [tuple(self.labels[number] for number in path) for path in paths]


def _labels(examples: Sequence[RoleExample]) -> list[str]:
    """Every tag of the training examples; O, and B-X for every I-X, even if none is there."""
    tags = {tag for example in examples for tag in example.tags or ()}
    begins = {f"B-{tag[2:]}" for tag in tags if tag.startswith("I-")}
    return sorted(tags | begins | {OUTSIDE})


def _score(examples: Sequence[RoleExample], predictions: Sequence[Tags]) -> Scores:
    found = score_roles((example.tags or () for example in examples), predictions)
    every = {
        "F1": 100 * found.f1,
        "precision": 100 * found.precision,
        "recall": 100 * found.recall,
    }
    return Scores(every["F1"], every)


def _render(example: RoleExample, tags: Tags) -> Text:
    spans = [(span.first, span.last + 1, span.label) for span in spans_of(tags)]
    if tags[example.predicate] == OUTSIDE:  # the model missed it; people still want to know
        spans.append((example.predicate, example.predicate + 1, PREDICATE))
    return bracketed(example.tokens, spans)


def _to_json(example: RoleExample, tags: Tags) -> dict[str, Any]:
    return {
        "tokens": list(example.tokens),
        "predicate": example.predicate if example.tokens else None,
        "spans": [
            {
                "start": span.first,
                "end": span.last + 1,
                "label": span.label,
                "text": " ".join(example.tokens[span.first : span.last + 1]),
            }
            for span in spans_of(tags)
        ],
    }


TASK: Task[RoleExample, Tags] = Task(
    name="srl",
    measure="F1",
    unit="predicates",
    model_config=SrlConfig,
    read=read_roles,
    parse=parse_roles,
    sentences=lambda example: [example.tokens],
    labels=_labels,
    build=SrlModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=(),
)
