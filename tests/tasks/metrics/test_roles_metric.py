"""Against seqeval where arguments are in one piece; else by srl-eval's rules, said case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.metrics.roles import Argument, Span, arguments_of, score_roles, spans_of

TAGS = st.sampled_from(["O", "B-A0", "I-A0", "B-A1", "I-A1", "B-R-A1", "I-R-A1"])
PAIRS = st.lists(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=8), min_size=1, max_size=5)


@given(PAIRS)
@pytest.mark.filterwarnings("ignore")
def test_f1_of_arguments_in_one_piece_equals_seqeval(pairs: list[list[tuple[str, str]]]) -> None:
    """The predicate is added to what elmokit scores, and to nothing that seqeval sees."""
    seqeval = pytest.importorskip("seqeval.metrics")
    gold, found = ([[pair[side] for pair in tags] for tags in pairs] for side in (0, 1))
    score = score_roles(*([["B-V", *tags] for tags in side] for side in (gold, found)))
    assert score.f1 == pytest.approx(seqeval.f1_score(gold, found), abs=1e-9)
    assert score.precision == pytest.approx(seqeval.precision_score(gold, found), abs=1e-9)
    assert score.recall == pytest.approx(seqeval.recall_score(gold, found), abs=1e-9)


def test_adjacent_spans_of_one_label_stay_apart() -> None:
    assert spans_of(["B-A1", "I-A1", "B-A1", "O"]) == [Span("A1", 0, 1), Span("A1", 2, 2)]


def test_a_continuation_joins_the_latest_argument_of_its_label() -> None:
    tags = ["B-A1", "B-A1", "B-V", "B-C-A1", "I-C-A1", "B-A0"]
    expected = [
        Argument("A1", ((0, 0),)),
        Argument("A1", ((1, 1), (3, 4))),
        Argument("A0", ((5, 5),)),
    ]
    assert arguments_of(tags) == expected


def test_a_continuation_of_nothing_is_an_argument_of_its_own() -> None:
    assert arguments_of(["B-C-A2", "B-V"]) == [Argument("A2", ((0, 0),))]


def test_the_predicate_and_its_particle_are_not_scored() -> None:
    assert arguments_of(["B-V", "O", "B-C-V"]) == []


def test_a_perfect_answer_scores_one() -> None:
    tags = ["B-A0", "B-V", "B-A1", "I-A1"]
    assert score_roles([tags], [tags]) == (1.0, 1.0, 1.0)


def test_only_the_predicate_found_scores_zero() -> None:
    assert score_roles([["B-A0", "B-V"]], [["O", "B-V"]]) == (0.0, 0.0, 0.0)


def test_a_missing_piece_makes_the_whole_argument_wrong() -> None:
    gold = ["B-A1", "B-V", "B-C-A1", "B-A0"]
    found = ["B-A1", "B-V", "O", "B-A0"]
    # gold: A1 in two pieces, A0; found: A1 in one piece (excess), A0 (right)
    assert score_roles([gold], [found]) == (0.5, 0.5, 0.5)


def test_a_reference_is_a_label_of_its_own() -> None:
    gold = ["B-A0", "B-R-A0", "B-V"]
    found = ["B-A0", "B-A0", "B-V"]
    assert score_roles([gold], [found]) == (0.5, 0.5, 0.5)


def test_counts_are_summed_over_predicates_before_dividing() -> None:
    gold = [["B-A0", "B-V", "B-A1", "B-A2"], ["B-V", "B-A1", "I-A1", "O"]]
    found = [["B-A0", "B-V", "O", "O"], ["B-V", "B-A1", "O", "B-A2"]]
    score = score_roles(gold, found)  # 1 right, 3 predicted, 4 gold
    assert score.precision == pytest.approx(1 / 3)
    assert score.recall == pytest.approx(1 / 4)
    assert score.f1 == pytest.approx(2 / 7)
