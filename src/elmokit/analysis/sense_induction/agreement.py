"""Measures that compare two clusterings of the same items."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


class VMeasure(NamedTuple):
    """Rosenberg and Hirschberg (2007); many small clusters raise it, whatever they contain."""

    homogeneity: float
    """1 if every cluster holds items of one sense only."""
    completeness: float
    """1 if all items of a sense are in one cluster."""

    @property
    def score(self) -> float:
        """The harmonic mean of both."""
        total = self.homogeneity + self.completeness
        return 2 * self.homogeneity * self.completeness / total if total else 0.0


class ClusterAgreement(NamedTuple):
    """How far induced senses agree with clusters of annotators."""

    num_usages: int
    """Usages in both; the others are left out."""
    num_clusters: int
    """Clusters of the annotators."""
    ari: float
    """The adjusted Rand index."""
    v: VMeasure


def contingency(gold: Sequence[object], found: Sequence[object]) -> Doubles:
    """(G, K): how many items of each gold class are in each found cluster."""
    if len(gold) != len(found):
        raise ValueError(f"expected two lists of equal length, got {len(gold)} and {len(found)}")
    rows, columns = (
        np.unique([str(label) for label in labels], return_inverse=True)[1]
        for labels in (gold, found)
    )
    table = np.zeros((rows.max(initial=-1) + 1, columns.max(initial=-1) + 1))
    np.add.at(table, (rows, columns), 1)
    return table


def adjusted_rand_index(gold: Sequence[object], found: Sequence[object]) -> float:
    """1 for equal clusterings, about 0 for independent ones (Hubert and Arabie 1985).

    >>> adjusted_rand_index("aabb", [1, 1, 2, 2]), adjusted_rand_index("aabb", [1, 1, 1, 1])
    (1.0, 0.0)
    """
    table = contingency(gold, found)
    pairs, total = _pairs(table).sum(), _pairs(np.array(float(len(gold))))
    in_rows, in_columns = _pairs(table.sum(axis=1)).sum(), _pairs(table.sum(axis=0)).sum()
    expected = in_rows * in_columns / total if total else 0.0
    highest = (in_rows + in_columns) / 2
    return 1.0 if highest == expected else float((pairs - expected) / (highest - expected))


def v_measure(gold: Sequence[object], found: Sequence[object]) -> VMeasure:
    """The homogeneity and the completeness of the clusters."""
    table = contingency(gold, found)
    shares = table / max(len(gold), 1)
    of_gold, of_found = _entropy(shares.sum(axis=1)), _entropy(shares.sum(axis=0))
    mutual = of_gold + of_found - _entropy(shares.ravel())
    # Check the number of classes, because rounding may make the entropy of a single one non-zero.
    return VMeasure(
        float(mutual / of_gold) if table.shape[0] > 1 else 1.0,
        float(mutual / of_found) if table.shape[1] > 1 else 1.0,
    )


def _pairs(counts: Doubles) -> Doubles:
    return np.asarray(counts * (counts - 1) / 2)


def _entropy(shares: Doubles) -> float:
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())
