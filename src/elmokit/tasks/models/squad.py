"""Question answering: BiDAF with self-attention (a simplified Clark and Gardner 2017).

context, question: [word; characters; ELMo] -> shared biGRU -> [h; ELMo']
-> attention between context and question (BiDAF) -> linear + ReLU
-> residual: biGRU, attention of the context with itself, linear + ReLU
-> a score for every token to be the answer's first, and its last
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.errors import InputError
from elmokit.model.dropout import VariationalDropout
from elmokit.tasks.data.squad import (
    QaExample,
    TokenSpan,
    answer_spans,
    parse_questions,
    read_squad,
)
from elmokit.tasks.inputs.token_vectors import TokenTensors, TokenVectors
from elmokit.tasks.layers.masked import masked_softmax
from elmokit.tasks.layers.rnn import PackedBiRnn
from elmokit.tasks.metrics.squad import score_answers
from elmokit.tasks.task import Scores, Task

NEVER = torch.finfo(torch.float32).min
SHOWN_TOKENS = 20
"""Context printed on either side of an answer."""


@dataclass(frozen=True)
class SquadConfig:
    """Sizes, dropout and lengths."""

    gru_dim: int
    linear_dim: int
    dropout: float
    max_answer_tokens: int
    max_training_tokens: int
    """A context is cut here while training; predictions always read the whole."""
    every_occurrence: bool
    """Accept any place where the answer's text occurs, as its offset may be a guess."""

    def __post_init__(self) -> None:
        for name in ("gru_dim", "linear_dim", "max_answer_tokens", "max_training_tokens"):
            value = getattr(self, name)
            require(value >= 1, f"model.{name} must be at least 1, got {value}")
        require(0 <= self.dropout < 1, f"model.dropout must lie in [0, 1), got {self.dropout}")


class Found(NamedTuple):
    """An answer: its tokens of the context and how sure the model is of them (0 to 1)."""

    span: TokenSpan | None
    """None only where the context has no token."""
    text: str
    probability: float


