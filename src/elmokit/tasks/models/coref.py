"""Coreference by ranking spans, end to end (Lee et al. 2017).

    sentences: [word; characters; ELMo] -> biLSTM
    every span of at most 10 tokens: [first; last; attention over its tokens; width] -> mention
    score; the best 0.4 spans per token are kept
    every kept span and each of the K before it: antecedent score; or none, with score 0

Trained on the marginal probability of all right antecedents. n: tokens of a document, W: widths,
M: kept spans, K: antecedents, G: width of a span's vector.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.config import require
from elmokit.embed.chunks import cut_batches
from elmokit.model.dropout import VariationalDropout
from elmokit.tasks.data.coreference import (
    CorefDocument,
    Mention,
    excerpt,
    parse_documents,
    read_coreference,
    without_singletons,
)
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.layers.rnn import PackedBiRnn
from elmokit.tasks.layers.span_scorers import AntecedentScorer, EncodedTokens, MentionScorer
from elmokit.tasks.layers.spans import CandidateSpans, candidate_spans, prune
from elmokit.tasks.metrics.coreference import score_coreference
from elmokit.tasks.render import colour_of
from elmokit.tasks.task import Scores, Task

Clusters = tuple[tuple[Mention, ...], ...]

PADDED_TOKENS = 16_384
"""Sentences go through the biLSTM in groups of at most this many tokens, padding included."""
PAIRS_AT_ONCE = 40_000
"""Pairs of spans scored at once where no gradient is kept: bounds memory on long documents."""


@dataclass(frozen=True)
class CorefConfig:
    """Sizes and dropouts."""

    lstm_dim: int
    feature_dim: int
    """Width of the embeddings of span widths and of distances."""
    ffnn_dim: int
    max_span_width: int
    spans_per_token: float
    max_antecedents: int
    max_training_sentences: int
    """A longer document is cut, while training, to this many sentences at a random place."""
    mention_loss: float
    """How much the mention scores are also trained on their own to tell mentions from other
    spans. The paper has none: a gold mention that is pruned away then teaches nothing, which
    thousands of documents make up for, and a hundred do not."""
    input_dropout: float
    lstm_dropout: float
    ffnn_dropout: float

    def __post_init__(self) -> None:
        for name in ("lstm_dim", "feature_dim", "ffnn_dim", "max_span_width", "max_antecedents"):
            value = getattr(self, name)
            require(value >= 1, f"model.{name} must be at least 1, got {value}")
        for name in ("max_training_sentences", "spans_per_token"):
            value = getattr(self, name)
            require(value > 0, f"model.{name} must be positive, got {value}")
        for name in ("input_dropout", "lstm_dropout", "ffnn_dropout"):
            value = getattr(self, name)
            require(0 <= value < 1, f"model.{name} must lie in [0, 1), got {value}")


class KeptSpans(NamedTuple):
    """Candidate mentions after pruning, in the document's order."""

    first: Tensor  # (M,)
    last: Tensor  # (M,)
    scores: Tensor  # (M,): mention scores
    vectors: Tensor  # (M, G)


class AntecedentRanking(NamedTuple):
    """What the model thinks of a document."""

    mention_scores: Tensor  # (n, W): of every candidate span, by first token and width
    is_span: Tensor  # (n, W)
    spans: KeptSpans
    antecedents: Tensor  # (M, K): numbers of earlier spans
    scores: Tensor  # (M, K + 1): the first column is "no antecedent"; -inf where there is none


