"""Known outputs of the CoNLL reference scorer: its published test cases (TC-A to TC-N)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.tasks.metrics.coreference import CoreferenceScore, score_coreference


def score(key: str, response: str) -> CoreferenceScore:
    """Clusters as words, mentions as letters: ``"a bc"`` is {a} {b, c}."""
    return score_coreference([key.split()], [response.split()])


A = "a bc def"
D = "12345 67 89ABC"
# (key, response, MUC (recall, precision), B-cubed (recall, precision), CEAF-e (recall, precision))
CASES = {
    "A1 perfect": (A, A, (1, 1), (1, 1), (1, 1)),
    "A2 missing": (A, "a de", (1 / 3, 1), (7 / 18, 1), (0.6, 0.9)),
    "A3 false alarms": (A, "a bcx defy z", (1, 3 / 5), (1, 55 / 108), (0.88571, 0.66429)),
    "A4 both": (A, "a bcx dy z", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (0.73333, 0.55)),
    "A5 overlapping": (A, "a bcxB dy z", (1 / 3, 1 / 4), (5 / 9, 5 / 16), (0.68889, 0.51667)),
    "A6 overlapping": (A, "a bcx dy Bz", (1 / 3, 1 / 4), (5 / 9, 17 / 48), (0.73333, 0.55)),
    "A7 duplicate": (A, "a bcxb dy z", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (0.73333, 0.55)),
    "A8 duplicate": (A, "a bcx dy bz", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (0.73333, 0.55)),
    "A10 singletons": (A, "a b c d e f", (0, 0), (3 / 6, 1), None),
    "A11 one cluster": (A, "abcdef", (1, 3 / 5), (1, 7 / 18), None),
    "A12 singletons": (A, "a x y c d e z", (0, 0), (13 / 36, 4 / 7), None),
    "A13 one cluster": (A, "axycdez", (1 / 3, 1 / 6), (17 / 36, 6 / 49), None),
    "D1 small into big": (D, "12345 6789ABC", (1, 9 / 10), (1, 16 / 21), None),
    "E1 big into big": (D, "1234589ABC 67", (1, 9 / 10), (1, 7 / 12), None),
    "F1": ("ABCD", "AB CD", (2 / 3, 1), None, None),
    "G1": ("AB CD", "ABCD", (1, 2 / 3), None, None),
    "J1": ("ABC", "AC", (1 / 2, 1), None, None),
    "K1": ("BCDEGHJ", "ABC DEF GHI", (3 / 6, 3 / 6), None, None),
    "L1": ("ABC DEFG", "AB CD FGH", (2 / 5, 2 / 4), None, None),
    "M1 one entity": ("abcdef", "abcdef", (1, 1), (1, 1), (1, 1)),
    "N1 only singletons": ("a b c", "a b c", (0, 0), (1, 1), (1, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_gives_what_the_reference_scorer_gives(name: str) -> None:
    key, response, *expected = CASES[name]
    for measure, numbers in zip(score(key, response), expected, strict=True):
        if numbers is not None:
            found = (measure.recall, measure.precision)
            assert found == pytest.approx(numbers, abs=5e-6)


def test_the_mean_is_that_of_the_three_f1() -> None:
    found = score(A, "a de")
    assert found.muc.f1 == pytest.approx(0.5)
    assert found.b_cubed.f1 == pytest.approx(14 / 25)
    assert found.ceaf_phi4.f1 == pytest.approx(0.72)
    assert found.mean_f1 == pytest.approx((0.5 + 0.56 + 0.72) / 3)


def test_documents_are_summed_before_dividing() -> None:
    both = score_coreference([["abc"], ["de"]], [["ab", "c"], ["de"]])
    assert both.muc.recall == pytest.approx(2 / 3)
    assert both.b_cubed.precision == 1
    assert both.ceaf_phi4.recall == pytest.approx((4 / 5 + 1) / 2)


def test_nothing_found_scores_zero() -> None:
    assert score_coreference([["ab"]], [[]]).mean_f1 == 0


partitions = st.lists(st.integers(0, 3), min_size=1, max_size=8).map(
    lambda places: [
        "".join("abcdefgh"[m] for m, place in enumerate(places) if place == cluster)
        for cluster in sorted(set(places))
    ]
)


@settings(deadline=None, max_examples=50)
@given(partitions, partitions)
def test_exchanging_the_sides_exchanges_precision_and_recall(
    one: list[str], other: list[str]
) -> None:
    there, back = score_coreference([one], [other]), score_coreference([other], [one])
    for first, second in zip(there, back, strict=True):
        assert first.precision == pytest.approx(second.recall)
        assert 0 <= first.f1 <= 1 + 1e-12
