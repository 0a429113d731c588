from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from elmokit.embed.embedder import Embedder
from elmokit.tasks.config import CharactersConfig, ElmoConfig, TaskConfig, WordsConfig
from elmokit.tasks.data.coreference import CorefDocument, excerpt
from elmokit.tasks.inputs.layer_cache import ComputedLayers
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import build_word_table
from elmokit.tasks.models import coref
from elmokit.tasks.models.coref import (
    AntecedentRanking,
    CorefModel,
    KeptSpans,
    clusters_of,
    mention_loss,
    right_antecedents,
)

DOCUMENT = CorefDocument(
    "d",
    (("Ann", "saw", "the", "dog"), ("she", "fed", "it"), ("the", "dog", "slept", "well")),
    (((0, 0), (4, 4)), ((2, 3), (6, 6), (7, 8))),
)


def small_model(elmo: Embedder, **settings: object) -> CorefModel:
    sizes = {"lstm_dim": 5, "feature_dim": 3, "ffnn_dim": 7, "max_span_width": 3}
    config = replace(coref.TASK.defaults().model, **{**sizes, "max_antecedents": 4, **settings})
    whole = TaskConfig("coref", config, WordsConfig(dim=6, min_count=1),
                       CharactersConfig(num_filters=4), ElmoConfig("both"))  # fmt: skip
    words = build_word_table(whole.words, DOCUMENT.tokens)
    return CorefModel(config, TokenVectors(whole, words, ComputedLayers(elmo)), []).eval()


def joined(parts: list[nn.Linear], vectors: Tensor) -> Tensor:
    """The first layer as the paper has it: one matrix over the parts side by side."""
    weight = torch.cat([part.weight for part in parts], dim=1)
    return nn.functional.linear(vectors, weight, parts[0].bias)


def test_mention_scores_are_those_of_the_net_over_whole_span_vectors(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo, spans_per_token=9.0)
    ranking = model(DOCUMENT)
    assert ranking is not None
    scorer = model.mention_scorer
    parts = [scorer.of_first, scorer.of_last, scorer.of_head, scorer.of_width]
    expected = scorer.rest(joined(parts, ranking.spans.vectors)).squeeze(-1)
    torch.testing.assert_close(ranking.spans.scores, expected)


def test_span_vectors_are_first_last_attention_and_width(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo, spans_per_token=9.0)
    ranking = model(DOCUMENT)
    assert ranking is not None
    tokens = model._encode(DOCUMENT.sentences)
    spans = list(zip(ranking.spans.first.tolist(), ranking.spans.last.tolist(), strict=True))
    for (first, last), vector in zip(spans, ranking.spans.vectors, strict=True):
        inside = slice(first, last + 1)
        head = tokens.attention_logits[inside].softmax(dim=0) @ tokens.inputs[inside]
        width = model.widths.weight[last - first]
        expected = torch.cat([tokens.hidden[first], tokens.hidden[last], head, width])
        torch.testing.assert_close(vector, expected)