class CorefModel(nn.Module):
    """Ranks the earlier spans of every span as its antecedents."""

    def __init__(self, config: CorefConfig, vectors: TokenVectors, labels: Sequence[str]) -> None:
        super().__init__()
        self.config = config
        self.vectors = vectors
        self.input_dropout = VariationalDropout(config.input_dropout)
        self.lstm_dropout = VariationalDropout(config.lstm_dropout)
        self.encoder = PackedBiRnn(vectors.input_dim, config.lstm_dim)
        hidden_dim = vectors.output_dim(self.encoder.output_dim)
        self.attention_logit = nn.Sequential(
            nn.Linear(hidden_dim, config.ffnn_dim), nn.ReLU(), nn.Linear(config.ffnn_dim, 1)
        )
        self.widths = nn.Embedding(config.max_span_width, config.feature_dim)
        sizes = config.feature_dim, config.ffnn_dim, config.ffnn_dropout
        self.mention_scorer = MentionScorer(hidden_dim, vectors.input_dim, *sizes)
        span_dim = 2 * hidden_dim + vectors.input_dim + config.feature_dim
        self.antecedent_scorer = AntecedentScorer(span_dim, *sizes)

    def forward(self, document: CorefDocument) -> AntecedentRanking | None:
        """None for a document without tokens."""
        sentences = [sentence for sentence in document.sentences if sentence]
        if not sentences:
            return None
        tokens = self._encode(sentences)
        lengths = [len(sentence) for sentence in sentences]
        device = tokens.hidden.device
        candidates = CandidateSpans(
            *(part.to(device) for part in candidate_spans(lengths, self.config.max_span_width))
        )
        heads = self._heads(tokens, candidates)
        mention_scores = self.mention_scorer(tokens, candidates, heads, self.widths.weight)
        spans = self._keep(tokens, candidates, heads, mention_scores)
        num_spans = len(spans.first)
        back = torch.arange(1, min(self.config.max_antecedents, max(num_spans - 1, 1)) + 1)
        antecedents = (torch.arange(num_spans)[:, None] - back).to(device)  # (M, K): nearest first
        exists = antecedents >= 0
        later, earlier = exists.nonzero()[:, 0], antecedents[exists]
        pairs = spans.scores[later] + spans.scores[earlier]
        pairs = pairs + self._antecedent_scores(spans.vectors, later, earlier)
        scores = torch.full_like(exists, float("-inf"), dtype=pairs.dtype)
        scores = scores.masked_scatter(exists, pairs)
        ranked = torch.cat([scores.new_zeros(num_spans, 1), scores], dim=1)
        return AntecedentRanking(
            mention_scores, candidates.is_span, spans, antecedents.clamp(min=0), ranked
        )

    def _antecedent_scores(self, spans: Tensor, later: Tensor, earlier: Tensor) -> Tensor:
        at_once = max(len(later), 1) if torch.is_grad_enabled() else PAIRS_AT_ONCE
        parts = zip(later.split(at_once), earlier.split(at_once), strict=True)  # type: ignore[no-untyped-call]
        return torch.cat([self.antecedent_scorer(spans, *part) for part in parts])

    def _encode(self, sentences: Sequence[Sequence[str]]) -> EncodedTokens:
        inputs, hidden = [], []
        lengths = [len(sentence) for sentence in sentences]
        for group in cut_batches(range(len(sentences)), lengths, PADDED_TOKENS):
            tensors = self.vectors.tensors([sentences[number] for number in group])
            vectors = self.input_dropout(self.vectors(tensors))  # (B, T, E)
            states = self.lstm_dropout(self.encoder(vectors, tensors.lengths))  # (B, T, 2H)
            states = self.vectors.at_output(states, tensors)
            inputs.append(vectors[tensors.mask])
            hidden.append(states[tensors.mask])
        states = torch.cat(hidden)
        return EncodedTokens(torch.cat(inputs), states, self.attention_logit(states).squeeze(-1))

    def _heads(self, tokens: EncodedTokens, spans: CandidateSpans) -> Tensor:
        """(n, W, W): attention of every span over its tokens; one of width w, over the first w."""
        max_width = self.config.max_span_width
        within = torch.ones(
            max_width, max_width, dtype=torch.bool, device=tokens.attention_logits.device
        )
        logits = tokens.attention_logits[spans.window][:, None, :]  # (n, 1, W)
        return logits.masked_fill(~within.tril(), float("-inf")).softmax(dim=-1)

    def _keep(
        self, tokens: EncodedTokens, spans: CandidateSpans, heads: Tensor, scores: Tensor
    ) -> KeptSpans:
        num_kept = max(int(self.config.spans_per_token * len(tokens.hidden)), 1)
        first, width = prune(scores, spans.is_span, num_kept)
        last = first + width
        inside = tokens.inputs[spans.window[first]]  # (M, W, E)
        head = torch.einsum("mw,mwe->me", heads[first, width], inside)
        vectors = torch.cat(
            [tokens.hidden[first], tokens.hidden[last], head, self.widths(width)], dim=-1
        )
        return KeptSpans(first, last, scores[first, width], vectors)

    def loss(self, examples: Sequence[CorefDocument]) -> Tensor:
        """The mean over documents."""
        losses = [self._document_loss(self._excerpt(document)) for document in examples]
        return torch.stack(losses).mean()

    def _excerpt(self, document: CorefDocument) -> CorefDocument:
        limit = self.config.max_training_sentences
        num_places = len(document.sentences) - limit + 1
        if num_places <= 1:
            return document
        return excerpt(document, int(torch.randint(num_places, ())), limit)

    def _document_loss(self, document: CorefDocument) -> Tensor:
        """A kept span's -log(probability of its right antecedents, or of none), on average."""
        ranking: AntecedentRanking | None = self(document)
        if ranking is None:
            return sum((p.sum() * 0 for p in self.parameters()), torch.zeros(()))
        is_right = right_antecedents(ranking, document.clusters)
        right = ranking.scores.masked_fill(~is_right, float("-inf"))
        losses = ranking.scores.logsumexp(dim=1) - right.logsumexp(dim=1)  # (M,)
        total = losses.sum()
        if self.config.mention_loss:
            total = total + self.config.mention_loss * mention_loss(ranking, document.clusters)
        return total / len(losses)

    def predict(self, examples: Sequence[CorefDocument]) -> list[Clusters]:
        """The clusters of each document."""
        rankings = [self(document) for document in examples]
        return [() if ranking is None else clusters_of(ranking) for ranking in rankings]


