"""Table 4: the nearest uses of a word in its sentence, beside the nearest words of its type."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.encoders import Encoder
from elmokit.analysis.tables import Table
from elmokit.analysis.use_index import Neighbour, UseIndex
from elmokit.analysis.uses import Use, find_marked
from elmokit.text.static_vectors import read_static_vectors


class StaticNeighbour(NamedTuple):
    similarity: float
    word: str


@dataclass(frozen=True)
class ContextNeighbours:
    use: Use
    layer: str
    neighbours: tuple[Neighbour, ...]
    static_source: str
    static: tuple[StaticNeighbour, ...] | None
    """None: there is no static vector for this word."""


def context_neighbours(
    index: UseIndex,
    encoder: Encoder,
    sentence: str,
    layer: int | None = None,
    number: int = 5,
    static: Path | None = None,
) -> ContextNeighbours:
    """Of the word between asterisks in ``sentence``.

    Without a file of static vectors, the model's own token layer stands for them: it sees the
    word alone.
    """
    use = find_marked(sentence)
    found = index.neighbours(encoder, use, layer, number)
    vectors = index.words if static is None else read_static_vectors(static)
    words = None
    if vectors.row(use.word) is not None:
        pairs = vectors.neighbours(use.word, number)
        words = tuple(StaticNeighbour(similarity, word) for word, similarity in pairs)
    return ContextNeighbours(
        use,
        encoder.layer_names[index.layers[-1] if layer is None else layer],
        tuple(found),
        "the token layer" if static is None else static.name,
        words,
    )


def neighbours_tables(result: ContextNeighbours) -> list[Table]:
    rows = [(f"{found.similarity:.3f}", found.use.text()) for found in result.neighbours]
    title = f"Nearest uses at {result.layer}: {result.use.text()}"
    in_context = Table(title, ("cosine", "use"), tuple(rows))
    title = f"Nearest words to “{result.use.word}” by {result.static_source}"
    if result.static is None:
        note = f"{result.use.word!r} has no vector there."
        return [in_context, Table(title, ("cosine", "word"), (), note)]
    words = tuple((f"{found.similarity:.3f}", found.word) for found in result.static)
    return [in_context, Table(title, ("cosine", "word"), words)]
