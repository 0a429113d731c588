"""What the explorer shows, as one typed document; its ``to_plain`` is the JSON that the page reads.

Each sentence is stored once, in a table; everything else refers to a token by the number of its
sentence and its position in it.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from elmokit.recipe import to_plain

FORMAT = "elmokit-exploration"
VERSION = 1

LabelKind = Literal["sense", "cluster", "document", "date"]


class Spot(NamedTuple):
    """A token: the number of its sentence in the table, and its position in the sentence."""

    sentence: int
    place: int


@dataclass(frozen=True)
class ModelFacts:
    """The model whose layers are shown."""

    name: str
    layers: tuple[str, ...]
    can_predict: bool
    """Whether it has a softmax, which expectations need."""


@dataclass(frozen=True)
class CorpusFacts:
    """The text, and how much of it is shown."""

    name: str
    num_sentences: int
    num_tokens: int
    is_cut: bool
    """Whether there was more text than was read."""
    most_uses: int
    """The maximum number of occurrences per word; if there are more, a sample is shown."""
    seed: int
    """Seed of the samples."""
    searched: str
    """Where neighbours were searched, as text."""
    common_words: tuple[str, ...] = ()
    """Suggested words, most promising first; all other words can be looked up too."""


class TableSentence(NamedTuple):
    """A sentence of the table."""

    tokens: list[str]
    document: str
    """Empty if unknown."""


@dataclass(frozen=True)
class Projection:
    """Occurrences of a word in a plane."""

    points: tuple[tuple[float, float], ...]
    """One per occurrence; scaled so that their mean squared distance to the centre is 1."""
    variance: tuple[float, float]
    """Share of the variance explained by each axis before the plane was aligned with its
    neighbours; both are 0 if all occurrences have the same vector."""


@dataclass(frozen=True)
class Labels:
    """One way to colour the occurrences."""

    kind: LabelKind
    names: tuple[str, ...]
    of_use: tuple[int, ...]
    """For each occurrence, an index into ``names``, or -1 if unknown."""
    note: str = ""


@dataclass(frozen=True)
class WordOccurrences:
    """The occurrences of a word, at every layer."""

    word: str
    num_found: int
    """Number of occurrences in the corpus; ``uses`` holds those that are shown."""
    uses: tuple[Spot, ...]
    layers: tuple[Projection, ...]
    labels: tuple[Labels, ...]
    similarity: tuple[tuple[float, float | None, float | None], ...]
    """At each layer, the mean cosine over all pairs of occurrences, over pairs with the same label
    and over pairs with different labels (of the first kind); None if there is no such pair."""


class Expected(NamedTuple):
    """A word that a model expects, and its probability."""

    word: str
    probability: float


@dataclass(frozen=True)
class TokenExpectations:
    """What the model expects at the position of one token, without having read it."""

    forward: tuple[Expected, ...]
    backward: tuple[Expected, ...]
    both: tuple[Expected, ...]
    bits: tuple[float | None, float | None, float | None]
    """Surprisal of the actual token: forward, backward, both; None if it is not in the
    vocabulary."""


@dataclass(frozen=True)
class SentenceExpectations:
    """A sentence, token by token."""

    sentence: int
    tokens: tuple[TokenExpectations, ...]


@dataclass(frozen=True)
class SentenceSimilarity:
    """Cosine of every token of one sentence and every token of another, at each layer."""

    first: int
    second: int
    layers: tuple[tuple[tuple[float, ...], ...], ...]


class Near(NamedTuple):
    """A token near another one, and their cosine similarity."""

    sentence: int
    place: int
    similarity: float


class NearWord(NamedTuple):
    """A word near another one by vectors that see no context."""

    word: str
    similarity: float


@dataclass(frozen=True)
class Neighbours:
    """The nearest tokens of the corpus, beside the nearest words by static vectors."""

    sentence: int
    place: int
    layers: tuple[tuple[Near, ...] | None, ...]
    """None for a layer that was not searched."""
    static: tuple[NearWord, ...] | None
    """None if the word has no static vector."""
    static_source: str


@dataclass(frozen=True)
class Exploration:
    """One model on one corpus."""

    model: ModelFacts
    corpus: CorpusFacts
    sentences: tuple[TableSentence, ...]
    words: tuple[WordOccurrences, ...] = ()
    expectations: tuple[SentenceExpectations, ...] = ()
    similarities: tuple[SentenceSimilarity, ...] = ()
    neighbours: tuple[Neighbours, ...] = ()


@dataclass(frozen=True)
class WordComparison:
    """One number per layer: how well two explorations agree about a word."""

    word: str
    kind: Literal["models", "corpora"]
    """``models``: the correlation of the cosines of all pairs of occurrences; ``corpora``: the
    cosine between the mean vectors of the occurrences in the two corpora."""
    layers: tuple[float | None, ...]


@dataclass(frozen=True)
class ExplorerData:
    """All that a page shows: one exploration, or two side by side."""

    explorations: tuple[Exploration, ...]
    comparisons: tuple[WordComparison, ...] = ()
    title: str = "elmokit explorer"
    is_live: bool = False
    """Whether a server answers requests for data that the page does not hold."""
    format: str = FORMAT
    version: int = VERSION

    def to_json_value(self) -> dict[str, Any]:
        """Plain lists and dicts."""
        plain: dict[str, Any] = to_plain(self)
        return plain
