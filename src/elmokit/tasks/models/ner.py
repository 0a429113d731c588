"""Named entities: [word; characters; ELMo] -> two biLSTMs -> CRF (Lample 2016, Peters 2017).

NerSentence -> tags B-, I-, E-, S-label and O -> entities (start, end, label)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.model.dropout import Dropout
from elmokit.tasks.data.entities import (
    Entity,
    NerSentence,
    RawSentence,
    bioes_tags,
    entities_of,
    parse_sentences,
    read_entities,
)
from elmokit.tasks.inputs.token_vectors import TokenTensors, TokenVectors
from elmokit.tasks.layers.crf import Crf
from elmokit.tasks.layers.rnn import PackedBiRnn
from elmokit.tasks.metrics.entities import entity_f1
from elmokit.tasks.render import bracketed
from elmokit.tasks.task import Scores, Task

Entities = tuple[Entity, ...]


@dataclass(frozen=True)
class NerConfig:
    """Sizes and dropout."""

    hidden_dims: tuple[int, ...]
    """Of each biLSTM, per direction."""
    dropout: float
    """At the input of every biLSTM."""

    def __post_init__(self) -> None:
        require(len(self.hidden_dims) > 0, "model.hidden_dims must name at least one layer")
        require(0 <= self.dropout < 1, f"model.dropout must lie in [0, 1), got {self.dropout}")


class NerModel(nn.Module):
    """Tags sentences; K is the number of tags."""

    def __init__(self, config: NerConfig, vectors: TokenVectors, labels: list[str]) -> None:
        super().__init__()
        self.vectors = vectors
        self.tags = ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BIES")]
        self.tag_ids = {tag: number for number, tag in enumerate(self.tags)}
        self.dropout = Dropout(config.dropout)
        dims = [vectors.input_dim, *(2 * dim for dim in config.hidden_dims)]
        self.layers = nn.ModuleList(
            PackedBiRnn(below, dim) for below, dim in zip(dims, config.hidden_dims, strict=False)
        )
        self.emit = nn.Linear(vectors.output_dim(dims[-1]), len(self.tags))
        self.crf = Crf(
            len(self.tags),
            starts=torch.tensor([_may_follow("O", tag) for tag in self.tags]),
            steps=torch.tensor([[_may_follow(a, b) for b in self.tags] for a in self.tags]),
            ends=torch.tensor([_may_follow(tag, "O") for tag in self.tags]),
        )

    def loss(self, examples: Sequence[NerSentence]) -> Tensor:
        """Mean negative log-likelihood of the tags under the CRF."""
        tensors = self.vectors.tensors([example.tokens for example in examples])
        tags = torch.zeros_like(tensors.words)  # (B, T)
        for number, example in enumerate(examples):
            names = bioes_tags(example.entities, len(example.tokens))
            tags[number, : len(names)] = torch.tensor([self.tag_ids[name] for name in names])
        likelihood: Tensor = self.crf(self._emissions(tensors), tags, tensors.mask)  # (B,)
        return -likelihood.mean()

    def predict(self, examples: Sequence[NerSentence]) -> list[Entities]:
        """The entities of each sentence, by Viterbi."""
        tensors = self.vectors.tensors([example.tokens for example in examples])
        paths = self.crf.decode(self._emissions(tensors), tensors.mask)
        return [entities_of([self.tags[tag] for tag in path]) for path in paths]

    def _emissions(self, tensors: TokenTensors) -> Tensor:
        """(B, T, K)"""
        hidden = self.vectors(tensors)
        for layer in self.layers:
            hidden = layer(self.dropout(hidden), tensors.lengths)
        emissions: Tensor = self.emit(self.vectors.at_output(hidden, tensors))
        return emissions


def _may_follow(before: str, after: str) -> bool:
    """In BIOES, an open entity continues, with its own label, until it ends."""
    is_open = before[0] in "BI"
    goes_on = after[0] in "IE"
    return is_open == goes_on and (not is_open or before[2:] == after[2:])


def _labels(sentences: Sequence[NerSentence]) -> list[str]:
    return sorted({entity.label for sentence in sentences for entity in sentence.entities})


def _score(sentences: Sequence[NerSentence], predicted: Sequence[Entities]) -> Scores:
    return entity_f1([sentence.entities for sentence in sentences], predicted)


def _render(sentence: NerSentence, entities: Entities) -> Text:
    return bracketed(sentence.tokens, entities)


def _to_json(sentence: NerSentence, entities: Entities) -> dict[str, Any]:
    """Entities by token; in raw text, by character too."""
    rows = [
        {**entity._asdict(), "text": " ".join(sentence.tokens[entity.start : entity.end])}
        for entity in entities
    ]
    if isinstance(sentence, RawSentence):
        for row, entity in zip(rows, entities, strict=True):
            first, end = sentence.offsets[entity.start][0], sentence.offsets[entity.end - 1][1]
            row |= {"text": sentence.text[first:end], "start_char": first, "end_char": end}
    return {"tokens": list(sentence.tokens), "entities": rows}


TASK: Task[NerSentence, Entities] = Task(
    name="ner",
    measure="F1",
    unit="sentences",
    model_config=NerConfig,
    read=read_entities,
    parse=parse_sentences,
    sentences=lambda sentence: [sentence.tokens],
    labels=_labels,
    build=NerModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=(),
)
