"""Clusters of occurrences, and how many of them there are.

Vectors are scaled to length 1, projected to their first principal components and clustered by
k-means (k-means++, several starts). The number of clusters is the one with the lowest BIC of a
mixture of spherical Gaussians with one variance, as in X-means (Pelleg and Moore 2000): unlike the
silhouette, it is defined for one cluster too, so that a word may have one sense. Both are reported.

k-means is implemented here, in forty lines, because nothing else of scikit-learn, which is many
times the size of elmokit, would be used.
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ClusterCriterion = Literal["bic", "silhouette"]
"""How the number of clusters is chosen."""

NUM_COMPONENTS = 10
NUM_STARTS = 8
MAX_CLUSTERS = 6
MAX_ROUNDS = 100


class ClusterCandidate(NamedTuple):
    """A number of clusters and its scores."""

    num_clusters: int
    bic: float
    """Lower is better."""
    silhouette: float | None
    """Higher is better; None for one cluster."""


class Clustering(NamedTuple):
    """N items in K clusters, the largest first."""

    labels: Ints  # (N,)
    candidates: tuple[ClusterCandidate, ...]
    criterion: ClusterCriterion

    @property
    def num_clusters(self) -> int:
        """K"""
        return int(self.labels.max(initial=-1)) + 1


def cluster(
    vectors: npt.NDArray[np.floating],
    max_clusters: int = MAX_CLUSTERS,
    criterion: ClusterCriterion = "bic",
    seed: int = 0,
) -> Clustering:
    """Cluster (N, D) vectors; the criterion chooses the number, at most ``max_clusters``."""
    points = project(vectors, NUM_COMPONENTS)
    found: dict[int, Ints] = {}
    candidates = []
    for number in range(1, min(max_clusters, max(1, len(points) // 2)) + 1):
        labels = k_means(points, number, seed)
        if int(labels.max(initial=0)) + 1 < number:  # fewer distinct points than clusters
            break
        found[number] = labels
        score = silhouette(points, labels) if number > 1 else None
        candidates.append(ClusterCandidate(number, bic(points, labels), score))
    return Clustering(found[_chosen(candidates, criterion)], tuple(candidates), criterion)


def cluster_into(vectors: npt.NDArray[np.floating], num_clusters: int, seed: int = 0) -> Ints:
    """(N,) labels for a given number of clusters."""
    return k_means(project(vectors, NUM_COMPONENTS), num_clusters, seed)


def _chosen(candidates: list[ClusterCandidate], criterion: ClusterCriterion) -> int:
    if criterion == "silhouette" and len(candidates) > 1:
        return max(candidates[1:], key=lambda each: each.silhouette or -1.0).num_clusters
    return min(candidates, key=lambda each: each.bic).num_clusters


def project(vectors: npt.NDArray[np.floating], num_components: int) -> Doubles:
    """(N, at most ``num_components``): unit vectors projected to their principal components."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float64)
    centred = units - units.mean(axis=0)
    left, scales, _ = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(left[:, :num_components] * scales[:num_components])


def k_means(points: Doubles, num_clusters: int, seed: int = 0) -> Ints:
    """(N,) labels with the lowest sum of squares of several starts; the largest cluster is 0."""
    random = np.random.default_rng([seed, num_clusters])
    best, lowest = np.zeros(len(points), dtype=np.int64), np.inf
    for _ in range(NUM_STARTS if num_clusters > 1 else 1):
        labels, squares = _lloyd(points, _spread_centres(points, num_clusters, random))
        if squares < lowest - 1e-12:
            best, lowest = labels, squares
    order = np.argsort(-np.bincount(best), kind="stable")
    order = order[np.bincount(best)[order] > 0]
    renumber = np.zeros(order.max() + 1, dtype=np.int64)
    renumber[order] = np.arange(len(order))
    return renumber[best]


def _spread_centres(points: Doubles, number: int, random: np.random.Generator) -> Doubles:
    """k-means++: each centre is drawn far from the previous ones."""
    centres = [points[random.integers(len(points))]]
    nearest = np.full(len(points), np.inf)
    for _ in range(number - 1):
        nearest = np.minimum(nearest, ((points - centres[-1]) ** 2).sum(axis=1))
        total = nearest.sum()
        chances = nearest / total if total > 0 else None
        centres.append(points[random.choice(len(points), p=chances)])
    return np.array(centres)


def _lloyd(points: Doubles, centres: Doubles) -> tuple[Ints, float]:
    labels = np.full(len(points), -1, dtype=np.int64)
    for _ in range(MAX_ROUNDS):
        distances = _squared_distances(points, centres)
        new = distances.argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
        for number in range(len(centres)):
            members = points[labels == number]
            if len(members):  # otherwise the centre stays where it is
                centres[number] = members.mean(axis=0)
    return labels, float(_squared_distances(points, centres)[np.arange(len(points)), labels].sum())


def _squared_distances(points: Doubles, centres: Doubles) -> Doubles:
    """(N, K)"""
    products = points @ centres.T
    squares = (points**2).sum(axis=1)[:, None] - 2 * products + (centres**2).sum(axis=1)
    return np.asarray(np.maximum(squares, 0.0))


def bic(points: Doubles, labels: Ints) -> float:
    """-2 log likelihood + parameters * log N of spherical Gaussians that share one variance."""
    count, dim = points.shape
    sizes = np.bincount(labels)
    number = len(sizes)
    centres = np.stack([points[labels == each].mean(axis=0) for each in range(number)])
    squares = float(((points - centres[labels]) ** 2).sum())
    variance = max(squares / (dim * max(count - number, 1)), 1e-12)
    log_likelihood = (sizes * np.log(sizes / count)).sum()
    log_likelihood -= count * dim / 2 * np.log(2 * np.pi * variance) + squares / (2 * variance)
    num_parameters = number * dim + (number - 1) + 1
    return float(-2 * log_likelihood + num_parameters * np.log(count))


def silhouette(points: Doubles, labels: Ints) -> float:
    """The mean of (b - a) / max(a, b): a: distance to the own cluster, b: to the nearest other.

    An item alone in its cluster counts as 0 (Rousseeuw 1987).
    """
    distances = np.sqrt(_squared_distances(points, points))
    np.fill_diagonal(distances, 0.0)
    sizes = np.bincount(labels)
    sums = np.stack([distances[:, labels == each].sum(axis=1) for each in range(len(sizes))], 1)
    items = np.arange(len(points))
    own = sums[items, labels] / np.maximum(sizes[labels] - 1, 1)
    means = sums / sizes
    means[items, labels] = np.inf
    other = means.min(axis=1)
    scores = (other - own) / np.maximum(np.maximum(own, other), 1e-12)
    return float(np.where(sizes[labels] > 1, scores, 0.0).mean())
