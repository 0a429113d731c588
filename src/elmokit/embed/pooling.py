"""Token vectors -> one vector per sentence."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError

Pooling = Literal["mean", "max", "ends"]
"""How tokens are pooled; ``ends`` takes each direction after it has read the whole sentence."""


def require_pooling(how: str) -> None:
    """Reject an unknown kind of pooling."""
    if how not in ("mean", "max", "ends"):
        raise InputError(f"pooling must be mean, max or ends, got {how!r}")


def pool_tokens(vectors: Vectors, how: Pooling, dim: int) -> Vectors:
    """(T, D) -> (D,), zeros if there are no tokens; ``dim`` is the width of one layer."""
    if len(vectors) == 0:
        return np.zeros(vectors.shape[1], dtype=np.float32)
    if how == "mean":
        mean: Vectors = vectors.mean(axis=0)
        return mean
    if how == "max":
        best: Vectors = vectors.max(axis=0)
        return best
    ends: Vectors = np.where(is_forward(vectors.shape[1], dim), vectors[-1], vectors[0])
    return ends


def is_forward(width: int, dim: int) -> npt.NDArray[np.bool_]:
    """(width,): which values are of the forward direction, in one layer or a concatenation.

    >>> is_forward(8, dim=4).tolist()
    [True, True, False, False, True, True, False, False]
    """
    return np.arange(width) % dim < dim // 2
