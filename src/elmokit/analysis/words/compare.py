"""Occurrences of a word compared: their cosine similarity at each layer of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.output.pictures import Picture, panels
from elmokit.analysis.output.tables import Table
from elmokit.analysis.words.occurrences import Occurrence, cosine, find_word, occurrence_vectors
from elmokit.errors import InputError
from elmokit.text.static_vectors import StaticVectors

STATIC = "static vector"
UNCASED = "static (uncased)"
"""One vector per word, the same for apple and Apple: their similarity is 1 by definition."""


class Pair(NamedTuple):
    """Two occurrences, by their numbers, and how similar they are."""

    first: int
    second: int
    similarity: tuple[float, ...]
    """Cosine at each layer."""
    static: float
    """Cosine of the static vectors: 1 by definition, or computed from a file of vectors."""


@dataclass(frozen=True)
class Comparison:
    """Every pair of occurrences of a word."""

    word: str
    occurrences: tuple[Occurrence, ...]
    layer_names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    static_name: str


def compare_occurrences(
    encoder: Encoder, word: str, sentences: Sequence[str], vectors: StaticVectors | None = None
) -> Comparison:
    """Cosine similarity of every pair of occurrences of ``word``, layer by layer."""
    if len(sentences) < 2:
        raise InputError(f"give at least two sentences with {word!r}, got {len(sentences)}")
    occurrences = [find_word(word, sentence) for sentence in sentences]
    layers = occurrence_vectors(encoder, occurrences)  # (N, num_layers, D)
    pairs = [
        Pair(
            first,
            second,
            tuple(float(value) for value in cosine(layers[first], layers[second])),
            _static(occurrences[first].word, occurrences[second].word, vectors),
        )
        for first, second in combinations(range(len(occurrences)), 2)
    ]
    static_name = UNCASED if vectors is None else STATIC
    return Comparison(word, tuple(occurrences), encoder.layer_names, tuple(pairs), static_name)


def _static(one: str, other: str, vectors: StaticVectors | None) -> float:
    if vectors is None:
        return 1.0
    first, second = vectors.vector(one), vectors.vector(other)
    if first is None or second is None:
        lacking = one if first is None else other
        raise InputError(f"{vectors.source} has no vector for {lacking!r}")
    return float(cosine(first, second))


def comparison_table(comparison: Comparison) -> Table:
    """One row per pair."""
    rows = [
        (
            f"{pair.first + 1} and {pair.second + 1}",
            f"{pair.static:.3f}",
            *(f"{value:.3f}" for value in pair.similarity),
        )
        for pair in comparison.pairs
    ]
    numbered = (
        f"{n}. {occurrence.text()}" for n, occurrence in enumerate(comparison.occurrences, start=1)
    )
    return Table(
        f"{comparison.word}: cosine similarity of its occurrences",
        ("sentences", comparison.static_name, *comparison.layer_names),
        tuple(rows),
        "  \n".join(numbered),
    )


def comparison_picture(comparison: Comparison) -> Picture:
    """One line per pair, over the layers."""
    series = {
        f"{pair.first + 1} and {pair.second + 1}": (pair.static, *pair.similarity)
        for pair in comparison.pairs
    }
    groups = (comparison.static_name, *comparison.layer_names)
    title = f"occurrences of “{comparison.word}”"
    return panels("compare", title, [title], groups, [series], "cosine similarity")