class Trilinear(nn.Module):
    """similarity(c, q) = w . [c; q; c * q], for every pair of rows."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        bound = (3 * dim) ** -0.5
        self.first = nn.Parameter(torch.empty(dim).uniform_(-bound, bound))
        self.second = nn.Parameter(torch.empty(dim).uniform_(-bound, bound))
        self.product = nn.Parameter(torch.empty(dim).uniform_(-bound, bound))

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        """(B, T, E), (B, U, E) -> (B, T, U)."""
        alone = (rows @ self.first)[:, :, None] + (columns @ self.second)[:, None, :]
        return alone + (rows * self.product) @ columns.transpose(1, 2)


class BiAttention(nn.Module):
    """BiDAF: what each token of the context says of the question, and the question of all."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.similarity = Trilinear(dim)
        self.output_dim = 4 * dim

    def forward(
        self, context: Tensor, question: Tensor, context_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """(B, T, E), (B, U, E) and their masks (B, T), (B, U) -> (B, T, 4 E)"""
        scores = self.similarity(context, question)  # (B, T, U)
        of_question = masked_softmax(scores, question_mask[:, None, :]) @ question  # (B, T, E)
        best = scores.masked_fill(~question_mask[:, None, :], NEVER).amax(dim=-1)  # (B, T)
        of_context = masked_softmax(best, context_mask)[:, None, :] @ context  # (B, 1, E)
        return torch.cat(
            [context, of_question, context * of_question, context * of_context], dim=-1
        )


class SelfAttention(nn.Module):
    """The context with itself; no token attends to itself."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.similarity = Trilinear(dim)
        self.output_dim = 3 * dim

    def forward(self, context: Tensor, mask: Tensor) -> Tensor:
        """(B, T, E), (B, T) -> (B, T, 3 E)"""
        is_other = ~torch.eye(context.shape[1], dtype=torch.bool, device=context.device)
        weights = masked_softmax(self.similarity(context, context), mask[:, None, :] & is_other)
        others = weights @ context  # (B, T, E)
        return torch.cat([context, others, context * others], dim=-1)


class SquadModel(nn.Module):
    """Finds the span of a context that answers a question."""

    def __init__(self, config: SquadConfig, vectors: TokenVectors, labels: Sequence[str]) -> None:
        super().__init__()
        self.config = config
        self.vectors = vectors
        self.dropout = VariationalDropout(config.dropout)
        self.contextual = PackedBiRnn(vectors.input_dim, config.gru_dim, cell="gru")
        self.attention = BiAttention(vectors.output_dim(self.contextual.output_dim))
        self.merge = nn.Linear(self.attention.output_dim, config.linear_dim)
        self.modelling = PackedBiRnn(config.linear_dim, config.gru_dim, cell="gru")
        self.self_attention = SelfAttention(self.modelling.output_dim)
        self.merge_self = nn.Linear(self.self_attention.output_dim, config.linear_dim)
        self.to_ends = nn.Linear(config.linear_dim, 2)

    def forward(self, context: TokenTensors, question: TokenTensors) -> Tensor:
        """(B, 2, T): log-probabilities of the first token and of the last."""
        seen = self._encode(context), self._encode(question)
        merged = self.attention(*seen, context.mask, question.mask)
        merged = torch.relu(self.merge(self.dropout(merged)))  # (B, T, linear)
        again = self.modelling(self.dropout(merged), context.lengths)
        again = self.self_attention(self.dropout(again), context.mask)
        merged = merged + torch.relu(self.merge_self(self.dropout(again)))
        scores: Tensor = self.to_ends(self.dropout(merged)).transpose(1, 2)  # (B, 2, T)
        return scores.masked_fill(~context.mask[:, None, :], NEVER).log_softmax(dim=-1)

    def _encode(self, tokens: TokenTensors) -> Tensor:
        hidden = self.contextual(self.dropout(self.vectors(tokens)), tokens.lengths)
        return self.vectors.at_output(hidden, tokens)  # (B, T, 2 * gru [+ D])

    def _tensors(self, examples: Sequence[QaExample]) -> tuple[TokenTensors, TokenTensors]:
        return (
            self.vectors.tensors([example.passage.words for example in examples]),
            self.vectors.tensors([example.question_words for example in examples]),
        )

    def loss(self, examples: Sequence[QaExample]) -> Tensor:
        """-log of the probability on right ends: of all right places, where there are several."""
        context, question = self._tensors(examples)
        limit = self.config.max_training_tokens
        log_probabilities: Tensor = self(_cut(context, limit), question)
        is_right = torch.zeros(log_probabilities.shape, dtype=torch.bool)
        for row, example in enumerate(examples):
            for first, last in answer_spans(example, every_occurrence=self.config.every_occurrence):
                if last < limit:
                    is_right[row, 0, first] = is_right[row, 1, last] = True
        has_answer = is_right[:, 0].any(dim=1)  # answers beyond the cut teach nothing
        is_right = is_right.to(log_probabilities.device)[has_answer]
        chosen = log_probabilities[has_answer].masked_fill(~is_right, NEVER)
        return -chosen.logsumexp(dim=-1).sum() / max(int(has_answer.sum()), 1)

    def predict(self, examples: Sequence[QaExample]) -> list[Found]:
        """The likeliest span of each context."""
        context, question = self._tensors(examples)
        log_probabilities = self(context, question)
        spans, scores = best_spans(log_probabilities, self.config.max_answer_tokens)
        results = []
        for example, span, score in zip(examples, spans, scores, strict=True):
            if example.passage.tokens:
                results.append(Found(span, example.text_of(span), score))
            else:
                results.append(Found(None, "", 0.0))
        return results


def best_spans(log_probabilities: Tensor, max_tokens: int) -> tuple[list[TokenSpan], list[float]]:
    """(B, 2, T) -> the likeliest (first, last) with at most ``max_tokens``, and its probability."""
    firsts, lasts = log_probabilities.unbind(dim=1)  # each (B, T)
    num_tokens = firsts.shape[1]
    by_width = torch.full((*firsts.shape, min(max_tokens, num_tokens)), float("-inf"))
    for width in range(by_width.shape[2]):
        total = firsts[:, : num_tokens - width] + lasts[:, width:]
        by_width[:, : num_tokens - width, width] = total.float().cpu()
    scores, places = by_width.flatten(1).max(dim=1)  # (B,)
    chosen = [divmod(place, by_width.shape[2]) for place in places.tolist()]
    return [(first, first + width) for first, width in chosen], scores.exp().tolist()


def _cut(tokens: TokenTensors, limit: int) -> TokenTensors:
    """The first ``limit`` tokens; ELMo has still read the whole."""
    return tokens._replace(
        words=tokens.words[:, :limit],
        spelling=None if tokens.spelling is None else tokens.spelling[:, :limit],
        layers=None if tokens.layers is None else tokens.layers[:, :, :limit],
        lengths=tokens.lengths.clamp(max=limit),
    )


def _expand(_: SquadConfig, examples: Sequence[QaExample]) -> list[QaExample]:
    """The questions that have an answer; the others teach nothing."""
    answered = [example for example in examples if example.answers]
    if examples and not answered:
        raise InputError(
            f"none of the {len(examples):,} training questions (the first is "
            f"{examples[0].name!r}) has an answer; give a file with answers"
        )
    if len(answered) < len(examples):
        print(
            f"{len(examples) - len(answered):,} of {len(examples):,} training questions have no "
            f"answer and are left out",
            file=sys.stderr,
        )
    return answered


def _score(examples: Sequence[QaExample], predictions: Sequence[Found]) -> Scores:
    """Over the questions that have a reference answer."""
    pairs = [pair for pair in zip(examples, predictions, strict=True) if pair[0].answers]
    if not pairs:
        raise InputError(
            f"none of the {len(examples):,} questions to score has an answer; give a file with "
            f"answers"
        )
    found = score_answers(
        [prediction.text for _, prediction in pairs],
        [[answer.text for answer in example.answers] for example, _ in pairs],
    )
    every = {"F1": 100 * found.f1, "exact match": 100 * found.exact_match}
    return Scores(every["F1"], every)


def _render(example: QaExample, found: Found) -> Text:
    """The question, and the answer in brackets among its context."""
    text = Text(example.question.strip(), style="bold")
    text.append("\n  ")
    if found.span is None:
        return text.append("(no text to find an answer in)", style="dim")
    tokens, whole = example.passage.tokens, example.passage.text
    first, last = found.span
    begin, end = max(first - SHOWN_TOKENS, 0), min(last + SHOWN_TOKENS, len(tokens) - 1)
    before = whole[tokens[begin].start : tokens[first].start]
    after = whole[tokens[last].end : tokens[end].end]
    text.append("... " if begin else "").append(_on_one_line(before))
    text.append(f"[{_on_one_line(found.text)}]", style="bold green")
    return text.append(_on_one_line(after)).append(" ..." if end < len(tokens) - 1 else "")


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _to_json(example: QaExample, found: Found) -> dict[str, Any]:
    first, last = found.span or (0, -1)
    tokens = example.passage.tokens
    return {
        "id": example.name,
        "question": example.question,
        "answer": found.text,
        "start": tokens[first].start if found.span else None,
        "end": tokens[last].end if found.span else None,
        "probability": round(found.probability, 6),
    }


TASK = Task(
    name="squad",
    measure="F1",
    unit="questions",
    model_config=SquadConfig,
    read=read_squad,
    parse=parse_questions,
    sentences=lambda example: [example.passage.words, example.question_words],
    labels=lambda examples: [],
    build=SquadModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=Found(None, "", 0.0),
    expand=_expand,
)
