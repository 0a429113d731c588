"""The nearest tokens in context, in an index or in a sample of the corpus."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks, unit
from elmokit.analysis.explore.corpus import ExploredCorpus
from elmokit.analysis.words.index import Neighbour, OccurrenceIndex
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.text.static_vectors import StaticVectors

MOST_SAMPLED = 20_000
"""The maximum number of tokens searched if there is no index."""
MOST_STATIC = 5_000
"""The number of words of the corpus that are searched for static neighbours."""


class NeighbourSearch(Protocol):
    """A place to search for neighbours."""

    @property
    def words(self) -> StaticVectors:
        """Context-independent vectors."""

    def describe(self) -> str:
        """A description, for the page, of which tokens were searched."""

    def layers(self, occurrence: Occurrence, number: int) -> list[list[Neighbour] | None]:
        """The nearest tokens at each layer of the model; None for layers that are not searched."""


class IndexSearch:
    """Searches every token of an indexed text."""

    def __init__(self, index: OccurrenceIndex, encoder: Encoder) -> None:
        self._index, self._encoder = index, encoder

    @property
    def words(self) -> StaticVectors:
        """The token layer of the index."""
        return self._index.words

    def describe(self) -> str:
        """The number of indexed tokens."""
        return f"all {self._index.num_tokens:,} tokens of the index"

    def layers(self, occurrence: Occurrence, number: int) -> list[list[Neighbour] | None]:
        """The nearest tokens at each indexed layer; None for the other layers."""
        return [
            self._index.neighbours(self._encoder, occurrence, layer, number)
            if layer in self._index.layers
            else None
            for layer in range(len(self._encoder.layer_names))
        ]


class SampleSearch:
    """Searches a sample of the corpus, encoded on first use; all of it if it is small."""

    def __init__(self, corpus: ExploredCorpus, encoder: Encoder, seed: int) -> None:
        self._corpus, self._encoder = corpus, encoder
        self._chosen = _sampled_sentences(corpus, seed, MOST_SAMPLED)
        self._vectors: Floats | None = None  # (num_layers, N, D), unit length
        self._occurrences: list[Occurrence] = []
        self._words: StaticVectors | None = None

    @property
    def words(self) -> StaticVectors:
        """The token-layer vectors of the most common words of the corpus."""
        if self._words is None:
            words = [word for word, _ in self._corpus.counts.most_common(MOST_STATIC)]
            vectors = [
                array[0, 0]
                for part in chunks(words)
                for array in self._encoder.layers([[word] for word in part])
            ]
            self._words = StaticVectors(words, np.stack(vectors), "the token layer")
        return self._words

    def describe(self) -> str:
        """The number of sampled tokens."""
        num_tokens = sum(len(self._corpus.sentences[number].tokens) for number in self._chosen)
        if len(self._chosen) == len(self._corpus.sentences):
            return f"all {num_tokens:,} tokens of the corpus"
        return (
            f"a sample of {num_tokens:,} of {self._corpus.num_tokens:,} tokens "
            f"(to search all of them, make an index)"
        )

    def layers(self, occurrence: Occurrence, number: int) -> list[list[Neighbour] | None]:
        """All layers but the token layer, at which a word is always nearest to itself."""
        if self._vectors is None:
            self._encode()
        assert self._vectors is not None
        queries = unit(self._encoder.layers([occurrence.tokens])[0][:, occurrence.place])
        is_same = np.array([other.tokens == occurrence.tokens for other in self._occurrences])
        found: list[list[Neighbour] | None] = [None]
        for vectors, query in zip(self._vectors[1:], queries[1:], strict=True):
            similarity = np.where(is_same, -np.inf, vectors @ query)
            order = np.argsort(-similarity, kind="stable").tolist()
            found.append(self._distinct(similarity, order, number))
        return found

    def _distinct(self, similarity: Floats, order: Sequence[int], number: int) -> list[Neighbour]:
        """The first ``number`` neighbours; a sentence that the text repeats is listed once."""
        found: dict[tuple[tuple[str, ...], int], Neighbour] = {}
        for row in order:
            if len(found) == number or similarity[row] == -np.inf:
                break
            other = self._occurrences[row]
            found.setdefault(
                (tuple(other.tokens), other.place), Neighbour(float(similarity[row]), other)
            )
        return list(found.values())

    def _encode(self) -> None:
        sentences = [self._corpus.sentences[number].tokens for number in self._chosen]
        layers = [array for part in chunks(sentences) for array in self._encoder.layers(part)]
        self._vectors = unit(np.concatenate(layers, axis=1))
        self._occurrences = [
            Occurrence(tokens, place) for tokens in sentences for place in range(len(tokens))
        ]


def _sampled_sentences(corpus: ExploredCorpus, seed: int, most_tokens: int) -> list[int]:
    if corpus.num_tokens <= most_tokens:
        return list(range(len(corpus.sentences)))
    chosen: list[int] = []
    for number in np.random.default_rng(seed).permutation(len(corpus.sentences)).tolist():
        most_tokens -= len(corpus.sentences[number].tokens)
        if most_tokens < 0:
            break
        chosen.append(number)
    return sorted(chosen)
