"""FILES -> A TRAINED TASK -> ANSWERS: what ``elmokit task`` does, as functions.

FOLDER/task.json          settings, labels, and which ELMo model it needs
       words.json, words.safetensors    the word vectors it started from
       best.safetensors   its weights; training.pt and log.jsonl: see fit.py
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import elmokit
from elmokit.config import to_dict
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.scalar_mix import ScalarMix
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import TaskConfig, changed
from elmokit.tasks.fit import FitState, evaluate, fit, load_weights, predict_all
from elmokit.tasks.layer_cache import ComputedLayers, LayerCache
from elmokit.tasks.static_vectors import WordTable, build_word_table, load_word_table
from elmokit.tasks.task import Scores, Task, TaskModel
from elmokit.tasks.token_vectors import LayerSource, TokenVectors

FORMAT = 1
Examples = str | Path | Sequence[Any]
"""A file, or examples read (or made) before."""
PREDICT_AT_ONCE = 64
"""Examples of a stream that are predicted together."""
_MAY_CHANGE = ("max_epochs", "patience", "max_minutes")
"""Settings of ``fit`` that a run may be continued with."""


@dataclass(frozen=True)
class CacheConfig:
    """Where the layers of the frozen biLM are kept; see ``layer_cache.py``."""

    folder: Path | None = None
    """Default: the user's cache folder."""
    is_used: bool = True
    precision: Any = "float32"
    max_gigabytes: float = 20.0


@dataclass(frozen=True)
class TrainedTask:
    """A task model that is ready to answer."""

    task: Task[Any, Any]
    model: TaskModel[Any, Any]
    config: TaskConfig
    elmo: str
    """Where its ELMo model was read from; empty without ELMo."""

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        return predict_all(self.task, self.model, examples, self.config.fit, quiet=True)

    def score(self, examples: Sequence[Any], *, quiet: bool = True) -> Scores:
        return evaluate(self.task, self.model, examples, self.config.fit, quiet=quiet)

    def mixes(self) -> dict[str, dict[str, Any]]:
        """What it learned of the layers: weights and gamma of each mix in use."""
        vectors = self.model.vectors
        found = {"input": vectors.input_mix, "output": vectors.output_mix}
        return {place: _mix_facts(mix) for place, mix in found.items() if mix is not None}


def train_task(
    name: str,
    train: Examples,
    dev: Examples,
    out: str | Path,
    *,
    elmo: str | Path | Embedder | None = None,
    config: TaskConfig | None = None,
    cache: CacheConfig | None = None,
    device: str = "cpu",
    quiet: bool = False,
) -> TrainedTask:
    """Train a task model into the folder ``out``; started again there, it goes on.

    ``elmo``: a model's path or an Embedder; None is the model that ships with elmokit (and none at
    all where ``config.elmo.where`` is "none"). ``config``: default, the paper's settings.
    """
    task = find_task(name)
    config = task.defaults() if config is None else config
    out = Path(out)
    train_examples = _limited(read_examples(task, train), config.data.train_limit)
    dev_examples = _limited(read_examples(task, dev), config.data.dev_limit)
    train_examples = task.expand(config.model, train_examples)
    embedder = _embedder(elmo) if config.elmo.where != "none" else None
    source = _source(embedder, cache or CacheConfig())
    if isinstance(source, LayerCache):
        wanted = (s for e in (*train_examples, *dev_examples) for s in task.sentences(e))
        source.prepare(wanted, quiet=quiet)
    labels = task.labels(train_examples)
    _check_same_run(out, config, embedder, labels)
    torch.manual_seed(config.fit.seed)
    tokens = (t for example in train_examples for s in task.sentences(example) for t in s)
    words = build_word_table(config.words, tokens)
    model = _model(task, config, words, source, labels, device)
    words.save(out)
    write_json(out / "task.json", _facts(config, labels, embedder))
    state = fit(task, model, train_examples, dev_examples, config.fit, out, quiet=quiet)
    trained = TrainedTask(task, model, config, embedder.source if embedder else "")
    write_json(out / "result.json", _result(trained, state, len(train_examples)))
    return trained


def load_task(
    folder: str | Path, *, elmo: str | Path | Embedder | None = None, device: str = "cpu"
) -> TrainedTask:
    """The task model that ``train_task`` left in ``folder``.

    ``elmo``: where its ELMo model is now, if it has moved.
    """
    folder = Path(folder)
    facts = _read_facts(folder)
    task = find_task(facts["config"]["task"])
    config = changed(task.defaults(), facts["config"], str(folder / "task.json"))
    if not (folder / "best.safetensors").exists():
        raise InputError(f"{folder}: its first epoch was never finished; go on with task train")
    embedder = None
    if config.elmo.where != "none":
        embedder = _embedder(elmo or facts["elmo"]["source"] or None)
        if embedder.fingerprint != facts["elmo"]["fingerprint"]:
            raise InputError(
                f"{folder}: was trained with the ELMo model {facts['elmo']['source']}, and "
                f"{embedder.source} is another; give the right one with --elmo"
            )
    source = ComputedLayers(embedder) if embedder else None
    words = load_word_table(folder)
    model = _model(task, config, words, source, facts["labels"], device)
    assert isinstance(model, nn.Module)
    load_weights(model, folder / "best.safetensors")
    model.eval()
    return TrainedTask(task, model, config, embedder.source if embedder else "")