def test_antecedent_scores_are_those_of_the_net_over_whole_pairs(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    spans = torch.randn(6, model.antecedent_scorer.of_later.in_features)
    later, earlier = torch.tensor([5, 5, 3, 3]), torch.tensor([4, 0, 2, 1])
    scorer = model.antecedent_scorer
    parts = [scorer.of_later, scorer.of_earlier, scorer.of_product, scorer.of_distance]
    classes = torch.tensor([0, 4, 0, 1])  # of the distances 1, 5; 1, 2
    pairs = torch.cat(
        [
            spans[later],
            spans[earlier],
            spans[later] * spans[earlier],
            scorer.distances(classes),
        ],
        dim=-1,
    )
    expected = scorer.rest(joined(parts, pairs)).squeeze(-1)
    torch.testing.assert_close(scorer(spans, later, earlier), expected)


def test_scoring_pairs_in_pieces_changes_nothing(
    tiny_elmo: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small_model(tiny_elmo, spans_per_token=2.0)
    with torch.no_grad():
        whole = model(DOCUMENT)
        monkeypatch.setattr(coref, "PAIRS_AT_ONCE", 5)
        monkeypatch.setattr(coref, "PADDED_TOKENS", 5)
        pieces = model(DOCUMENT)
    assert whole is not None and pieces is not None
    torch.testing.assert_close(pieces.scores, whole.scores)


def ranking_of(spans: list[tuple[int, int]], scores: list[list[float]]) -> AntecedentRanking:
    """Scores of none, of the span before, of the one before that ..."""
    first, last = torch.tensor(spans).T
    table = torch.tensor(scores)
    back = torch.arange(1, table.shape[1])
    antecedents = torch.arange(len(spans))[:, None] - back
    table[:, 1:][antecedents < 0] = float("-inf")
    nothing = torch.zeros(len(spans))
    kept = KeptSpans(first, last, nothing, nothing)
    return AntecedentRanking(nothing, nothing, kept, antecedents.clamp(min=0), table)


SPANS = [(0, 0), (2, 3), (4, 4), (6, 6)]


def test_right_antecedents_are_all_earlier_mentions_of_the_entity() -> None:
    ranking = ranking_of(SPANS, [[0.0] * 4] * 4)
    found = right_antecedents(ranking, (((0, 0), (4, 4), (6, 6)), ((1, 1), (2, 3))))
    assert found.tolist() == [
        [True, False, False, False],
        [True, False, False, False],  # its antecedent (1, 1) was not kept
        [False, False, True, False],  # (0, 0), two back
        [False, True, False, True],  # (4, 4) and (0, 0)
    ]


def test_links_make_clusters_and_unlinked_spans_none() -> None:
    ranking = ranking_of(SPANS, [[0, 9, 9, 9], [0, -1, 9, 9], [0, -1, 2, 9], [0, 1, 0.5, 0.5]])
    assert clusters_of(ranking) == (((0, 0), (4, 4), (6, 6)),)


def test_the_loss_is_the_marginal_likelihood_of_right_antecedents(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo, spans_per_token=9.0)
    ranking = model(DOCUMENT)
    assert ranking is not None
    probabilities = ranking.scores.softmax(dim=1)
    right = (probabilities * right_antecedents(ranking, DOCUMENT.clusters)).sum(dim=1)
    torch.testing.assert_close(model.loss([DOCUMENT]), -right.log().mean())


def test_the_mention_loss_is_the_cross_entropy_of_every_candidate(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    ranking = model(DOCUMENT)
    assert ranking is not None
    gold = {(0, 0), (4, 4), (2, 3), (6, 6), (7, 8)}
    expected = torch.zeros(())
    for first, width in ranking.is_span.nonzero().tolist():
        chance = ranking.mention_scores[first, width].sigmoid()
        expected = expected - ((chance if (first, first + width) in gold else 1 - chance).log())
    torch.testing.assert_close(mention_loss(ranking, DOCUMENT.clusters), expected)
    weighed = small_model(tiny_elmo, mention_loss=0.5)
    weighed.load_state_dict(model.state_dict())
    num_kept = len(ranking.spans.first)
    torch.testing.assert_close(
        weighed.loss([DOCUMENT]), model.loss([DOCUMENT]) + 0.5 * expected / num_kept
    )


def test_the_loss_has_finite_gradients(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    model.loss([DOCUMENT, DOCUMENT._replace(sentences=(("Hush",),), clusters=())]).backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert len(gradients) > 10
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_an_excerpt_renumbers_the_mentions_it_keeps() -> None:
    assert excerpt(DOCUMENT, 1, 2) == DOCUMENT._replace(
        sentences=DOCUMENT.sentences[1:], clusters=(((0, 0),), ((2, 2), (3, 4)))
    )


def test_a_document_without_tokens_has_no_clusters(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    empty = CorefDocument("e", (), ())
    assert model.predict([empty, empty._replace(sentences=((),))]) == [(), ()]
    assert float(model.loss([empty]).detach()) == 0


def test_a_very_long_sentence_is_read_whole(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo, spans_per_token=0.1)
    document = CorefDocument("long", (("word",) * 5000, ("end",)), ())
    with torch.no_grad():
        ranking = model(document)
    assert ranking is not None
    assert len(ranking.spans.first) == 500


def test_mentions_are_shown_in_numbered_brackets() -> None:
    clusters = (((0, 0), (4, 4)), ((2, 3), (3, 3)))
    shown = coref.TASK.render(DOCUMENT._replace(sentences=DOCUMENT.sentences[:2]), clusters).plain
    assert shown.splitlines() == [
        "[1 Ann] saw [2 the [2 dog]]",
        "[1 she] fed it",
        "1: Ann; she",
        "2: the dog; dog",
    ]


def test_the_task_leaves_out_singletons(tmp_path: Path) -> None:
    path = tmp_path / "d.conll"
    path.write_text("d\t0\t0\ta\tX\t(1)\nd\t0\t1\tb\tX\t(2)\nd\t0\t2\tc\tX\t(2)\n")
    assert coref.TASK.read(path)[0].clusters == (((1, 1), (2, 2)),)
