"""Two uses of a word: how far apart they are at each layer, where a static vector has but one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from elmokit.analysis.encoders import Encoder
from elmokit.analysis.pictures import Picture, panels
from elmokit.analysis.tables import Table
from elmokit.analysis.uses import Use, cosine, find_word, use_vectors
from elmokit.errors import InputError
from elmokit.text.static_vectors import StaticVectors

STATIC = "static vector"
UNCASED = "static (uncased)"
"""One vector a word, apple and Apple alike: similarity 1 by definition."""


class Pair(NamedTuple):
    first: int
    second: int
    similarity: tuple[float, ...]
    """Cosine at each layer."""
    static: float
    """Of static vectors, which see the word alone: 1 by definition, or as the file has them."""


@dataclass(frozen=True)
class Comparison:
    word: str
    uses: tuple[Use, ...]
    layer_names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    static_name: str


def compare_uses(
    encoder: Encoder, word: str, sentences: Sequence[str], vectors: StaticVectors | None = None
) -> Comparison:
    """Cosine similarity of every two uses of ``word``, layer by layer."""
    if len(sentences) < 2:
        raise InputError(f"give at least two sentences with {word!r}, got {len(sentences)}")
    uses = [find_word(word, sentence) for sentence in sentences]
    layers = use_vectors(encoder, uses)  # (N, num_layers, D)
    pairs = [
        Pair(
            first,
            second,
            tuple(float(value) for value in cosine(layers[first], layers[second])),
            _static(uses[first].word, uses[second].word, vectors),
        )
        for first, second in combinations(range(len(uses)), 2)
    ]
    static_name = UNCASED if vectors is None else STATIC
    return Comparison(word, tuple(uses), encoder.layer_names, tuple(pairs), static_name)


def _static(one: str, other: str, vectors: StaticVectors | None) -> float:
    if vectors is None:
        return 1.0
    first, second = vectors.vector(one), vectors.vector(other)
    if first is None or second is None:
        lacking = one if first is None else other
        raise InputError(f"{vectors.source} has no vector for {lacking!r}")
    return float(cosine(first, second))


def comparison_table(comparison: Comparison) -> Table:
    rows = [
        (
            f"{pair.first + 1} and {pair.second + 1}",
            f"{pair.static:.3f}",
            *(f"{value:.3f}" for value in pair.similarity),
        )
        for pair in comparison.pairs
    ]
    numbered = (f"{n}. {use.text()}" for n, use in enumerate(comparison.uses, start=1))
    return Table(
        f"{comparison.word}: cosine similarity of its uses",
        ("sentences", comparison.static_name, *comparison.layer_names),
        tuple(rows),
        "  \n".join(numbered),
    )


def comparison_picture(comparison: Comparison) -> Picture:
    series = {
        f"{pair.first + 1} and {pair.second + 1}": (pair.static, *pair.similarity)
        for pair in comparison.pairs
    }
    groups = (comparison.static_name, *comparison.layer_names)
    title = f"uses of “{comparison.word}”"
    return panels("compare", title, [title], groups, [series], "cosine similarity")
