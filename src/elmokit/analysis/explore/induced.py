"""Clusters of unlabelled occurrences, each named after the words that could replace it."""

from collections.abc import Sequence

import numpy as np

from elmokit.analysis.encoders.encoder import Floats
from elmokit.analysis.explore.occurrences import Clusters
from elmokit.analysis.sense_induction.clusters import cluster
from elmokit.analysis.words.occurrences import LSTM_LAYERS, Occurrence, one_layer
from elmokit.pretrain.substitutes import SubstituteReader

FEWEST_USES = 10
MOST_NAMED = 30
"""The maximum number of occurrences of a cluster that its name is derived from."""
NUM_SUBSTITUTES = 3


class Inducer:
    """Clusters occurrences by the mean of their LSTM layers, as ``elmokit senses`` does."""

    def __init__(self, substitutes: SubstituteReader | None, seed: int) -> None:
        """``substitutes``: used to name the clusters; without it they are numbered."""
        self._substitutes, self._seed = substitutes, seed

    def __call__(self, occurrences: Sequence[Occurrence], vectors: Floats) -> Clusters | None:
        """The clusters, or None if there are too few occurrences."""
        if len(occurrences) < FEWEST_USES or vectors.shape[1] < 2:
            return None
        labels = cluster(one_layer(vectors, LSTM_LAYERS), seed=self._seed).labels
        members = [np.flatnonzero(labels == number) for number in range(int(labels.max()) + 1)]
        names = [f"cluster {number + 1}" for number in range(len(members))]
        if self._substitutes is not None:
            groups = [[tuple(occurrences[row]) for row in rows[:MOST_NAMED]] for rows in members]
            typical = self._substitutes.typical(groups, NUM_SUBSTITUTES)
            names = [
                f"{number}: {', '.join(words)}" for number, words in enumerate(typical, start=1)
            ]
        return Clusters(tuple(names), tuple(labels.tolist()))
