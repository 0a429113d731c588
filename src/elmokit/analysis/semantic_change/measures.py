"""How far apart two sets of occurrences of a word are.

    APD   the mean cosine distance between an occurrence of one set and one of the other
    PRT   the cosine distance between the two prototypes, the means of each set's unit vectors
    mean  the geometric mean of both
    JSD   the Jensen-Shannon divergence (base 2) of the sets' shares in clusters of all occurrences

excess  APD above its floor, the APD between random halves of the same set

APD alone reflects the variety of a word's contexts more than their change (docs/guide/words.md);
the excess removes that variety and, unlike PRT, does not grow as the sets get smaller.

For unit vectors, APD is 1 - u . v with u and v the means of the two sets, so that thousands of
permutations and resamples are one matrix product. (Kutuzov and Giulianelli 2020 invert the cosine
of PRT; the order of words is the same.)
"""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import unit
from elmokit.analysis.sense_induction.clusters import cluster

Doubles = npt.NDArray[np.float64]
ChangeMeasure = Literal["excess", "apd", "prt", "mean", "jsd"]
"""What ranks the words: APD above its floor, APD, PRT, the mean of APD and PRT, or JSD."""

NUM_PERMUTATIONS = 999
NUM_RESAMPLES = 500
NUM_SPLITS = 20


class ChangeDistances(NamedTuple):
    """The distances between two sets of occurrences."""

    apd: float
    prt: float

    @property
    def mean(self) -> float:
        """The geometric mean of APD and PRT."""
        return float(np.sqrt(max(self.apd, 0.0) * max(self.prt, 0.0)))


class ChangeEvidence(NamedTuple):
    """What two sets of occurrences say about a word."""

    distances: ChangeDistances
    jsd: float
    num_clusters: int
    p_value: float
    """The share of random splits of all occurrences with at least this APD."""
    interval: tuple[float, float]
    """95 % interval of APD, by resampling the occurrences of both sets."""
    floor: ChangeDistances
    """Distances between random halves of the same set: APD and PRT without any change."""

    def score(self, measure: "ChangeMeasure") -> float:
        """The value of a measure, by its name."""
        if measure in ("apd", "prt", "mean"):
            return float(getattr(self.distances, measure))
        return self.jsd if measure == "jsd" else self.excess

    @property
    def excess(self) -> float:
        """APD above its floor, which removes the word's variety within each corpus."""
        return self.distances.apd - self.floor.apd


def distances(first: Doubles, second: Doubles) -> ChangeDistances:
    """Distances between (N, D) and (M, D) vectors of any length."""
    return _between(_units(first).mean(axis=0), _units(second).mean(axis=0))


def _between(one: Doubles, other: Doubles) -> ChangeDistances:
    """Distances computed from the means of unit vectors."""
    product = float(one @ other)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return ChangeDistances(1 - product, 1 - product / lengths if lengths > 0 else 1.0)


def jensen_shannon(first: Doubles, second: Doubles) -> float:
    """Divergence of two distributions over the same K clusters: 0 if equal, 1 if disjoint.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    1.0
    """
    middle = (first + second) / 2
    return float(max(_entropy(middle) - (_entropy(first) + _entropy(second)) / 2, 0.0))


def cluster_divergence(first: Doubles, second: Doubles, seed: int = 0) -> tuple[float, int]:
    """JSD of the sets' shares in joint clusters, and how many clusters there are."""
    labels = cluster(np.concatenate([first, second]), seed=seed).labels
    number = int(labels.max()) + 1
    shares = [
        np.bincount(part, minlength=number) / len(part)
        for part in (labels[: len(first)], labels[len(first) :])
    ]
    return jensen_shannon(shares[0], shares[1]), number


def evidence(first: Doubles, second: Doubles, seed: int = 0) -> ChangeEvidence:
    """All measures of two sets of vectors; both should have the same number of occurrences."""
    one, other = _units(first), _units(second)
    found = _between(one.mean(axis=0), other.mean(axis=0))
    divergence, number = cluster_divergence(one, other, seed)
    random = np.random.default_rng(seed)
    return ChangeEvidence(
        found,
        divergence,
        number,
        permutation_p_value(one, other, found.apd, random),
        bootstrap_interval(one, other, random),
        same_corpus_floor(one, other, random),
    )


def permutation_p_value(
    one: Doubles, other: Doubles, observed: float, random: np.random.Generator
) -> float:
    """(1 + number of splits with at least the observed APD) / (1 + number of splits)."""
    together = np.concatenate([one, other])
    is_first = np.zeros((NUM_PERMUTATIONS, len(together)))
    is_first[:, : len(one)] = 1.0
    is_first = random.permuted(is_first, axis=1)
    firsts = is_first @ together / len(one)
    seconds = (1 - is_first) @ together / len(other)
    found = 1 - (firsts * seconds).sum(axis=1)
    return float((1 + (found >= observed - 1e-12).sum()) / (1 + NUM_PERMUTATIONS))


def bootstrap_interval(
    one: Doubles, other: Doubles, random: np.random.Generator
) -> tuple[float, float]:
    """The 2.5th and 97.5th percentile of APD over resamples of both sets."""
    means = [
        random.multinomial(len(units), np.full(len(units), 1 / len(units)), NUM_RESAMPLES)
        @ units
        / len(units)
        for units in (one, other)
    ]
    low, high = np.percentile(1 - (means[0] * means[1]).sum(axis=1), [2.5, 97.5])
    return float(low), float(high)


def same_corpus_floor(one: Doubles, other: Doubles, random: np.random.Generator) -> ChangeDistances:
    """The mean distances between random halves of each set."""
    found = []
    for units in (one, other):
        half = len(units) // 2
        if half == 0:
            continue
        for _ in range(NUM_SPLITS):
            order = random.permutation(len(units))
            halves = units[order[:half]], units[order[half : 2 * half]]
            found.append(_between(halves[0].mean(axis=0), halves[1].mean(axis=0)))
    return ChangeDistances(*(float(value) for value in np.mean(found, axis=0)))


def _units(vectors: npt.NDArray[np.floating]) -> Doubles:
    return unit(np.asarray(vectors, dtype=np.float32)).astype(np.float64)


def _entropy(shares: Doubles) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log2(positive)).sum())
