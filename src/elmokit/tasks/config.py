"""What a task run is: settings as frozen dataclasses, read from TOML, changed by ``--set``.

Every task has the same tables (``words``, ``characters``, ``elmo``, ``fit``, ``data``) and one of
its own, ``model``: the frozen dataclass its file defines.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from elmokit.config import require
from elmokit.errors import InputError
from elmokit.recipe import RECIPES, apply_setting, from_plain, read_toml, to_plain

BUILT_IN = RECIPES / "tasks"
Where = Literal["none", "input", "output", "both"]
Optimizer = Literal["adam", "adadelta", "adagrad", "sgd"]


@dataclass(frozen=True)
class WordsConfig:
    """Static vectors of words, at the input of every task model."""

    vectors: str = ""
    """A GloVe text file, or a folder of words.txt and vectors.npy; empty: randomly initialised."""
    dim: int = 100
    """Width of the vectors if ``vectors`` is empty; otherwise the file determines it."""
    is_tuned: bool = False
    """Train the vectors of the training words further; those of other words stay fixed."""
    min_count: int = 2
    """Training words that ``vectors`` lacks are learned if they occur at least this often."""
    max_words: int = 400_000
    """Read at most this many words of ``vectors``."""

    def __post_init__(self) -> None:
        require(self.dim >= 1, f"words.dim must be at least 1, got {self.dim}")
        require(self.min_count >= 1, f"words.min_count must be at least 1, got {self.min_count}")


@dataclass(frozen=True)
class CharactersConfig:
    """The task model's own character CNN (not the biLM's)."""

    num_filters: int = 0
    """Number of filters of each width; 0: no character CNN."""
    widths: tuple[int, ...] = (3,)
    dim: int = 16
    max_characters: int = 32
    """Bytes of a token that are read, markers included."""

    def __post_init__(self) -> None:
        require(
            self.num_filters >= 0,
            f"characters.num_filters must not be negative, got {self.num_filters}",
        )
        require(len(self.widths) > 0, "characters.widths must name at least one width")
        for width in self.widths:
            require(
                1 <= width <= self.max_characters,
                f"characters.widths must lie between 1 and max_characters, got {width}",
            )


@dataclass(frozen=True)
class ElmoConfig:
    """Where and how a task model uses ELMo."""

    where: Where = "input"
    layers: str = "mix"
    """mix: gamma * sum_j s_j h_j, learned; average: the same with equal s_j (gamma is learned);
    top: the last layer; a number: that layer."""
    l2: float = 0.001
    """lambda of the paper: this much of ||s||^2 is added to the loss."""
    dropout: float = 0.5
    """Dropout of ELMo's part of the input; 0 if the model applies dropout to its whole input."""
    output_dropout: float | None = None
    """Dropout of ELMo's part of the output; None: same as ``dropout``."""
    layer_norm: bool = False
    random_dim: int = 0
    """Width of fixed random vectors at the input, as a control that replaces ELMo; 0: none."""

    def __post_init__(self) -> None:
        require(
            self.layers in ("mix", "average", "top") or self.layers.isdecimal(),
            f"elmo.layers must be mix, average, top or a layer's number, got {self.layers!r}",
        )
        require(self.l2 >= 0, f"elmo.l2 must not be negative, got {self.l2}")
        for name in ("dropout", "output_dropout"):
            rate = getattr(self, name) or 0.0
            require(0 <= rate < 1, f"elmo.{name} must lie in [0, 1), got {rate}")
        require(
            self.random_dim >= 0, f"elmo.random_dim must not be negative, got {self.random_dim}"
        )


@dataclass(frozen=True)
class FitConfig:
    """How a model is trained; see ``fit.py``."""

    optimizer: Optimizer = "adam"
    learning_rate: float = 0.001
    rho: float = 0.95
    """Decay of Adadelta."""
    weight_decay: float = 0.0
    batch_size: int = 32
    """Examples per step."""
    max_batch_tokens: int = 20_000
    """A batch is cut where examples times the longest would exceed this."""
    max_epochs: int = 50
    patience: int = 10
    """Stop after this many epochs without a better development score."""
    halve_after: int = 0
    """Halve the learning rate after this many epochs without a better score; 0: never."""
    gradient_norm: float = 5.0
    """Clip the gradient's norm here; 0: never."""
    ema: float = 0.0
    """Score and keep an exponential moving average of the weights with this decay, less in the
    first steps; 0: none."""
    max_minutes: float = 0.0
    """Stop after the epoch in which training has used this much time in all; 0: no limit."""
    seed: int = 1

    def __post_init__(self) -> None:
        require(
            self.learning_rate > 0, f"fit.learning_rate must be positive, got {self.learning_rate}"
        )
        for name in ("batch_size", "max_batch_tokens", "max_epochs", "patience"):
            value = getattr(self, name)
            require(value >= 1, f"fit.{name} must be at least 1, got {value}")
        for name in ("halve_after", "gradient_norm", "max_minutes", "weight_decay"):
            value = getattr(self, name)
            require(value >= 0, f"fit.{name} must not be negative, got {value}")
        require(0 <= self.ema < 1, f"fit.ema must lie in [0, 1), got {self.ema}")


