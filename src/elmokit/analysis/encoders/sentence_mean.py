"""Sentence means: what a model knows about the topic, the same for every token.

With h(k, t) the vector of token t at layer k, m(k) the mean of h(k, t) over all T tokens of the
sentence (the token itself included), and u(x) = x / |x|:

    mean:MODEL         m(k), the same for all tokens of a sentence
    plus-mean:MODEL    u(h(k, t)) + u(m(k)), so that the token and its sentence count the same

Both apply to every layer, and neither changes the number or the width of the layers.
"""

from collections.abc import Sequence

import numpy as np

from elmokit.analysis.encoders.encoder import (
    DocumentEncoder,
    Encoder,
    Floats,
    Sentences,
    document_layers,
    unit,
)


def plus_mean(vectors: Floats, mean: Floats) -> Floats:
    """u(h) + u(m), as above; any leading axes."""
    return np.asarray(unit(vectors) + unit(mean))


def plus_mean_name(encoder: str) -> str:
    """The name, in tables, of an encoder whose vectors are added to their sentence mean."""
    return f"{encoder}, plus sentence mean"


def mean_name(encoder: str) -> str:
    """The name, in tables, of an encoder whose vectors are replaced by their sentence mean."""
    return f"{encoder}, sentence mean"


class SentenceMeanEncoder:
    """An encoder's vectors replaced by the mean of their sentence, or added to it."""

    def __init__(self, base: Encoder, is_added: bool) -> None:
        self.base = base
        self.is_added = is_added
        self.name = (plus_mean_name if is_added else mean_name)(base.name)
        self.layer_names = base.layer_names
        self.covers = base.covers

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the base encoder, and whether the mean is added or replaces it."""
        return f"{self.base.fingerprint}-{'plus-mean' if self.is_added else 'mean'}"

    def layers(self, sentences: Sentences) -> list[Floats]:
        """One array (num_layers, T, D) per sentence."""
        return [self._with_mean(layers) for layers in self.base.layers(sentences)]

    def _with_mean(self, layers: Floats) -> Floats:
        if layers.shape[1] == 0:
            return layers
        mean = layers.mean(axis=1, keepdims=True)  # (num_layers, 1, D)
        if self.is_added:
            return plus_mean(layers, mean)
        return np.repeat(mean, layers.shape[1], axis=1)


class DocumentMeanEncoder(SentenceMeanEncoder):
    """The same for an encoder that reads whole documents; means are still per sentence."""

    def document_layers(self, documents: Sequence[Sentences]) -> list[list[Floats]]:
        """For each document, one array (num_layers, T, D) per sentence."""
        found = document_layers(self.base, documents)
        return [[self._with_mean(layers) for layers in document] for document in found]


def with_sentence_mean(base: Encoder, is_added: bool) -> SentenceMeanEncoder:
    """``base`` with its vectors replaced by their sentence's mean, or added to it."""
    if isinstance(base, DocumentEncoder):
        return DocumentMeanEncoder(base, is_added)
    return SentenceMeanEncoder(base, is_added)
