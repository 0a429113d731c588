"""Static vectors of each corpus, aligned by Procrustes: the classical measure of change.

Counts in a window become positive pointwise mutual information over the commonest context words;
its first singular vectors are the word vectors (Levy and Goldberg 2014). A rotation of all shared
words' vectors aligns the two corpora (Hamilton et al. 2016); a word's change is the cosine
distance of its two vectors.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import unit

Doubles = npt.NDArray[np.float64]
WINDOW, DIM, CONTEXTS, SMOOTHING = 4, 100, 3000, 0.75


def static_vectors(
    sentences: Iterable[Sequence[str]], words: Sequence[str], contexts: Sequence[str]
) -> Doubles:
    """(N, DIM) vectors of N words, from their counts with the context words."""
    rows = {word: number for number, word in enumerate(words)}
    columns = {word: number for number, word in enumerate(contexts)}
    counts = np.zeros((len(words), len(contexts)))
    for sentence in sentences:
        tokens = [token.casefold() for token in sentence]
        for place, token in enumerate(tokens):
            row = rows.get(token)
            if row is None:
                continue
            around = tokens[max(0, place - WINDOW) : place] + tokens[place + 1 : place + 1 + WINDOW]
            for other in around:
                column = columns.get(other)
                if column is not None:
                    counts[row, column] += 1
    return _factorised(counts)


def _factorised(counts: Doubles) -> Doubles:
    total = max(float(counts.sum()), 1.0)
    smoothed = counts.sum(axis=0) ** SMOOTHING
    expected = np.outer(counts.sum(axis=1) / total, smoothed / max(float(smoothed.sum()), 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(counts / total / expected)
    positive = np.where(np.isfinite(information), np.maximum(information, 0.0), 0.0)
    left, scales, _ = np.linalg.svd(positive, full_matrices=False)
    dim = min(DIM, len(scales))
    return np.asarray(left[:, :dim] * np.sqrt(scales[:dim]))


def aligned_distances(first: Doubles, second: Doubles) -> Doubles:
    """(N,) cosine distances of N words' vectors after the best rotation of the first."""
    dim = min(first.shape[1], second.shape[1])
    one, other = (unit(side[:, :dim].astype(np.float32)).astype(float) for side in (first, second))
    left, _, right = np.linalg.svd(one.T @ other)
    return np.asarray(1 - ((one @ (left @ right)) * other).sum(axis=1))
