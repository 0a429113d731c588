"""FILES -> A TRAINED TASK -> ANSWERS: what ``elmokit task`` does, as functions.

FOLDER/task.json          settings, labels, and which ELMo model it needs
       words.json, words.safetensors    the word vectors it started from
       best.safetensors   its weights; training.pt and log.jsonl: see fit.py
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import elmokit
from elmokit.config import to_dict
from elmokit.device import usable_device
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.scalar_mix import ScalarMix
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import TaskConfig, changed, find_recipe, parse_settings, read_recipe
from elmokit.tasks.fit import FitState, evaluate, fit, load_weights, predict_all
from elmokit.tasks.layer_cache import DEFAULT_GIGABYTES, ComputedLayers, LayerCache
from elmokit.tasks.readers.lines import read_lines
from elmokit.tasks.task import Scores, Task, TaskModel
from elmokit.tasks.token_vectors import LayerSource, TokenVectors
from elmokit.tasks.word_vectors import WordTable, build_word_table, load_word_table

FORMAT = 2
Examples = str | Path | Sequence[Any]
"""A file, several files, or examples read (or made) before."""
_MAY_CHANGE = ("max_epochs", "patience", "max_minutes")
"""Settings of ``fit`` that a run may be continued with."""


@dataclass(frozen=True)
class CacheConfig:
    """Where the layers of the frozen biLM are kept; see ``layer_cache.py``."""

    folder: Path | None = None
    """Default: the user's cache folder."""
    is_used: bool = True
    precision: str = "float32"
    """Or float16: half the size, rounded."""
    max_gigabytes: float = DEFAULT_GIGABYTES


@dataclass(frozen=True)
class TrainedTask:
    """A task model that is ready to answer."""

    task: Task[Any, Any]
    model: TaskModel[Any, Any]
    config: TaskConfig
    labels: list[str]
    elmo: str
    """Where its ELMo model was read from; empty without ELMo."""
    progress: FitState | None = None
    """How its training went, if it was trained just now."""

    def prepare(self, examples: Sequence[Any], *, quiet: bool = True) -> None:
        """Have the layer cache, if there is one, hold these examples."""
        source = self.model.vectors.source
        if isinstance(source, LayerCache):
            source.prepare((s for e in examples for s in self.task.sentences(e)), quiet=quiet)

    def predict(self, examples: Sequence[Any]) -> list[Any]:
        return predict_all(self.task, self.model, examples, self.config.fit, quiet=True)

    def score(self, examples: Sequence[Any], *, quiet: bool = True) -> Scores:
        return evaluate(self.task, self.model, examples, self.config.fit, quiet=quiet)

    def mixes(self) -> dict[str, dict[str, Any]]:
        """What it learned of the layers: weights and gamma of each mix in use."""
        vectors = self.model.vectors
        found = {"input": vectors.input_mix, "output": vectors.output_mix}
        return {place: _mix_facts(mix) for place, mix in found.items() if mix is not None}

    def summary(self, folder: Path) -> str:
        """One sentence on the training."""
        assert self.progress is not None
        state = self.progress
        return (
            f"{folder}: development {self.task.measure} {state.best_score:.2f} in epoch "
            f"{state.best_epoch} of {state.epoch} (stopped: {state.stopped})"
        )


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
    task, place = find_task(name), usable_device(device)
    config = task.defaults() if config is None else config
    out = Path(out)
    train_examples = limited(read_examples(task, train), config.data.train_limit)
    dev_examples = limited(read_examples(task, dev), config.data.dev_limit)
    train_examples = task.expand(config.model, train_examples)
    embedder = _embedder(elmo) if config.elmo.where != "none" else None
    labels = task.labels(train_examples)
    cache = cache or CacheConfig()
    facts = _facts(config, labels, embedder, cache, _digest([*train_examples, *dev_examples]))
    _check_same_run(out, facts)
    source = _source(embedder, cache)
    if isinstance(source, LayerCache):
        wanted = (s for e in (*train_examples, *dev_examples) for s in task.sentences(e))
        source.prepare(wanted, quiet=quiet)
    torch.manual_seed(config.fit.seed)
    tokens = (t for example in train_examples for s in task.sentences(example) for t in s)
    words = build_word_table(config.words, tokens)
    model = _model(task, config, words, source, labels, place)
    words.save(out)
    write_json(out / "task.json", facts)
    state = fit(task, model, train_examples, dev_examples, config.fit, out, quiet=quiet)
    trained = TrainedTask(task, model, config, labels, embedder.source if embedder else "", state)
    write_json(out / "result.json", _result(trained, state, len(train_examples)))
    return trained


def load_task(
    folder: str | Path, *, elmo: str | Path | Embedder | None = None, device: str = "cpu"
) -> TrainedTask:
    """The task model that ``train_task`` left in ``folder``.

    ``elmo``: where its ELMo model is now, if it has moved.
    """
    folder, place = Path(folder), usable_device(device)
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
    model = _model(task, config, words, source, facts["labels"], place)
    assert isinstance(model, nn.Module)
    load_weights(model, folder / "best.safetensors")
    model.eval()
    source_name = embedder.source if embedder else ""
    return TrainedTask(task, model, config, facts["labels"], source_name)


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
    examples = read_examples(trained.task, test)
    unknown = sorted(set(trained.task.labels(examples)) - set(trained.labels))
    if unknown and not quiet:
        named = ", ".join(unknown[:10])
        print(
            f"the training data never had these labels; they count as misses: {named}",
            file=sys.stderr,
        )
    return trained.score(examples, quiet=quiet)


