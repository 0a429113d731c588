"""What a model is: sizes, parameters by part, what comes with it."""

from dataclasses import dataclass

from elmokit.config import ModelConfig
from elmokit.model.kernels.lstm_inference import describe_auto
from elmokit.weights.pretrained import PretrainedModel

_PARTS = (
    ("characters", "encoder.char_cnn.embedding."),
    ("words", "encoder.words."),
    ("convolutions", "encoder.char_cnn.convolutions."),
    ("highways", "encoder.char_cnn.highways."),
    ("token projection", "encoder.projection."),
    ("forward LSTM", "forward_lstm."),
    ("backward LSTM", "backward_lstm."),
)


@dataclass(frozen=True)
class ModelInfo:
    """What ``elmokit info`` prints: a model's format, sizes, parameters and card."""

    source: str
    format: str
    num_layers: int
    """L + 1: the number of layers, including the token layer."""
    vector_dim: int
    """D, the width of a layer."""
    parameters: dict[str, int]
    """By part of the biLM; the softmax is not among them."""
    tokens: str
    """How a token becomes a vector, in words."""
    lstm: str
    """The stack of LSTMs, in words."""
    num_output_words: int | None
    """Vocabulary of the softmax, where there is one."""
    has_settled_state: bool
    auto_precision: str
    """What ``precision="auto"`` means on this machine, and why."""
    licence: str | None
    card: dict[str, str]

    @property
    def num_parameters(self) -> int:
        """The parameters of the biLM, without the softmax."""
        return sum(self.parameters.values())

    def lines(self) -> list[str]:
        """Return the description as lines of text."""
        words = "none" if self.num_output_words is None else f"{self.num_output_words:,} words"
        rows = [
            ("model", self.source),
            ("format", self.format),
            ("layers", f"{self.num_layers} x {self.vector_dim}"),
            ("tokens", self.tokens),
            ("LSTM", self.lstm),
            ("parameters", f"{self.num_parameters:,}"),
            *((f"  {part}", f"{count:,}") for part, count in self.parameters.items()),
            ("softmax", words),
            ("settled state", "yes" if self.has_settled_state else "no"),
            ("auto precision", self.auto_precision),
            ("licence", self.licence or "not stated in the files"),
            *((name, value) for name, value in self.card.items() if name not in _LICENCE_KEYS),
        ]
        width = max(len(name) for name, _ in rows) + 2
        return [f"{name:<{width}}{value}" for name, value in rows]


_LICENCE_KEYS = ("licence", "license")


def info(model: PretrainedModel) -> ModelInfo:
    """Describe a model."""
    shapes = {name: tensor.numel() for name, tensor in model.bilm.state_dict().items()}
    counts = {
        part: sum(count for name, count in shapes.items() if name.startswith(prefix))
        for part, prefix in _PARTS
    }
    words = model.output_words
    licences = [model.card[key] for key in _LICENCE_KEYS if key in model.card]
    return ModelInfo(
        source=model.source,
        format=model.format,
        num_layers=model.bilm.num_layers,
        vector_dim=model.config.vector_dim,
        parameters={part: count for part, count in counts.items() if count},
        tokens=_describe_tokens(model.config),
        lstm=_describe_lstm(model.config),
        num_output_words=None if words is None else len(words.vocabulary),
        has_settled_state=model.settled is not None,
        auto_precision=describe_auto(model.bilm.device),
        licence=licences[0] if licences else None,
        card=dict(model.card),
    )


def _describe_tokens(config: ModelConfig) -> str:
    parts = []
    if config.words is not None:
        parts.append(f"{config.words.num_words:,} word vectors of {config.words.dim}")
    if config.char_cnn is not None:
        cnn = config.char_cnn
        kind = "UTF-8 bytes" if config.characters == "utf8" else "Unicode characters"
        parts.append(
            f"at most {cnn.max_characters} {kind} of {cnn.embedding_dim}, "
            f"{cnn.num_filters:,} {cnn.activation} filters of width "
            f"{'/'.join(str(width) for width, _ in cnn.filters)}, {cnn.num_highway} highway"
        )
    projected = f", projected to {config.lstm.projection_dim}"
    return " + ".join(parts) + (projected if config.has_token_projection else "")


def _describe_lstm(config: ModelConfig) -> str:
    lstm = config.lstm
    parts = [f"{lstm.num_layers} x {lstm.dim:,}"]
    parts.append(f"projected to {lstm.projection_dim}" if lstm.has_projection else "no projection")
    if lstm.use_skip_connections and lstm.num_layers > 1:
        parts.append("skip connections")
    for name, clip in (("cell", lstm.cell_clip), ("projection", lstm.projection_clip)):
        if clip is not None:
            parts.append(f"{name} clipped at {clip:g}")
    return ", ".join(parts)
