"""Static vectors as an encoder of one layer: the baseline of every table."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from elmokit.text.static_vectors import Floats, StaticVectors


class StaticEncoder:
    """Static vectors as an encoder of one layer; tokens without a vector get zeros."""

    layer_names = ("static",)

    def __init__(self, vectors: StaticVectors) -> None:
        self.vectors = vectors
        self.name = Path(vectors.source).name

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the words and their vectors."""
        digest = hashlib.blake2b(digest_size=8)
        digest.update("\n".join(self.vectors.words).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.vectors.vectors).tobytes())
        return digest.hexdigest()

    def covers(self, token: str) -> bool:
        """Whether there is a vector for the token, as written or in lower case."""
        return self.vectors.row(token) is not None

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """One array (1, T, D) per sentence."""
        return [self._layers(sentence) for sentence in sentences]

    def _layers(self, sentence: Sequence[str]) -> Floats:
        layers = np.zeros((1, len(sentence), self.vectors.dim), dtype=np.float32)
        for place, token in enumerate(sentence):
            row = self.vectors.row(token)
            if row is not None:
                layers[0, place] = self.vectors.vectors[row]
        return layers
