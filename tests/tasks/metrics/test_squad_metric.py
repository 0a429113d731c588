"""Known outcomes of SQuAD's evaluate-v1.1.py."""

import pytest

from elmokit.tasks.metrics.squad import normalise_answer, score_answer, score_answers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Denver Broncos.", "denver broncos"),
        ("a cat, an owl & the dog", "cat owl dog"),
        ("Athens", "athens"),  # an article inside a word stays
        ("U.S.\tArmy\n", "us army"),
        ("$3 (per barrel)", "3 per barrel"),
        ("“Théa”", "“théa”"),  # only ASCII punctuation goes
        ("the", ""),
    ],
)
def test_answers_are_normalised_as_the_official_script_does(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


@pytest.mark.parametrize(
    ("prediction", "answers", "exact_match", "f1"),
    [
        ("Denver Broncos", ["the Denver Broncos"], 1, 1),
        ("Denver", ["Denver Broncos", "Broncos"], 0, 2 / 3),
        ("the the", ["a"], 1, 0),  # both normalise to nothing: equal, but without a common token
        ("gold gold", ["gold"], 0, 2 / 3),  # a token counts as often as both have it
        ("October 1973", ["1973", "October", "October 1973"], 1, 1),
        ("Paris", ["London"], 0, 0),
    ],
)
def test_the_best_reference_counts(
    prediction: str, answers: list[str], exact_match: float, f1: float
) -> None:
    score = score_answer(prediction, answers)
    assert score.exact_match == exact_match
    assert score.f1 == pytest.approx(f1)


def test_a_file_is_scored_by_its_mean() -> None:
    score = score_answers(["x", "red fox"], [["x"], ["red"]])
    assert score.exact_match == 0.5
    assert score.f1 == pytest.approx((1 + 2 / 3) / 2)


def test_a_question_without_reference_cannot_be_scored() -> None:
    with pytest.raises(ValueError, match="at least one reference"):
        score_answer("x", [])
