"""Measures of change on vectors whose distances are known."""

from itertools import product

import numpy as np
import pytest

from elmokit.analysis.semantic_change.frequency import q_values, spearman, without_frequency
from elmokit.analysis.semantic_change.measures import (
    distances,
    evidence,
    jensen_shannon,
    permutation_p_value,
)
from elmokit.analysis.semantic_change.procrustes import aligned_distances


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_apd_is_the_mean_over_all_pairs_and_prt_the_distance_of_the_means() -> None:
    random = np.random.default_rng(0)
    first, second = random.standard_normal((4, 3)), random.standard_normal((5, 3))
    found = distances(first, second)
    pairs = [1 - cosine(one, other) for one, other in product(first, second)]
    assert found.apd == pytest.approx(np.mean(pairs), abs=1e-6)
    means = [
        (side / np.linalg.norm(side, axis=1, keepdims=True)).mean(axis=0)
        for side in (first, second)
    ]
    assert found.prt == pytest.approx(1 - cosine(*means), abs=1e-6)
    assert found.mean == pytest.approx(np.sqrt(found.apd * found.prt))


def test_a_complete_change_and_none_at_all() -> None:
    random = np.random.default_rng(1)
    one = np.array([1.0, 0, 0, 0]) + 0.05 * random.standard_normal((30, 4))
    other = np.array([0, 1.0, 0, 0]) + 0.05 * random.standard_normal((30, 4))
    changed, same = evidence(one, other), evidence(one[::2], one[1::2])
    assert changed.distances.apd == pytest.approx(1, abs=0.05)
    assert changed.jsd == pytest.approx(1)
    assert changed.p_value == pytest.approx(1 / 1000)
    assert changed.interval[0] <= changed.distances.apd <= changed.interval[1]
    assert changed.floor.apd < 0.05 and changed.excess > 0.9
    assert same.p_value > 0.05 and same.jsd < 0.1
    assert abs(same.excess) < 0.01


def test_p_values_are_uniform_where_nothing_changes() -> None:
    random = np.random.default_rng(2)
    found = []
    for _ in range(60):
        one, other = random.standard_normal((8, 5)), random.standard_normal((8, 5))
        apd = 1 - float(one.mean(axis=0) @ other.mean(axis=0))
        found.append(permutation_p_value(one, other, apd, random))
    assert 0.35 < np.mean(found) < 0.65
    assert np.mean(np.array(found) <= 0.1) < 0.25


def test_jensen_shannon_of_known_distributions() -> None:
    half = np.array([0.5, 0.5])
    assert jensen_shannon(half, half) == 0.0
    # H(0.75, 0.25) - (1 + 0) / 2
    assert jensen_shannon(half, np.array([1.0, 0.0])) == pytest.approx(0.311278, abs=1e-6)


def test_spearman_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    random = np.random.default_rng(3)
    first, second = random.integers(5, size=20).tolist(), random.integers(5, size=20).tolist()
    expected = stats.spearmanr(first, second).statistic
    assert spearman(first, second) == pytest.approx(expected)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0


def test_what_frequency_explains_is_taken_off() -> None:
    counts = [(10 * 2**n, 10 * 2**n) for n in range(12)]
    scores = [0.1 + 0.02 * n for n in range(12)]
    scores[5] += 0.3
    left = without_frequency(scores, counts)
    assert int(np.argmax(left)) == 5
    assert abs(spearman(np.delete(left, 5).tolist(), list(range(11)))) <= 1
    assert np.isnan(without_frequency(scores[:9], counts[:9])).all()


def test_q_values_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(4).random(15) ** 3
    expected = stats.false_discovery_control(values)
    assert q_values(values.tolist()).tolist() == pytest.approx(expected.tolist())


def test_a_rotation_of_all_words_is_no_change() -> None:
    random = np.random.default_rng(5)
    first = random.standard_normal((30, 6))
    rotation = np.linalg.qr(random.standard_normal((6, 6)))[0]
    second = first @ rotation
    second[0] = -second[0]
    found = aligned_distances(first, second)
    assert found.argmax() == 0
    assert found[1:].max() < 0.2 < found[0]
