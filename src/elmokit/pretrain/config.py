"""A recipe: all settings of a training run, in one TOML file."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

from elmokit.config import ModelConfig, require
from elmokit.errors import InputError
from elmokit.recipe import RECIPES, apply_setting, from_plain, read_toml, to_plain
from elmokit.text.token_ids import word_table_size

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int16": torch.int16}


@dataclass(frozen=True)
class TrainConfig:
    """How to train. The defaults were chosen by the study in docs/reference/decisions.md."""

    start_from: str = ""
    """A model whose weights and softmax the run starts from; empty: randomly initialised weights.
    The model may have fewer cells (``lstm.dim`` must be a multiple of its own), and with
    ``vectors`` it may lack words of the corpus."""
    skip_tokens: int = 0
    """Tokens of the first epoch to skip, because ``start_from`` was trained on them; they do not
    count towards ``max_tokens``."""
    vectors: str = ""
    """Static vectors (a GloVe file or folder) to initialise the softmax and character CNN with."""
    vectors_steps: int = 2000
    """Steps that fit the character CNN to the static vectors."""
    num_epochs: float = 1.0
    max_tokens: int | None = None
    """Stop after this many tokens, regardless of ``num_epochs``."""
    batch_size: int = 128
    """Streams of text read in parallel, over all processes."""
    window: int = 20
    """Tokens between two updates; state is carried over, gradients are not."""
    num_negatives: int = 4096
    """Negative samples of the softmax, shared by the batch; 0 = the full softmax."""
    optimizer: Literal["adam", "adagrad"] = "adam"
    learning_rate: float = 0.002
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    """How the learning rate decays to zero at the end of the budget."""
    decay_share: float = 1.0
    """The last share of the budget, over which the rate decays; before that it is constant."""
    warmup_share: float = 0.02
    dropout: float = 0.0
    precision: Literal["float32", "bfloat16", "int16", "auto"] = "float32"
    """Precision of the matrix products of highways and LSTMs, and of the sampled softmax's
    gradient; weights, states and the softmax's predictions are always float32. ``int16`` rounds
    the factors of the LSTMs' products only, and more finely than bfloat16.
    ``auto``: bfloat16 if the processor has instructions for it, int16 if it has AVX2 or AVX-512
    VNNI (and a C compiler, and one or two threads), else float32; decided when the run starts, and
    kept when it is resumed on another machine."""
    average: int = 0
    """Steps over which the weights are averaged (an exponential moving average) for evaluation and
    export; 0 = use the weights of the last step."""
    clip_norm: float = 10.0
    reset_share: float = 0.5
    """The share of sentence starts at which the state is reset to zero."""
    context: float = 0.0
    """Weight of a second loss, which trains the top layer at a word to identify the surrounding
    words, so that it encodes the topic of the text; 0 = off. Words are compared by ``vectors`` or,
    without them, by the softmax. Only used in training, and not included in the reported losses."""
    meaning: float = 0.0
    """Weight of a third loss: a linear map of a token vector has to give the word's vector in
    ``vectors``, so that the character CNN knows what rare words mean; 0 = off. Only used in
    training, and not included in the reported losses."""
    scale_loss_by_window: bool = False
    """Multiply the loss by the window before computing the gradient, as bilm-tf did."""
    adagrad_start: float = 1.0
    seed: int = 1
    evaluate_every: int = 1000
    """Steps between two evaluations of the held-out perplexity."""
    evaluate_tokens: int = 50_000
    """Held-out tokens used for evaluation during training."""
    final_evaluate_tokens: int = 200_000
    """Held-out tokens used for evaluation at the end; 0 = all of them."""
    checkpoint_every: int = 500
    keep_checkpoints: int = 2
    patience: int = 0
    """Stop after this many evaluations without a better perplexity; 0 = never."""

    def __post_init__(self) -> None:
        for name in (
            "batch_size", "window", "evaluate_every", "evaluate_tokens", "checkpoint_every",
            "keep_checkpoints",
        ):  # fmt: skip
            value = getattr(self, name)
            require(value >= 1, f"train.{name} must be at least 1, got {value}")
        for name in (
            "num_negatives", "patience", "skip_tokens", "vectors_steps", "average",
            "final_evaluate_tokens",
        ):  # fmt: skip
            value = getattr(self, name)
            require(value >= 0, f"train.{name} must not be negative, got {value}")
        for name in ("decay_share", "warmup_share", "dropout", "reset_share"):
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, f"train.{name} must lie between 0 and 1, got {value}")
        for name in ("context", "meaning"):
            value = getattr(self, name)
            require(value >= 0, f"train.{name} must not be negative, got {value}")
        require(
            self.meaning == 0 or bool(self.vectors),
            "train.meaning needs static vectors; give them as train.vectors",
        )
        require(self.dropout < 1.0, f"train.dropout must be less than 1, got {self.dropout}")
        for name in ("num_epochs", "learning_rate", "clip_norm", "adagrad_start"):
            value = getattr(self, name)
            require(value > 0, f"train.{name} must be positive, got {value}")


@dataclass(frozen=True)
class Recipe:
    """The sizes of a model and how to train it: the contents of one .toml file."""

    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def to_plain(self) -> dict[str, Any]:
        """The tables of the .toml file, as JSON can hold them."""
        return {**to_plain(self.model), "train": to_plain(self.train)}


def with_word_table(model: ModelConfig, num_words: int) -> ModelConfig:
    """The model with its word table, if any, resized to a vocabulary of ``num_words``."""
    if model.words is None:
        return model
    return replace(model, words=replace(model.words, num_words=word_table_size(num_words)))


def read_recipe(name_or_path: str | Path, settings: Sequence[str] = ()) -> Recipe:
    """A built-in recipe by name, or any by path, with ``--set table.name=value`` changes."""
    path = Path(name_or_path)
    built_in = RECIPES / f"{name_or_path}.toml"
    if not path.is_file() and built_in.is_file():
        path = built_in
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in RECIPES.glob("*.toml")))
        raise InputError(f"{path}: no such recipe; give a .toml file or one of: {names}")
    if not settings:
        return recipe_from_plain(read_toml(path), str(path))
    values = read_toml(path)
    for setting in settings:
        apply_setting(values, setting)
    try:
        return recipe_from_plain(values, "--set")
    except InputError:
        recipe_from_plain(read_toml(path), str(path))  # raises if the file itself is wrong
        raise


def recipe_from_plain(values: dict[str, Any], where: str) -> Recipe:
    """A recipe from the tables of a .toml file; ``where`` names it in messages."""
    values = dict(values)
    train = from_plain(TrainConfig, values.pop("train", {}), f"{where} [train]")
    if values.get("words") is not None:
        values["words"] = {"num_words": 1, **values["words"]}  # set later, from the corpus
        values.setdefault("char_cnn", None)
    draft = from_plain(ModelConfig, values, where)
    # If the widths agree, the projection is left out, as in the published files.
    lstm = dict(values.get("lstm", {}))
    lstm.setdefault("has_projection", draft.lstm.dim != draft.lstm.projection_dim)
    values["lstm"] = lstm
    values.setdefault("has_token_projection", draft.feature_dim != draft.lstm.projection_dim)
    return Recipe(from_plain(ModelConfig, values, where), train)
