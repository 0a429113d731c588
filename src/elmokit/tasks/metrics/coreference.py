"""MUC, B-cubed and CEAF-phi4, and their mean: what the CoNLL-2012 shared task reports.

Counts are summed over documents before they are divided, as the reference scorer does. A mention
that is in two clusters of one side counts in the first only.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import missing_extra

Cluster = frozenset[Hashable]
Clusters = Sequence[Cluster]


class Ratio(NamedTuple):
    """A sum of credits over the sum they could have reached."""

    credit: float
    possible: float

    def __add__(self, other: tuple[object, ...]) -> "Ratio":
        assert isinstance(other, Ratio)
        return Ratio(self.credit + other.credit, self.possible + other.possible)

    @property
    def value(self) -> float:
        """Between 0 and 1; 0 where nothing was possible."""
        return self.credit / self.possible if self.possible else 0.0


class Measure(NamedTuple):
    """Between 0 and 1."""

    precision: float
    recall: float
    f1: float


class CoreferenceScore(NamedTuple):
    """The three measures of the CoNLL-2012 shared task."""

    muc: Measure
    b_cubed: Measure
    ceaf_phi4: Measure

    @property
    def mean_f1(self) -> float:
        """Their mean F1, which the papers report."""
        return (self.muc.f1 + self.b_cubed.f1 + self.ceaf_phi4.f1) / 3


def score_coreference(
    gold: Iterable[Iterable[Iterable[Hashable]]], predicted: Iterable[Iterable[Iterable[Hashable]]]
) -> CoreferenceScore:
    """Documents' clusters of mentions against documents' clusters of mentions."""
    totals = {measure: (Ratio(0, 0), Ratio(0, 0)) for measure in (_muc, _b_cubed, _ceaf_phi4)}
    for gold_document, predicted_document in zip(gold, predicted, strict=True):
        wanted, found = _distinct(gold_document), _distinct(predicted_document)
        for measure, (precision, recall) in totals.items():
            more_precision, more_recall = measure(wanted, found)
            totals[measure] = (precision + more_precision, recall + more_recall)
    return CoreferenceScore(*(_f1(*totals[m]) for m in (_muc, _b_cubed, _ceaf_phi4)))


def _distinct(clusters: Iterable[Iterable[Hashable]]) -> list[Cluster]:
    seen: set[Hashable] = set()
    result = []
    for cluster in clusters:
        fresh = frozenset(cluster) - seen
        seen |= fresh
        if fresh:
            result.append(fresh)
    return result


def _f1(precision: Ratio, recall: Ratio) -> Measure:
    p, r = precision.value, recall.value
    return Measure(p, r, 2 * p * r / (p + r) if p + r else 0.0)


def _both_ways(
    one_way: Callable[[Clusters, Clusters], Ratio], gold: Clusters, predicted: Clusters
) -> tuple[Ratio, Ratio]:
    """(precision, recall): recall's formula with the sides exchanged is precision."""
    return one_way(predicted, gold), one_way(gold, predicted)


def _cluster_of(clusters: Clusters) -> dict[Hashable, int]:
    return {mention: number for number, cluster in enumerate(clusters) for mention in cluster}


def _muc(gold: Clusters, predicted: Clusters) -> tuple[Ratio, Ratio]:
    """Links: a cluster of n mentions, cut in k parts by the other side, keeps n - k of n - 1."""

    def links_kept(clusters: Clusters, others: Clusters) -> Ratio:
        other_of = _cluster_of(others)
        kept = possible = 0
        for cluster in clusters:
            parts = Counter(other_of.get(mention, -1) for mention in cluster)
            num_alone = parts.pop(-1, 0)  # what the other side lacks is a part of its own
            kept += len(cluster) - len(parts) - num_alone
            possible += len(cluster) - 1
        return Ratio(kept, possible)

    return _both_ways(links_kept, gold, predicted)


def _b_cubed(gold: Clusters, predicted: Clusters) -> tuple[Ratio, Ratio]:
    """Mentions: of a mention's cluster, the share that the other side's cluster holds too."""

    def shares(clusters: Clusters, others: Clusters) -> Ratio:
        other_of = _cluster_of(others)
        credit = 0.0
        for cluster in clusters:
            together = Counter(other_of[mention] for mention in cluster if mention in other_of)
            credit += sum(count * count for count in together.values()) / len(cluster)
        return Ratio(credit, sum(len(cluster) for cluster in clusters))

    return _both_ways(shares, gold, predicted)


def _ceaf_phi4(gold: Clusters, predicted: Clusters) -> tuple[Ratio, Ratio]:
    """Entities: the best one-to-one alignment under phi4(a, b) = 2 |a & b| / (|a| + |b|)."""
    similarity = 0.0
    if gold and predicted:
        table = np.zeros((len(gold), len(predicted)))
        other_of = _cluster_of(predicted)
        for row, cluster in enumerate(gold):
            together = Counter(other_of[mention] for mention in cluster if mention in other_of)
            for column, count in together.items():
                table[row, column] = 2 * count / (len(cluster) + len(predicted[column]))
        similarity = _best_alignment(table)
    return Ratio(similarity, len(predicted)), Ratio(similarity, len(gold))


def _best_alignment(table: npt.NDArray[np.float64]) -> float:
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise missing_extra("scipy", "tasks", "scoring coreference (CEAF)") from None
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum())