@dataclass(frozen=True)
class DataConfig:
    """Which part of the files is used; subsets are always drawn with the seed 0."""

    train_limit: int = 0
    """At most this many training examples; 0: all."""
    dev_limit: int = 0

    def __post_init__(self) -> None:
        for name in ("train_limit", "dev_limit"):
            value = getattr(self, name)
            require(value >= 0, f"data.{name} must not be negative, got {value}")


@dataclass(frozen=True)
class TaskConfig:
    """One run of one task."""

    task: str
    model: Any
    """The task's own frozen dataclass of sizes and dropouts."""
    words: WordsConfig = field(default_factory=WordsConfig)
    characters: CharactersConfig = field(default_factory=CharactersConfig)
    elmo: ElmoConfig = field(default_factory=ElmoConfig)
    fit: FitConfig = field(default_factory=FitConfig)
    data: DataConfig = field(default_factory=DataConfig)


def renamed(values: dict[str, Any]) -> dict[str, Any]:
    """Settings of recipes and stored runs, old names replaced by today's."""
    fit = values.get("fit")
    if isinstance(fit, dict) and "optimiser" in fit:  # its first name
        fit = {"optimizer" if name == "optimiser" else name: fit[name] for name in fit}
        return {**values, "fit": fit}
    return values


def changed(config: TaskConfig, values: dict[str, Any], where: str) -> TaskConfig:
    """``config`` with the settings in ``values`` (tables of plain values) put in place."""
    if values.get("task", config.task) != config.task:
        raise InputError(f"{where}: is for the task {values['task']!r}, not {config.task!r}")
    tables = {f.name for f in dataclasses.fields(config)} - {"task"}
    new = {}
    for name, table in renamed(values).items():
        if name == "task":
            continue
        if name not in tables:
            raise InputError(
                f"{where}: unknown table {name!r}; known are {', '.join(sorted(tables))}"
            )
        if not isinstance(table, dict):
            raise InputError(f"{where}: {name} must be a table of settings, got {table!r}")
        old = getattr(config, name)
        new[name] = from_plain(type(old), {**to_plain(old), **table}, f"{where}: [{name}]")
    return dataclasses.replace(config, **new)


def paper_settings(task: str, model_config: type[Any]) -> TaskConfig:
    """The settings of recipes/tasks/paper, from which every other recipe differs."""
    path = find_recipe(task, "paper")
    values = read_toml(path)
    model = from_plain(model_config, values.pop("model"), f"{path}: [model]")
    return from_plain(TaskConfig, {**values, "task": task, "model": model}, str(path))


def find_recipe(task: str, name_or_path: str | Path) -> Path:
    """``paper`` and ``cpu`` come with elmokit, one file per task; anything else is a file."""
    built_in = BUILT_IN / str(name_or_path) / f"{task}.toml"
    path = built_in if built_in.exists() else Path(name_or_path)
    if not path.is_file():
        names = ", ".join(sorted(folder.name for folder in BUILT_IN.iterdir()))
        raise InputError(f"{name_or_path}: no such recipe; elmokit's own are {names}")
    return path


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """``table.name=value`` strings of ``--set`` as tables.

    >>> parse_settings(["fit.batch_size=8", "elmo.where=both"])
    {'fit': {'batch_size': 8}, 'elmo': {'where': 'both'}}
    """
    tables: dict[str, Any] = {}
    for setting in settings:
        apply_setting(tables, setting)
    layers = tables.get("elmo", {}).get("layers")
    if isinstance(layers, int) and not isinstance(layers, bool):
        tables["elmo"]["layers"] = str(layers)
    return tables
