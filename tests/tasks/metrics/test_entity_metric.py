"""Entity F1 against seqeval, and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.data.entities import Entity, entities_of
from elmokit.tasks.metrics.entities import entity_f1

TAGS = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
PAIRS = st.lists(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=8), min_size=1, max_size=5)


@given(PAIRS)
@pytest.mark.filterwarnings("ignore")
def test_f1_of_any_iob_tags_equals_seqeval(pairs: list[list[tuple[str, str]]]) -> None:
    seqeval = pytest.importorskip("seqeval.metrics")
    gold = [[pair[0] for pair in sentence] for sentence in pairs]
    predicted = [[pair[1] for pair in sentence] for sentence in pairs]
    scores = entity_f1(list(map(entities_of, gold)), list(map(entities_of, predicted)))
    assert scores.main == pytest.approx(100 * seqeval.f1_score(gold, predicted), abs=1e-9)
    expected = 100 * seqeval.precision_score(gold, predicted)
    assert scores.every["precision"] == pytest.approx(expected, abs=1e-9)
    expected = 100 * seqeval.recall_score(gold, predicted)
    assert scores.every["recall"] == pytest.approx(expected, abs=1e-9)


def test_a_wrong_end_or_a_wrong_label_is_wrong() -> None:
    gold = [[Entity(0, 2, "X"), Entity(3, 4, "Y"), Entity(5, 6, "X")]]
    found = [[Entity(0, 1, "X"), Entity(3, 4, "X"), Entity(5, 6, "X")]]
    scores = entity_f1(gold, found)
    assert scores.every["precision"] == pytest.approx(100 / 3)
    assert scores.every["F1 Y"] == 0.0


def test_a_label_the_model_never_met_is_a_miss() -> None:
    scores = entity_f1([[Entity(0, 1, "new")]], [[]])
    assert scores.main == 0.0
    assert scores.every["F1 new"] == 0.0
