"""Scores of spans and of pairs of spans, for coreference (Lee et al. 2017).

Both nets are linear in the parts of their input, so the first layer is applied to each part once
and the results are added up: no span's vector is built just to be scored. n: tokens of a document,
W: widths, M: kept spans, G: width of a span's vector.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from elmokit.model.dropout import Dropout
from elmokit.tasks.layers.spans import CandidateSpans

DISTANCES = (1, 2, 3, 4, 5, 8, 16, 32, 64)
"""Lower ends of the distance classes, counted in kept spans."""


class EncodedTokens(NamedTuple):
    """The n tokens of a document."""

    inputs: Tensor  # (n, E)
    hidden: Tensor  # (n, 2H)
    attention_logits: Tensor  # (n,): before the softmax over the tokens of a span


class MentionScorer(nn.Module):
    """A feed-forward net over [first; last; attention; width], for every span at once.

    Its first layer is linear in each part, so it is applied to the n tokens and the W widths; the
    spans only add up what it gives. No span's vector is ever built.
    """

    def __init__(
        self, hidden_dim: int, input_dim: int, feature_dim: int, dim: int, dropout: float
    ) -> None:
        """``feature_dim``: of a width's embedding; ``dim``: of the two hidden layers."""
        super().__init__()
        self.of_first = nn.Linear(hidden_dim, dim)
        self.of_last = nn.Linear(hidden_dim, dim, bias=False)
        self.of_head = nn.Linear(input_dim, dim, bias=False)
        self.of_width = nn.Linear(feature_dim, dim, bias=False)
        self.rest = _feed_forward_rest(dim, dropout)

    def forward(
        self, tokens: EncodedTokens, spans: CandidateSpans, heads: Tensor, widths: Tensor
    ) -> Tensor:
        """``heads`` (n, W, W) attention, ``widths`` (W, features) -> (n, W) scores."""
        head = heads @ self.of_head(tokens.inputs)[spans.window]  # (n, W, dim)
        last = self.of_last(tokens.hidden)[spans.window]  # (n, W, dim)
        first = self.of_first(tokens.hidden)[:, None]
        scores: Tensor = self.rest(first + last + head + self.of_width(widths)).squeeze(-1)
        return scores


class AntecedentScorer(nn.Module):
    """A feed-forward net over [g_i; g_j; g_i * g_j; distance], its first layer split likewise."""

    def __init__(self, span_dim: int, feature_dim: int, dim: int, dropout: float) -> None:
        """``feature_dim``: of a distance's embedding; ``dim``: of the two hidden layers."""
        super().__init__()
        self.of_later = nn.Linear(span_dim, dim)
        self.of_earlier = nn.Linear(span_dim, dim, bias=False)
        self.of_product = nn.Linear(span_dim, dim, bias=False)
        self.of_distance = nn.Linear(feature_dim, dim, bias=False)
        self.distances = nn.Embedding(len(DISTANCES), feature_dim)
        self.rest = _feed_forward_rest(dim, dropout)

    def forward(self, spans: Tensor, later: Tensor, earlier: Tensor) -> Tensor:
        """(M, G) vectors; pairs of their numbers, ``later`` and ``earlier`` (p,) -> (p,)."""
        bounds = torch.tensor(DISTANCES[1:], device=later.device)
        distance = torch.bucketize(later - earlier, bounds, right=True)
        together = (
            self.of_product(spans[later] * spans[earlier])
            + self.of_later(spans)[later]
            + self.of_earlier(spans)[earlier]
            + self.of_distance(self.distances.weight)[distance]
        )  # (p, dim)
        scores: Tensor = self.rest(together).squeeze(-1)
        return scores


def _feed_forward_rest(dim: int, dropout: float) -> nn.Sequential:
    """All but the first linear layer of a net with two hidden layers and one output."""
    return nn.Sequential(
        nn.ReLU(), Dropout(dropout), nn.Linear(dim, dim), nn.ReLU(), Dropout(dropout),
        nn.Linear(dim, 1),
    )  # fmt: skip