def mention_loss(ranking: AntecedentRanking, clusters: Clusters) -> Tensor:
    """Cross-entropy of every candidate span as a mention or none, summed."""
    is_mention = torch.zeros_like(ranking.is_span)
    for first, last in (mention for cluster in clusters for mention in cluster):
        if last - first < is_mention.shape[1]:
            is_mention[first, last - first] = True
    losses = nn.functional.binary_cross_entropy_with_logits(
        ranking.mention_scores, is_mention.float(), reduction="none"
    )
    return losses[ranking.is_span].sum()


def right_antecedents(ranking: AntecedentRanking, clusters: Clusters) -> Tensor:
    """(M, K + 1): earlier mentions of the same entity; where there is none, the first column."""
    cluster_of = {mention: number for number, group in enumerate(clusters) for mention in group}
    spans = zip(ranking.spans.first.tolist(), ranking.spans.last.tolist(), strict=True)
    gold = torch.tensor([cluster_of.get(span, -1) for span in spans])  # (M,)
    gold = gold.to(ranking.scores.device)
    same = (gold[:, None] == gold[ranking.antecedents]) & (gold[:, None] >= 0)
    same &= ranking.scores[:, 1:] > float("-inf")
    return torch.cat([~same.any(dim=1, keepdim=True), same], dim=1)


def clusters_of(ranking: AntecedentRanking) -> Clusters:
    """Every span follows its best antecedent; those that end in one place are one cluster."""
    spans = list(zip(ranking.spans.first.tolist(), ranking.spans.last.tolist(), strict=True))
    best = ranking.scores.argmax(dim=1).tolist()
    antecedents = ranking.antecedents.tolist()
    cluster_of: dict[int, list[Mention]] = {}
    clusters: list[list[Mention]] = []
    for number, choice in enumerate(best):
        if choice == 0:
            continue
        earlier = antecedents[number][choice - 1]
        if earlier not in cluster_of:
            cluster_of[earlier] = [spans[earlier]]
            clusters.append(cluster_of[earlier])
        cluster_of[number] = cluster_of[earlier]
        cluster_of[number].append(spans[number])
    return tuple(sorted(tuple(cluster) for cluster in clusters))


def _read(path: Path) -> list[CorefDocument]:
    return [without_singletons(document) for document in read_coreference(path)]


def _score(examples: Sequence[CorefDocument], predictions: Sequence[Clusters]) -> Scores:
    found = score_coreference((document.clusters for document in examples), predictions)
    every = {
        "mean F1": 100 * found.mean_f1,
        "MUC": 100 * found.muc.f1,
        "B-cubed": 100 * found.b_cubed.f1,
        "CEAF-phi4": 100 * found.ceaf_phi4.f1,
    }
    return Scores(every["mean F1"], every)


def _render(document: CorefDocument, clusters: Clusters) -> Text:
    """The text with mentions in brackets, ``[2 her]``, then each entity's mentions."""
    tokens = document.tokens
    opens: dict[int, list[int]] = {}
    closes: dict[int, int] = {}
    numbered = [(m, number) for number, cluster in enumerate(clusters, 1) for m in cluster]
    for (first, last), number in sorted(numbered, key=lambda item: (item[0][0], -item[0][1])):
        opens.setdefault(first, []).append(number)
        closes[last] = closes.get(last, 0) + 1
    text, place = Text(), 0
    inside: list[int] = []
    for sentence in document.sentences:
        for number_in_sentence, token in enumerate(sentence):
            text.append(" " if number_in_sentence else "")
            for number in opens.get(place, []):
                inside.append(number)
                text.append(f"[{number} ", style=colour_of(str(number)))
            text.append(token, style=colour_of(str(inside[-1])) if inside else "")
            for _ in range(closes.get(place, 0)):
                text.append("]", style=colour_of(str(inside.pop())))
            place += 1
        text.append("\n")
    for number, cluster in enumerate(clusters, 1):
        mentions = "; ".join(" ".join(tokens[first : last + 1]) for first, last in cluster)
        text.append(f"{number}: {mentions}\n", style=colour_of(str(number)))
    return text


def _to_json(document: CorefDocument, clusters: Clusters) -> dict[str, Any]:
    return {
        "name": document.name,
        "sentences": [list(sentence) for sentence in document.sentences],
        "clusters": [[list(mention) for mention in cluster] for cluster in clusters],
    }


TASK: Task[CorefDocument, Clusters] = Task(
    name="coref",
    measure="mean F1",
    unit="documents",
    model_config=CorefConfig,
    read=_read,
    parse=parse_documents,
    sentences=lambda document: document.sentences,
    labels=lambda examples: [],
    build=CorefModel,
    score=_score,
    render=_render,
    to_json=_to_json,
    no_answer=(),
)
