"""Projections of several layers, rotated so that points move little from one to the next."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Floats
from elmokit.analysis.explore.exploration import Projection
from elmokit.analysis.words.sense_map import principal_components

Points = npt.NDArray[np.float64]

SAME = 1e-6
"""Vectors that differ by less than this, relative to their length, count as equal: the
difference is rounding, which a picture must not magnify."""


def project_layers(vectors: Floats) -> list[Projection]:
    """The two principal components of every layer, each aligned with the layer above it.

    Args:
        vectors: (N, num_layers, D).

    The top layer is not changed. A rotation (orthogonal Procrustes) keeps all distances.
    """
    planes = [plane(vectors[:, layer]) for layer in range(vectors.shape[1])]
    points = align([found for found, _ in planes])
    return [
        to_projection(placed, shares) for placed, (_, shares) in zip(points, planes, strict=True)
    ]


def to_projection(points: Points, shares: tuple[float, float]) -> Projection:
    """Rounded to as many digits as a screen can show."""
    rows = tuple((float(x), float(y)) for x, y in points.round(4) + 0.0)
    return Projection(rows, (round(shares[0], 4), round(shares[1], 4)))


def plane(vectors: Floats) -> tuple[Points, tuple[float, float]]:
    """(N, 2) principal components with a mean square of 1, and the shares of variance."""
    given = vectors.astype(np.float64)
    spread = np.linalg.norm(given - given.mean(axis=0), axis=1).max(initial=0.0)
    if spread <= SAME * np.linalg.norm(given, axis=1).max(initial=1.0):
        return np.zeros((len(given), 2)), (0.0, 0.0)
    points, shares = principal_components(given)
    size = np.sqrt((points**2).sum(axis=1).mean())
    return points / size, shares


def align(planes: Sequence[Points]) -> list[Points]:
    """Each plane rotated or mirrored to match the next one; the last is not changed."""
    placed = [planes[-1]]
    for points in reversed(planes[:-1]):
        # A layer at which all occurrences coincide gives no direction to align with.
        target = next((other for other in placed if other.any()), placed[0])
        placed.insert(0, points @ best_rotation(points, target))
    return placed


def best_rotation(points: Points, target: Points) -> Points:
    """(2, 2) orthogonal R with the smallest |points R - target| (orthogonal Procrustes).

    >>> quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> corner = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> bool(np.allclose(best_rotation(corner, corner @ quarter), quarter))
    True
    """
    left, _, right = np.linalg.svd(points.T @ target)
    return np.asarray(left @ right)
