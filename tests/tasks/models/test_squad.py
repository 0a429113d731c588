import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.tasks.config import CharactersConfig, ElmoConfig, TaskConfig, WordsConfig
from elmokit.tasks.data.squad import Answer, Passage, QaExample
from elmokit.tasks.inputs.layer_cache import ComputedLayers
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import build_word_table
from elmokit.tasks.models import squad
from elmokit.tasks.models.squad import (
    BiAttention,
    Found,
    SelfAttention,
    SquadModel,
    Trilinear,
    best_spans,
)

EXAMPLE = QaExample("q", Passage("The art of war is an art."), "What is it?", (Answer("art", 4),))
PAPER = squad.TASK.defaults().model


def small_model(elmo: Embedder, **settings: object) -> SquadModel:
    config = replace(PAPER, **{"gru_dim": 5, "linear_dim": 7, **settings})
    whole = TaskConfig("squad", config, WordsConfig(dim=6, min_count=1),
                       CharactersConfig(num_filters=4), ElmoConfig("both"))  # fmt: skip
    words = build_word_table(whole.words, EXAMPLE.passage.words)
    return SquadModel(config, TokenVectors(whole, words, ComputedLayers(elmo)), []).eval()


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 4))
def test_the_best_span_is_what_brute_force_finds(seed: int, tokens: int, longest: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(2, 2, tokens, generator=generator).log_softmax(dim=-1)
    spans, probabilities = best_spans(scores, longest)
    for row, (found, probability) in enumerate(zip(spans, probabilities, strict=True)):
        pairs = itertools.combinations_with_replacement(range(tokens), 2)
        best = max(
            (float(scores[row, 0, a] + scores[row, 1, b]), (a, b))
            for a, b in pairs
            if b - a < longest
        )
        assert found == best[1]
        assert abs(probability - torch.tensor(best[0]).exp()) < 1e-6


def test_trilinear_similarity_is_the_product_with_the_joined_vector() -> None:
    similarity = Trilinear(4)
    rows, columns = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    weight = torch.cat([similarity.first, similarity.second, similarity.product])
    found = similarity(rows, columns)
    for b, t, u in itertools.product(range(2), range(3), range(5)):
        c, q = rows[b, t], columns[b, u]
        torch.testing.assert_close(found[b, t, u], weight @ torch.cat([c, q, c * q]))


def test_attention_never_looks_at_padding() -> None:
    attention, self_attention = BiAttention(4), SelfAttention(4)
    context, question = torch.randn(1, 5, 4), torch.randn(1, 3, 4)
    context_mask = torch.tensor([[True, True, True, False, False]])
    question_mask = torch.tensor([[True, True, False]])
    other_context, other_question = context.clone(), question.clone()
    other_context[0, 3:] += 5
    other_question[0, 2:] += 5
    torch.testing.assert_close(
        attention(context, question, context_mask, question_mask)[:, :3],
        attention(other_context, other_question, context_mask, question_mask)[:, :3],
    )
    torch.testing.assert_close(
        self_attention(context, context_mask)[:, :3],
        self_attention(other_context, context_mask)[:, :3],
    )


def test_a_token_does_not_attend_to_itself() -> None:
    attention = SelfAttention(3)
    context = torch.randn(1, 2, 3)
    found = attention(context, torch.ones(1, 2, dtype=torch.bool))
    torch.testing.assert_close(found[0, :, 3:6], context[0].flip(0))


def test_batch_mates_do_not_change_an_answer(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    longer = replace(EXAMPLE, passage=Passage("Some longer text. " * 9), question="What, now?")
    alone, together = model.predict([EXAMPLE])[0], model.predict([longer, EXAMPLE])[1]
    assert alone.span == together.span
    assert abs(alone.probability - together.probability) < 1e-6


def test_any_occurrence_of_the_answer_may_be_right(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    probabilities = model(*model._tensors([EXAMPLE])).exp()[0]  # (2, T)
    first, second = 1, 6
    expected = -sum(torch.log(end[first] + end[second]) for end in probabilities)
    torch.testing.assert_close(model.loss([EXAMPLE]), expected)
    strict = small_model(tiny_elmo, every_occurrence=False)
    strict.load_state_dict(model.state_dict())
    expected = -probabilities[:, first].log().sum()
    torch.testing.assert_close(strict.loss([EXAMPLE]), expected)


def test_answers_beyond_the_cut_teach_nothing_while_training(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo, max_training_tokens=3)
    late = replace(EXAMPLE, answers=(Answer("war", 11),))
    assert float(model.loss([late]).detach()) == 0
    both = model.loss([late, EXAMPLE])
    torch.testing.assert_close(both, model.loss([EXAMPLE]))


def test_a_context_without_tokens_has_no_answer(tiny_elmo: Embedder) -> None:
    model = small_model(tiny_elmo)
    empty = replace(EXAMPLE, passage=Passage(" "), answers=())
    assert model.predict([empty, EXAMPLE])[0] == Found(None, "", 0.0)


def test_only_questions_with_a_reference_are_scored() -> None:
    unknown = replace(EXAMPLE, answers=())
    found = [Found((1, 1), "art", 1.0), Found((1, 1), "art", 1.0)]
    assert squad.TASK.score([EXAMPLE, unknown], found).main == 100
    with pytest.raises(InputError, match="none of the 1 questions to score has an answer"):
        squad.TASK.score([unknown], found[:1])


def test_only_questions_with_an_answer_are_trained_on(capsys: pytest.CaptureFixture[str]) -> None:
    unknown = replace(EXAMPLE, answers=())
    assert squad.TASK.expand(PAPER, [EXAMPLE]) == [EXAMPLE]
    assert capsys.readouterr().err == ""
    assert squad.TASK.expand(PAPER, [unknown, EXAMPLE, unknown]) == [EXAMPLE]
    assert "2 of 3 training questions have no answer" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"none of the 2 training questions .*'q'.* has an answer"):
        squad.TASK.expand(PAPER, [unknown, unknown])


def test_an_answer_is_shown_in_its_context() -> None:
    shown = squad.TASK.render(EXAMPLE, Found((6, 6), "art", 0.5)).plain
    assert shown == "What is it?\n  The art of war is an [art]."
    assert squad.TASK.to_json(EXAMPLE, Found((6, 6), "art", 0.5))["start"] == 21
