"""Clusters of points whose number is known, beside scikit-learn."""

import numpy as np
import pytest

from elmokit.analysis.sense_induction.agreement import adjusted_rand_index, v_measure
from elmokit.analysis.sense_induction.clusters import bic, cluster, k_means, silhouette

CENTRES = np.eye(8)[:3]


def blobs(sizes: tuple[int, ...], spread: float = 0.05) -> tuple[np.ndarray, list[int]]:
    random = np.random.default_rng(0)
    labels = [number for number, size in enumerate(sizes) for _ in range(size)]
    return CENTRES[labels] + spread * random.standard_normal((len(labels), 8)), labels


@pytest.mark.parametrize("criterion", ["bic", "silhouette"])
def test_as_many_clusters_are_found_as_there_are(criterion: str) -> None:
    vectors, labels = blobs((30, 20, 10))
    found = cluster(vectors, criterion=criterion)
    assert found.num_clusters == 3
    assert adjusted_rand_index(labels, found.labels.tolist()) == 1.0
    assert np.bincount(found.labels).tolist() == [30, 20, 10]  # the largest first


def test_bic_can_find_a_single_cluster() -> None:
    random = np.random.default_rng(1)
    vectors = np.ones(8) + 0.05 * random.standard_normal((60, 8))
    assert cluster(vectors).num_clusters == 1


def test_equal_vectors_are_one_cluster() -> None:
    assert cluster(np.ones((12, 4))).num_clusters == 1


def test_the_same_seed_gives_the_same_clusters() -> None:
    vectors = np.random.default_rng(2).standard_normal((40, 6))
    assert (cluster(vectors, seed=3).labels == cluster(vectors, seed=3).labels).all()


def test_the_silhouette_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    points = np.random.default_rng(3).standard_normal((30, 4))
    labels = k_means(points, 4)
    assert silhouette(points, labels) == pytest.approx(metrics.silhouette_score(points, labels))
    labels[labels == 3] = 0
    labels[0] = 3  # an item alone in its cluster
    assert silhouette(points, labels) == pytest.approx(metrics.silhouette_score(points, labels))


def test_bic_is_that_of_the_formula() -> None:
    points = np.array([[0.0], [2.0], [10.0], [12.0]])
    # Two clusters of squares 2 + 2, variance 4 / (4 - 2) = 2; 2 centres, 1 share, 1 variance.
    log_likelihood = 4 * np.log(0.5) - 2 * np.log(2 * np.pi * 2) - 4 / (2 * 2)
    expected = -2 * log_likelihood + 4 * np.log(4)
    assert bic(points, np.array([0, 0, 1, 1])) == pytest.approx(expected)


def test_agreement_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(4)
    for _ in range(5):
        gold, found = random.integers(3, size=20).tolist(), random.integers(4, size=20).tolist()
        expected = metrics.adjusted_rand_score(gold, found)
        assert adjusted_rand_index(gold, found) == pytest.approx(expected)
        parts = v_measure(gold, found)
        expected = metrics.homogeneity_completeness_v_measure(gold, found)
        assert (*parts, parts.score) == pytest.approx(expected)


def test_one_cluster_for_all_scores_nothing() -> None:
    assert adjusted_rand_index("aabb", [0, 0, 0, 0]) == 0.0
    for length in range(2, 40):
        found = v_measure(["a"] + ["b"] * length, [0] * (length + 1))
        assert found.completeness == 1.0
        assert found.score == pytest.approx(0, abs=1e-9)
