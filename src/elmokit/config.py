"""Frozen dataclasses that define a model's shape; stored as JSON beside weights, TOML in recipes.

Every dataclass validates itself when it is built, so an existing config is always valid.
"""

from dataclasses import dataclass, field
from typing import Literal

from elmokit.errors import InputError

MOST_LAYERS = 64
MOST_FILTER_GROUPS = 64
WIDEST = 1 << 16
"""The maximum of cells, projections, filters and vector widths: 16 times the published sizes."""
MOST_CHARACTERS = 1 << 12
"""The maximum number of characters per token."""
MOST_ROWS = 1 << 26
"""The maximum number of rows of a table of characters or words."""


def require(condition: bool, message: str) -> None:
    """Raise ``InputError`` with ``message`` unless the condition holds."""
    if not condition:
        raise InputError(message)


def require_at_most(name: str, value: int, limit: int) -> None:
    """Reject an implausible size, so that an untrusted file cannot exhaust memory."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    require(is_whole, f"{name} must be a whole number, got {value!r}")
    require(value <= limit, f"{name} must be at most {limit:,}, got {value:,}")


@dataclass(frozen=True)
class CharCnnConfig:
    """The character CNN: characters of one token -> F features."""

    num_characters: int = 262
    """Rows of the character table; row 0 is the mask and stays zero."""
    embedding_dim: int = 16
    filters: tuple[tuple[int, int], ...] = (
        (1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024),
    )  # fmt: skip
    """(width, number) of each group of filters."""
    max_characters: int = 50
    num_highway: int = 2
    activation: Literal["relu", "tanh"] = "relu"

    def __post_init__(self) -> None:
        require(len(self.filters) > 0, "char_cnn.filters must name at least one (width, number)")
        require(
            len(self.filters) <= MOST_FILTER_GROUPS,
            f"char_cnn.filters must have at most {MOST_FILTER_GROUPS} pairs, "
            f"got {len(self.filters):,}",
        )
        require_at_most("char_cnn.max_characters", self.max_characters, MOST_CHARACTERS)
        require_at_most("char_cnn.num_highway", self.num_highway, MOST_LAYERS)
        require_at_most("char_cnn.embedding_dim", self.embedding_dim, WIDEST)
        require_at_most("char_cnn.num_characters", self.num_characters, MOST_ROWS)
        require(
            self.embedding_dim >= 1,
            f"char_cnn.embedding_dim must be at least 1, got {self.embedding_dim}",
        )
        for width, number in self.filters:
            require_at_most("the width of char_cnn.filters", width, MOST_CHARACTERS)
            require_at_most("the number of char_cnn.filters", number, WIDEST)
            require(
                width >= 1 and number >= 1,
                f"char_cnn.filters: width and number must be at least 1, got [{width}, {number}]",
            )
        require_at_most("the number of char_cnn.filters", self.num_filters, WIDEST)
        widest = max(width for width, _ in self.filters)
        require(
            widest <= self.max_characters,
            f"char_cnn.filters: the widest filter ({widest}) exceeds max_characters = "
            f"{self.max_characters}",
        )
        require(
            self.max_characters >= 3,
            f"char_cnn.max_characters must be at least 3, got {self.max_characters}",
        )
        require(
            self.num_highway >= 0,
            f"char_cnn.num_highway must not be negative, got {self.num_highway}",
        )
        require(
            self.activation in ("relu", "tanh"),
            f"char_cnn.activation must be relu or tanh, got {self.activation!r}",
        )

    @property
    def num_filters(self) -> int:
        """F: the number of filters of all widths, which is the width of the CNN's output."""
        return sum(number for _, number in self.filters)


@dataclass(frozen=True)
class WordTableConfig:
    """A table of word vectors, instead of the character CNN or (ELMoForManyLangs) beside it."""

    num_words: int
    dim: int

    def __post_init__(self) -> None:
        require(self.num_words >= 1, f"words.num_words must be at least 1, got {self.num_words}")
        require(self.dim >= 1, f"words.dim must be at least 1, got {self.dim}")
        require_at_most("words.num_words", self.num_words, MOST_ROWS)
        require_at_most("words.dim", self.dim, WIDEST)


@dataclass(frozen=True)
class LstmConfig:
    """One direction's stack of projected, clipped LSTMs."""

    dim: int = 4096
    """Cell width H."""
    projection_dim: int = 512
    """Output width P."""
    num_layers: int = 2
    use_skip_connections: bool = True
    """From the second layer on, add the layer's input to its output."""
    has_projection: bool = True
    """False (only when dim == projection_dim): the output is o * tanh(c) itself, unclipped."""
    cell_clip: float | None = 3.0
    projection_clip: float | None = 3.0
    forget_bias: float = 1.0
    """Added to the forget gate at run time: 1 in bilm-tf files, 0 in ELMoForManyLangs."""

    def __post_init__(self) -> None:
        for name in ("dim", "projection_dim", "num_layers"):
            value = getattr(self, name)
            require(value >= 1, f"lstm.{name} must be at least 1, got {value}")
            require_at_most(f"lstm.{name}", value, MOST_LAYERS if name == "num_layers" else WIDEST)
        for name in ("cell_clip", "projection_clip"):
            value = getattr(self, name)
            require(value is None or value > 0, f"lstm.{name} must be positive, got {value}")
        require(
            self.has_projection or self.dim == self.projection_dim,
            f"lstm without projection needs dim == projection_dim, "
            f"got {self.dim} and {self.projection_dim}",
        )


CharacterScheme = Literal["utf8", "unicode"]
"""Whether a model reads UTF-8 bytes or Unicode code points."""


@dataclass(frozen=True)
class ModelConfig:
    """A biLM: how tokens become vectors, and the two stacks of LSTMs above them."""

    lstm: LstmConfig = field(default_factory=LstmConfig)
    char_cnn: CharCnnConfig | None = field(default_factory=CharCnnConfig)
    words: WordTableConfig | None = None
    characters: CharacterScheme = "utf8"
    """utf8: bytes (bilm-tf); unicode: code points from a dictionary (ELMoForManyLangs)."""
    has_token_projection: bool = True
    """A linear layer from the features of a token to P; may be False only if the widths agree."""

    def __post_init__(self) -> None:
        require(
            self.char_cnn is not None or self.words is not None,
            "a model needs char_cnn, words, or both",
        )
        require(
            self.has_token_projection or self.feature_dim == self.lstm.projection_dim,
            f"without a token projection the {self.feature_dim} features must equal "
            f"lstm.projection_dim = {self.lstm.projection_dim}",
        )

    @property
    def feature_dim(self) -> int:
        """Width of a token before its projection: word vector and filters side by side."""
        words = self.words.dim if self.words else 0
        return words + (self.char_cnn.num_filters if self.char_cnn else 0)

    @property
    def vector_dim(self) -> int:
        """D = 2P, the width of every layer."""
        return 2 * self.lstm.projection_dim
