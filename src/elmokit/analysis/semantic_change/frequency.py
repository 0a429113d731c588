"""Scores of change and word frequency: rare and frequent words differ even without change."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
MIN_WORDS = 10
"""With fewer words, an effect of frequency cannot be told from chance."""


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Rank correlation; 0 if either side is constant.

    >>> round(spearman([1, 2, 3], [10, 30, 20]), 6)
    0.5
    """
    ranks = [_ranks(np.asarray(values, dtype=np.float64)) for values in (first, second)]
    centred = [each - each.mean() for each in ranks]
    lengths = np.linalg.norm(centred[0]) * np.linalg.norm(centred[1])
    return float(centred[0] @ centred[1] / lengths) if lengths > 0 else 0.0


def _ranks(values: Doubles) -> Doubles:
    """Ranks; ties share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places])


def without_frequency(scores: Sequence[float], counts: Sequence[tuple[int, int]]) -> Doubles:
    """The residuals of a linear regression of the scores on the log counts in both corpora.

    The mean score is added back. With fewer than ``MIN_WORDS`` words, all are NaN.
    """
    values = np.asarray(scores, dtype=np.float64)
    if len(values) < MIN_WORDS:
        return np.full(len(values), np.nan)
    logs = np.log(np.asarray(counts, dtype=np.float64))
    design = np.column_stack([np.ones(len(values)), logs])
    fitted = design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return np.asarray(values - fitted + values.mean())


def q_values(p_values: Sequence[float]) -> Doubles:
    """Benjamini and Hochberg: the false discovery rate at which each word would be called changed.

    >>> q_values([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    scaled = values[order] * len(values) / np.arange(len(values), 0, -1)
    found = np.empty(len(values))
    found[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return found
