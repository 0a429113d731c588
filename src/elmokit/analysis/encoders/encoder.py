"""The interface that every analysis uses: sentences in, all layers of each token out.

BiLMs, static vectors and CoVe share one Protocol, so that any of them can be a row of any table.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Sentences = Sequence[Sequence[str]]
Item = TypeVar("Item")

CHUNK_SENTENCES = 1024
"""Sentences passed to an encoder at once: enough to sort by length, few enough for memory."""


class Encoder(Protocol):
    """Anything that computes one vector per layer for each token of a sentence."""

    @property
    def name(self) -> str:
        """The encoder's name in tables."""

    @property
    def layer_names(self) -> tuple[str, ...]:
        """The names of its layers in tables, lowest first."""

    @property
    def fingerprint(self) -> str:
        """A cache key that changes whenever any of the vectors could change."""

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """One array (num_layers, T, D) per sentence."""

    def covers(self, token: str) -> bool:
        """Whether the token has a vector of its own; always true for character models."""


@runtime_checkable
class DocumentEncoder(Encoder, Protocol):
    """An encoder whose vectors depend on the preceding sentences of the same document."""

    def document_layers(self, documents: Sequence[Sentences]) -> list[list[Floats]]:
        """For each document, one array (num_layers, T, D) per sentence."""


def row_name(encoder: str, layer: str) -> str:
    """The name of a table's row; rows that belong to no layer have an empty ``layer``."""
    return f"{encoder}, {layer}" if layer else encoder


def document_layers(encoder: Encoder, documents: Sequence[Sentences]) -> Iterator[list[Floats]]:
    """Yield the layers of each document's sentences; a ``DocumentEncoder`` reads it as one text."""
    for some in _together(documents):
        if isinstance(encoder, DocumentEncoder):
            yield from encoder.document_layers(some)
            continue
        layers = iter(encoder.layers([sentence for document in some for sentence in document]))
        yield from ([next(layers) for _ in document] for document in some)


def _together(documents: Sequence[Sentences]) -> Iterator[list[Sentences]]:
    """Group documents into lists of about ``CHUNK_SENTENCES`` sentences."""
    some: list[Sentences] = []
    for document in documents:
        some.append(document)
        if sum(map(len, some)) >= CHUNK_SENTENCES:
            yield some
            some = []
    if some:
        yield some


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """``count`` evenly spaced items, including the first and the last; all if there are fewer.

    >>> evenly("abcdefg", 3)
    ['a', 'd', 'g']
    """
    if len(items) <= count:
        return list(items)
    places = np.linspace(0, len(items) - 1, count).round().astype(int)
    return [items[place] for place in places]


def chunks(items: Iterable[Item], size: int = CHUNK_SENTENCES) -> Iterator[list[Item]]:
    """Consecutive lists of at most ``size`` items."""
    chunk: list[Item] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def unit(vectors: Floats) -> Floats:
    """Vectors scaled to length 1 along the last axis; zero vectors are left unchanged."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)