def predict_task(
    trained: TrainedTask, lines: Iterable[str], where: str = "text", *, at_once: int = 64
) -> Iterator[tuple[Any, Any]]:
    """(example, prediction) of plain text, in order and as it comes, ``at_once`` at a time.

    What stands before a line that cannot be read is answered before the error is raised.
    """
    waiting: list[Any] = []
    num_read = 0
    try:
        for example in trained.task.parse(lines, where):
            num_read += 1
            waiting.append(example)
            if len(waiting) == at_once:
                yield from _answered(trained, waiting)
                waiting = []
    except InputError:
        yield from _answered(trained, waiting)
        raise
    yield from _answered(trained, waiting)
    if not num_read:
        raise InputError(f"{where}: holds no {trained.task.unit}")


def _answered(trained: TrainedTask, examples: list[Any]) -> Iterator[tuple[Any, Any]]:
    if examples:
        yield from zip(examples, trained.predict(examples), strict=True)


def predict_file(
    trained: TrainedTask, file: str, *, is_labelled: bool = False
) -> Iterator[tuple[Any, Any]]:
    """The same for a file; "-" is standard input, answered line by line on a terminal."""
    if is_labelled:
        examples = read_examples(trained.task, file)
        yield from zip(examples, trained.predict(examples), strict=True)
    elif file == "-":
        at_once = 1 if sys.stdin.isatty() else 64
        yield from predict_task(trained, _standard_input(), "standard input", at_once=at_once)
    else:
        lines = (line + "\n" for _, line in read_lines(Path(file)))
        yield from predict_task(trained, lines, file)


def _standard_input() -> Iterator[str]:
    try:
        yield from sys.stdin
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: not UTF-8 text ({error})") from None


def read_examples(task: Task[Any, Any], given: Examples) -> list[Any]:
    """Read files, unless examples were given; a file with none is an error."""
    if isinstance(given, (str, Path)):
        examples = task.read(Path(given))
        if not examples:
            raise InputError(f"{given}: holds no {task.unit}")
        return examples
    if given and all(isinstance(item, (str, Path)) for item in given):
        return [example for path in given for example in read_examples(task, path)]
    return list(given)


def configured(name: str, recipe: str | Path | None, settings: Sequence[str]) -> TaskConfig:
    """The task's defaults, changed by a recipe, then by ``table.name=value`` settings."""
    config = find_task(name).defaults()
    if recipe is not None:
        path = find_recipe(name, recipe)
        config = changed(config, read_recipe(path), str(path))
    return changed(config, parse_settings(settings), "--set")


def limited(examples: list[Any], limit: int) -> list[Any]:
    """A subset drawn once and for all, in the order of the file; it holds every smaller one."""
    if not limit or limit >= len(examples):
        return examples
    chosen = np.random.default_rng(0).permutation(len(examples))[:limit]
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
    device: torch.device,
) -> TaskModel[Any, Any]:
    model = task.build(config.model, TokenVectors(config, words, source), labels)
    assert isinstance(model, nn.Module)
    model.to(device)
    return model


def _facts(
    config: TaskConfig,
    labels: list[str],
    embedder: Embedder | None,
    cache: CacheConfig,
    data: str,
) -> dict[str, Any]:
    elmo = None
    if embedder is not None:
        path = Path(embedder.source)
        source = str(path.resolve()) if path.exists() else embedder.source
        precision = cache.precision if cache.is_used else "float32"
        elmo = {"source": source, "fingerprint": embedder.fingerprint, "precision": precision}
    return {
        "format": FORMAT,
        "elmokit": elmokit.__version__,
        "config": to_dict(config),
        "labels": labels,
        "elmo": elmo,
        "data": data,
    }


def _digest(examples: Sequence[Any]) -> str:
    """Names the training and development data."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _read_facts(folder: Path) -> dict[str, Any]:
    path = folder / "task.json"
    if not path.exists():
        raise InputError(f"{folder}: no task.json here; give a folder that task train has written")
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if facts.get("format") != FORMAT:
        raise InputError(
            f"{path}: format {facts.get('format')!r}, this elmokit reads {FORMAT}; train it again"
        )
    return facts


def _check_same_run(out: Path, facts: dict[str, Any]) -> None:
    """A folder holds one run: to go on in it, nothing may have changed but when to stop."""
    if not (out / "task.json").exists():
        return
    old, new = _read_facts(out), json.loads(json.dumps(facts))
    for either in (old, new):
        for name in _MAY_CHANGE:
            either["config"]["fit"].pop(name)
    for table in new["config"]:
        if old["config"].get(table) != new["config"][table]:
            raise InputError(
                f"{out}: holds a run with other settings in [{table}]; choose another --out"
            )
    if old["data"] != new["data"]:
        raise InputError(f"{out}: holds a run on other data; choose another --out")
    if (old["elmo"] or {}).get("fingerprint") != (new["elmo"] or {}).get("fingerprint"):
        raise InputError(f"{out}: holds a run with another ELMo model; choose another --out")
    precisions = [(facts["elmo"] or {}).get("precision", "float32") for facts in (old, new)]
    if precisions[0] != precisions[1]:
        raise InputError(
            f"{out}: holds a run on layers of {precisions[0]}; go on with --cache-precision "
            f"{precisions[0]}, or choose another --out"
        )


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