def eval_task(
    folder: str | Path,
    test: Examples,
    *,
    elmo: str | Path | Embedder | None = None,
    device: str = "cpu",
    quiet: bool = False,
) -> Scores:
    """The official scores of a trained task model on a labelled file."""
    trained = load_task(folder, elmo=elmo, device=device)
    return trained.score(read_examples(trained.task, test), quiet=quiet)


def predict_task(trained: TrainedTask, lines: Iterable[str], where: str) -> Iterator[Any]:
    """(example, prediction) of plain text, in order and as it comes, a few at a time."""
    waiting: list[Any] = []
    for example in trained.task.parse(lines, where):
        waiting.append(example)
        if len(waiting) == PREDICT_AT_ONCE:
            yield from zip(waiting, trained.predict(waiting), strict=True)
            waiting = []
    if waiting:
        yield from zip(waiting, trained.predict(waiting), strict=True)


def read_examples(task: Task[Any, Any], given: Examples) -> list[Any]:
    """Read a file, unless examples were given; none at all is an error."""
    if not isinstance(given, (str, Path)):
        return list(given)
    examples = task.read(Path(given))
    if not examples:
        raise InputError(f"{given}: holds no {task.unit}")
    return examples


def _limited(examples: list[Any], limit: int) -> list[Any]:
    """A subset drawn once and for all, in the order of the file."""
    if not limit or limit >= len(examples):
        return examples
    chosen = np.random.default_rng(0).choice(len(examples), limit, replace=False)
    return [examples[number] for number in sorted(chosen.tolist())]


def _embedder(elmo: str | Path | Embedder | None) -> Embedder:
    return elmo if isinstance(elmo, Embedder) else elmokit.load(elmo)


def _source(embedder: Embedder | None, cache: CacheConfig) -> LayerSource | None:
    if embedder is None:
        return None
    if not cache.is_used:
        return ComputedLayers(embedder)
    return LayerCache(
        embedder, cache.folder, precision=cache.precision, max_gigabytes=cache.max_gigabytes
    )


def _model(
    task: Task[Any, Any],
    config: TaskConfig,
    words: WordTable,
    source: LayerSource | None,
    labels: list[str],
    device: str,
) -> TaskModel[Any, Any]:
    model = task.build(config.model, TokenVectors(config, words, source), labels)
    assert isinstance(model, nn.Module)
    model.to(device)
    return model


def _facts(config: TaskConfig, labels: list[str], embedder: Embedder | None) -> dict[str, Any]:
    elmo = {"source": embedder.source, "fingerprint": embedder.fingerprint} if embedder else None
    return {
        "format": FORMAT,
        "elmokit": elmokit.__version__,
        "config": to_dict(config),
        "labels": labels,
        "elmo": elmo,
    }


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / "task.json"
    if not path.exists():
        raise InputError(f"{folder}: no task.json here; give a folder that task train has written")
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if facts.get("format") != FORMAT:
        raise InputError(f"{path}: format {facts.get('format')!r}, this elmokit reads {FORMAT}")
    return facts


def _check_same_run(
    out: Path, config: TaskConfig, embedder: Embedder | None, labels: list[str]
) -> None:
    """A folder holds one run: to go on in it, nothing may have changed but when to stop."""
    if not (out / "task.json").exists():
        return
    old = _read_facts(out)
    new = json.loads(json.dumps(_facts(config, labels, embedder)))
    for facts in (old, new):
        for name in _MAY_CHANGE:
            facts["config"]["fit"].pop(name)
    for table in new["config"]:
        if old["config"].get(table) != new["config"][table]:
            raise InputError(
                f"{out}: holds a run with other settings in [{table}]; choose another --out"
            )
    if old["labels"] != new["labels"]:
        raise InputError(f"{out}: holds a run on other training data; choose another --out")
    if (old["elmo"] or {}).get("fingerprint") != (new["elmo"] or {}).get("fingerprint"):
        raise InputError(f"{out}: holds a run with another ELMo model; choose another --out")


def _result(trained: TrainedTask, state: FitState, num_examples: int) -> dict[str, Any]:
    return {
        "task": trained.task.name,
        "measure": trained.task.measure,
        "train_examples": num_examples,
        "mixes": trained.mixes(),
        **asdict(state),
    }


def _mix_facts(mix: ScalarMix) -> dict[str, Any]:
    return {"weights": mix.weights.tolist(), "gamma": mix.gamma.item()}


def with_seed(config: TaskConfig, seed: int) -> TaskConfig:
    return replace(config, fit=replace(config.fit, seed=seed))
