"""Table 4: the nearest neighbours of a word in its context and of its static vector."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.output.tables import Table
from elmokit.analysis.words.index import Neighbour, OccurrenceIndex
from elmokit.analysis.words.occurrences import Occurrence, find_marked
from elmokit.text.static_vectors import read_static_vectors


class StaticNeighbour(NamedTuple):
    """A word, and the cosine similarity of its static vector."""

    similarity: float
    word: str


@dataclass(frozen=True)
class ContextNeighbours:
    """The neighbours of one occurrence, in context and by static vectors."""

    occurrence: Occurrence
    layer: str
    neighbours: tuple[Neighbour, ...]
    static_source: str
    static: tuple[StaticNeighbour, ...] | None
    """None if the word has no static vector."""


def context_neighbours(
    index: OccurrenceIndex,
    encoder: Encoder,
    sentence: str,
    layer: int | None = None,
    number: int = 5,
    static: Path | None = None,
) -> ContextNeighbours:
    """The nearest neighbours of the word between asterisks in ``sentence``.

    ``layer``: default: the top layer of the index. ``static``: a file of static vectors; without
    it the model's token layer, which does not depend on the context, is used.
    """
    occurrence = find_marked(sentence)
    found = index.neighbours(encoder, occurrence, layer, number)
    vectors = index.words if static is None else read_static_vectors(static)
    words = None
    if vectors.row(occurrence.word) is not None:
        pairs = vectors.neighbours(occurrence.word, number)
        words = tuple(StaticNeighbour(similarity, word) for word, similarity in pairs)
    return ContextNeighbours(
        occurrence,
        encoder.layer_names[index.layers[-1] if layer is None else layer],
        tuple(found),
        "the token layer" if static is None else static.name,
        words,
    )


def neighbours_tables(result: ContextNeighbours) -> list[Table]:
    """Two tables: in context, and by static vectors."""
    rows = [(f"{found.similarity:.3f}", found.occurrence.text()) for found in result.neighbours]
    title = f"Nearest occurrences at {result.layer}: {result.occurrence.text()}"
    in_context = Table(title, ("cosine", "occurrence"), tuple(rows))
    title = f"Nearest words to “{result.occurrence.word}” by {result.static_source}"
    if result.static is None:
        note = f"{result.occurrence.word!r} has no vector there."
        return [in_context, Table(title, ("cosine", "word"), (), note)]
    words = tuple((f"{found.similarity:.3f}", found.word) for found in result.static)
    return [in_context, Table(title, ("cosine", "word"), words)]
