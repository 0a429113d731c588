"""A recipe: everything a training run is told, in one TOML file people can read and change."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

from elmokit.config import ModelConfig, from_dict, require, to_dict
from elmokit.errors import InputError
from elmokit.text.token_ids import word_table_size

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
BUILT_IN = Path(__file__).parent.parent / "recipes"


@dataclass(frozen=True)
class TrainConfig:
    """How to train. Defaults are the outcome of the study in docs/decisions.md."""

    start_from: str = ""
    """A model whose weights and softmax the run begins with; empty: weights drawn at random."""
    skip_tokens: int = 0
    """Of the first epoch, what ``start_from`` has read already; counted in no budget."""
    vectors: str = ""
    """Static vectors (a GloVe file or folder) that softmax and character CNN begin with."""
    vectors_steps: int = 2000
    """Steps in which the character CNN is fitted to them."""
    num_epochs: float = 1.0
    max_tokens: int | None = None
    """Stop after this many tokens, whatever the epochs say."""
    batch_size: int = 128
    """Streams read side by side, over all processes."""
    window: int = 20
    """Tokens between two updates; state is carried over, gradients are not."""
    num_negatives: int = 4096
    """Words the sampled softmax compares with, shared by the batch; 0 = the full softmax."""
    optimizer: Literal["adam", "adagrad"] = "adam"
    learning_rate: float = 0.002
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    """How the rate falls to zero at the end of the budget."""
    decay_share: float = 1.0
    """The rate falls over this last share of the budget and is held before it."""
    warmup_share: float = 0.02
    dropout: float = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of the LSTMs' matrix products; weights, state and softmax are float32 either way."""
    clip_norm: float = 10.0
    reset_share: float = 0.5
    """Share of sentence starts at which the state is set to zero."""
    scale_loss_by_window: bool = False
    """Multiply the loss by the window before the gradient, as the original did."""
    adagrad_start: float = 1.0
    seed: int = 1
    evaluate_every: int = 1000
    """Steps between two held-out perplexities."""
    evaluate_tokens: int = 50_000
    """Held-out tokens used during training; the last evaluation uses all of them."""
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
        for name in ("num_negatives", "patience", "skip_tokens", "vectors_steps"):
            require(getattr(self, name) >= 0, f"train.{name} must not be negative")
        for name in ("decay_share", "warmup_share", "dropout", "reset_share"):
            value = getattr(self, name)
            require(0.0 <= value <= 1.0, f"train.{name} must lie between 0 and 1, got {value}")
        require(self.dropout < 1.0, "train.dropout must be less than 1")
        for name in ("num_epochs", "learning_rate", "clip_norm", "adagrad_start"):
            value = getattr(self, name)
            require(value > 0, f"train.{name} must be positive, got {value}")


@dataclass(frozen=True)
class Recipe:
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)

    def to_dict(self) -> dict[str, Any]:
        return {**to_dict(self.model), "train": to_dict(self.train)}


def with_word_table(model: ModelConfig, num_words: int) -> ModelConfig:
    """The model with a word table, where it has one, for a vocabulary of ``num_words``."""
    if model.words is None:
        return model
    return replace(model, words=replace(model.words, num_words=word_table_size(num_words)))


def read_recipe(name_or_path: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """A built-in recipe by name, or any by path, with ``--set table.name=value`` changes."""
    path = Path(name_or_path)
    built_in = BUILT_IN / f"{name_or_path}.toml"
    if not path.is_file() and built_in.is_file():
        path = built_in
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in BUILT_IN.glob("*.toml")))
        raise InputError(f"{path}: no such recipe; give a .toml file or one of: {names}")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None
    for change in changes:
        apply_change(values, change)
    return recipe_from_dict(values, str(path))


def apply_change(values: dict[str, Any], change: str) -> None:
    """``lstm.dim=512`` into a nested table; the value is read as TOML, else as a plain word."""
    key, separator, text = change.partition("=")
    names = key.strip().split(".")
    if not separator or not all(names):
        raise InputError(f"--set {change}: write it as table.name=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = None if text.strip() == "none" else text.strip()
    for name in names[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise InputError(f"--set {change}: {name} is not a table")
    values[names[-1]] = value


def recipe_from_dict(values: dict[str, Any], where: str) -> Recipe:
    values = dict(values)
    train = from_dict(TrainConfig, values.pop("train", {}), f"{where} [train]")
    if values.get("words") is not None:
        values["words"] = {"num_words": 1, **values["words"]}  # the corpus will tell
        values.setdefault("char_cnn", None)
    draft = from_dict(ModelConfig, values, where)
    # Where widths agree, the layer between them is left out, as in the published files.
    lstm = dict(values.get("lstm", {}))
    lstm.setdefault("has_projection", draft.lstm.dim != draft.lstm.projection_dim)
    values["lstm"] = lstm
    values.setdefault("has_token_projection", draft.feature_dim != draft.lstm.projection_dim)
    return Recipe(from_dict(ModelConfig, values, where), train)
