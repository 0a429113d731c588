"""What the explorer shows, as one typed document: its ``to_plain`` is the JSON that the page reads.

Sentences stand once in a table; everything else names a token by its sentence's number and place.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from elmokit.recipe import to_plain

FORMAT = "elmokit-exploration"
VERSION = 1

LabelKind = Literal["sense", "cluster", "document", "date"]


class Spot(NamedTuple):
    """A token: the number of its sentence in the table, and its place there."""

    sentence: int
    place: int


@dataclass(frozen=True)
class ModelFacts:
    """The model whose layers are shown."""

    name: str
    layers: tuple[str, ...]
    can_predict: bool
    """Has it a softmax, and so expectations?"""


@dataclass(frozen=True)
class CorpusFacts:
    """The text that was looked at, and how much of it is shown."""

    name: str
    num_sentences: int
    num_tokens: int
    is_cut: bool
    """There was more text than was read."""
    most_uses: int
    """Of each word; where there are more, a sample is shown."""
    seed: int
    """Of the samples."""
    searched: str
    """Where neighbours were looked for, in words."""
    common_words: tuple[str, ...] = ()
    """What can be looked up, the most promising first; the rest of the text is there, too."""


class TableSentence(NamedTuple):
    """A sentence of the table."""

    tokens: list[str]
    document: str
    """Empty: not known."""


@dataclass(frozen=True)
class Projection:
    """Uses of a word in a plane."""

    points: tuple[tuple[float, float], ...]
    """One per use; scaled so that their mean squared distance to the centre is 1."""
    variance: tuple[float, float]
    """Share of the variance that each axis holds before the plane was turned towards its
    neighbours; both are 0 where all uses have the same vector."""


@dataclass(frozen=True)
class Labels:
    """One way to colour the uses."""

    kind: LabelKind
    names: tuple[str, ...]
    of_use: tuple[int, ...]
    """A number of ``names`` per use, or -1: not known."""
    note: str = ""


@dataclass(frozen=True)
class WordUses:
    """Uses of a word, at every layer."""

    word: str
    num_found: int
    """Uses in the corpus; ``uses`` are those that are shown."""
    uses: tuple[Spot, ...]
    layers: tuple[Projection, ...]
    labels: tuple[Labels, ...]
    similarity: tuple[tuple[float, float | None, float | None], ...]
    """Mean cosine between two uses at each layer: all, of the same label, of different labels.
    Labels are those of the first kind; None: no such pair."""


class Expected(NamedTuple):
    """A word that a model expects, and its probability."""

    word: str
    probability: float


@dataclass(frozen=True)
class TokenExpectations:
    """What the model expects at the place of one token, without having read it."""

    forward: tuple[Expected, ...]
    backward: tuple[Expected, ...]
    both: tuple[Expected, ...]
    bits: tuple[float | None, float | None, float | None]
    """Surprisal of the token that stands there: forward, backward, both. None: not in the
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
    """None: this layer was not searched."""
    static: tuple[NearWord, ...] | None
    """None: there is no static vector of this word."""
    static_source: str


@dataclass(frozen=True)
class Exploration:
    """One model looks at one corpus."""

    model: ModelFacts
    corpus: CorpusFacts
    sentences: tuple[TableSentence, ...]
    words: tuple[WordUses, ...] = ()
    expectations: tuple[SentenceExpectations, ...] = ()
    similarities: tuple[SentenceSimilarity, ...] = ()
    neighbours: tuple[Neighbours, ...] = ()


@dataclass(frozen=True)
class WordComparison:
    """One number per layer that says how far two explorations agree about a word."""

    word: str
    kind: Literal["models", "corpora"]
    """models: the correlation of the cosines of all pairs of uses; corpora: the cosine of the mean
    vectors of the uses in either corpus."""
    layers: tuple[float | None, ...]


@dataclass(frozen=True)
class ExplorerData:
    """All that a page shows: one exploration, or two side by side."""

    explorations: tuple[Exploration, ...]
    comparisons: tuple[WordComparison, ...] = ()
    title: str = "elmokit explorer"
    is_live: bool = False
    """A server answers what the page does not hold."""
    format: str = FORMAT
    version: int = VERSION

    def to_json_value(self) -> dict[str, Any]:
        """Plain lists and dicts."""
        plain: dict[str, Any] = to_plain(self)
        return plain
