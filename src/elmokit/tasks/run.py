"""FILES -> A TRAINED TASK -> ANSWERS: what ``elmokit task`` does, as functions.

What a run leaves in its folder is described in ``run_folder.py``.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from elmokit.device import usable_device
from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.model.scalar_mix import ScalarMix
from elmokit.recipe import read_toml
from elmokit.tasks.config import TaskConfig, changed, find_recipe, parse_settings
from elmokit.tasks.fit import FitState, evaluate, fit, predict_all
from elmokit.tasks.inputs.layer_cache import DEFAULT_GIGABYTES, ComputedLayers, LayerCache
from elmokit.tasks.inputs.token_vectors import LayerSource, TokenVectors
from elmokit.tasks.inputs.word_vectors import WordTable, build_word_table, load_word_table
from elmokit.tasks.run_folder import (
    check_same_run,
    describe_run,
    find_source,
    load_weights,
    read_description,
)
from elmokit.tasks.task import Scores, Task, TaskModel, find_task
from elmokit.text.sources import STANDARD_INPUT, read_lines

Examples = str | Path | Sequence[Any]
"""A file, several files, or examples read (or made) before."""


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
        """One prediction per example, in order."""
        return predict_all(self.task, self.model, examples, self.config.fit, quiet=True)

    def score(self, examples: Sequence[Any], *, quiet: bool = True) -> Scores:
        """The official scores on labelled examples."""
        return evaluate(self.task, self.model, examples, self.config.fit, quiet=quiet)

    def mixes(self) -> dict[str, dict[str, Any]]:
        """What it learned of the layers: weights and gamma of each mix in use."""
        vectors = self.model.vectors
        found = {"input": vectors.input_mix, "output": vectors.output_mix}
        return {place: _mix_facts(mix) for place, mix in found.items() if mix is not None}

    def summary(self, folder: Path) -> str:
        """How the training went, where it was written, and what can be done with it."""
        assert self.progress is not None
        state, fit = self.progress, self.config.fit
        reason = {
            "patience": f"no better score for {fit.patience} epochs",
            "epochs": f"fit.max_epochs = {fit.max_epochs}",
            "minutes": f"fit.max_minutes = {fit.max_minutes:g}",
            "perfect": "nothing left to improve",
        }[state.stopped]
        return (
            f"Best development {self.task.measure}: {state.best_score:.2f}, in epoch "
            f"{state.best_epoch} of {state.epoch} (stopped: {reason}).\n"
            f"The trained model is in {folder}. Next:\n"
            f"  elmokit task eval {folder} --test FILE\n"
            f"  elmokit task predict {folder} FILE"
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
    precision: str = "float32",
    quiet: bool = False,
) -> TrainedTask:
    """Train a task model into the folder ``out``; if the folder holds a run, resume it.

    Args:
        name: ner, sentiment, entailment, srl, coref or squad.
        train: training files in the task's format, or a list of examples.
        dev: development files or examples, for early stopping.
        out: the folder of the run.
        elmo: a model's name or path, whose vectors are read as features (see ``elmokit.load``), or
            an ``Embedder``, with its own basis; None is the model that ships with elmokit.
            Not read if ``config.elmo.where`` is "none".
        config: from ``configured``; default: the paper's settings.
        cache: where the biLM's layers are stored; default: the user's cache folder.
        device: of the task model, and of an ELMo model that is read here; an ``Embedder`` stays
            where it is.
        precision: of an ELMo model that is read here, as in ``elmokit.load``.
        quiet: show no progress.
    """
    task, place = find_task(name), usable_device(device)
    config = task.defaults() if config is None else config
    out = Path(out)
    train_examples = limited(read_examples(task, train), config.data.train_limit)
    dev_examples = limited(read_examples(task, dev), config.data.dev_limit)
    train_examples = task.expand(config.model, train_examples)
    # Scoring is tried before the training, so that what cannot be scored is refused at once.
    task.score(dev_examples, [task.no_answer] * len(dev_examples))
    embedder = _embedder(elmo, place, precision) if config.elmo.where != "none" else None
    labels = task.labels(train_examples)
    cache = cache or CacheConfig()
    layer_precision = cache.precision if cache.is_used else "float32"
    all_examples = [*train_examples, *dev_examples]
    description = describe_run(config, labels, embedder, layer_precision, all_examples)
    check_same_run(out, description)
    source = _source(embedder, cache)
    if isinstance(source, LayerCache):
        source.prepare([s for e in all_examples for s in task.sentences(e)], quiet=quiet)
    torch.manual_seed(config.fit.seed)
    tokens = [t for example in train_examples for s in task.sentences(example) for t in s]
    words = build_word_table(config.words, tokens)
    model = _model(task, config, words, source, labels, place)
    words.save(out)
    write_json(out / "task.json", description)
    state = fit(task, model, train_examples, dev_examples, config.fit, out, quiet=quiet)
    trained = TrainedTask(task, model, config, labels, embedder.source if embedder else "", state)
    write_json(out / "result.json", _result(trained, state, len(train_examples)))
    return trained


def load_task(
    folder: str | Path, *, elmo: str | Path | Embedder | None = None, device: str = "cpu"
) -> TrainedTask:
    """Load a task model that ``train_task`` has written.

    Args:
        folder: the folder of the run.
        elmo: its ELMo model, if the files have moved: the new path, or an ``Embedder``.
        device: as in ``train_task``.
    """
    folder, place = Path(folder), usable_device(device)
    description = read_description(folder)
    task = find_task(description["config"]["task"])
    config = changed(task.defaults(), description["config"], str(folder / "task.json"))
    if not (folder / "best.safetensors").exists():
        raise InputError(f"{folder}: its first epoch was never finished; resume it with task train")
    embedder = None
    if config.elmo.where != "none":
        trained_with = description["elmo"]
        precision = trained_with.get("weights", "float32")
        given = elmo or find_source(folder, trained_with["source"])
        embedder = _embedder(given, place, precision)
        if embedder.fingerprint != trained_with["fingerprint"]:
            raise InputError(
                f"{folder}: was trained with the ELMo model {trained_with['source']}, and "
                f"{embedder.source} is another; give the right one with --model"
            )
    source = ComputedLayers(embedder) if embedder else None
    words = load_word_table(folder)
    model = _model(task, config, words, source, description["labels"], place)
    assert isinstance(model, nn.Module)
    load_weights(model, folder / "best.safetensors")
    model.eval()
    source_name = embedder.source if embedder else ""
    return TrainedTask(task, model, config, description["labels"], source_name)


def eval_task(
    folder: str | Path,
    test: Examples,
    *,
    elmo: str | Path | Embedder | None = None,
    device: str = "cpu",
    quiet: bool = False,
) -> Scores:
    """Score a trained task model with the official measure of its task.

    Args:
        folder: the folder of the run.
        test: labelled files in the task's format, or a list of examples.
        elmo: as in ``load_task``.
        device: as in ``load_task``.
        quiet: show no progress and no warnings.
    """
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
    """Yield (example, prediction) for lines of plain text, in order.

    Args:
        trained: the task model.
        lines: text as ``elmokit task predict`` reads it; a blank line gives an empty prediction.
        where: names the text in error messages.
        at_once: how many examples are read and predicted at a time.

    Blank lines keep their place: an example without tokens, answered by ``task.no_answer``. The
    lines before one that cannot be read are answered before the error is raised.
    """
    waiting: list[Any] = []
    num_answered = 0
    try:
        for example in trained.task.parse(lines, where):
            waiting.append(example)
            num_answered += trained.task.num_tokens(example) > 0
            if len(waiting) == at_once:
                yield from _answered(trained, waiting)
                waiting = []
    except InputError:
        yield from _answered(trained, waiting)
        raise
    yield from _answered(trained, waiting)
    if not num_answered:
        raise InputError(f"{where}: holds no {trained.task.unit}")


def _answered(trained: TrainedTask, examples: list[Any]) -> Iterator[tuple[Any, Any]]:
    has_tokens = [trained.task.num_tokens(example) > 0 for example in examples]
    predictions = iter(trained.predict(list(compress(examples, has_tokens))))
    for example, is_asked in zip(examples, has_tokens, strict=True):
        yield example, next(predictions) if is_asked else trained.task.no_answer


def predict_file(
    trained: TrainedTask, file: str, *, is_labelled: bool = False
) -> Iterator[tuple[Any, Any]]:
    """The same for a file; "-" is standard input, answered line by line on a terminal.

    ``is_labelled``: the file is in the task's training format, not plain text.
    """
    if is_labelled:
        examples = read_examples(trained.task, file)
        yield from zip(examples, trained.predict(examples), strict=True)
        return
    is_typed = file == STANDARD_INPUT and sys.stdin.isatty()
    where = "standard input" if file == STANDARD_INPUT else file
    lines = (line + "\n" for _, line in read_lines(file))
    yield from predict_task(trained, lines, where, at_once=1 if is_typed else 64)


def read_examples(task: Task[Any, Any], given: Examples) -> list[Any]:
    """The examples of a file or of several, or those that were given; a file without any is an
    error.
    """
    if isinstance(given, (str, Path)):
        examples = task.read(Path(given))
        if not examples:
            raise InputError(f"{given}: holds no {task.unit}")
        return examples
    if given and all(isinstance(item, (str, Path)) for item in given):
        return [example for path in given for example in read_examples(task, path)]
    return list(given)


def configured(name: str, recipe: str | Path | None, settings: Sequence[str]) -> TaskConfig:
    """The settings of a run: a recipe, changed by ``table.name=value`` settings.

    Args:
        name: the task.
        recipe: "paper" (the default, also None), "cpu", or a TOML file that changes the paper's.
        settings: such as ``["fit.batch_size=16", "elmo.where=both"]``.

    >>> configured("ner", "cpu", ["fit.batch_size=16"]).fit.batch_size
    16
    """
    config = find_task(name).defaults()
    if recipe is not None:
        path = find_recipe(name, recipe)
        config = changed(config, read_toml(path), str(path))
    return changed(config, parse_settings(settings), "--set")


def limited(examples: list[Any], limit: int) -> list[Any]:
    """Always the same subset, in the order of the file; a larger one contains a smaller one."""
    if not limit or limit >= len(examples):
        return examples
    chosen = np.random.default_rng(0).permutation(len(examples))[:limit]
    return [examples[number] for number in sorted(chosen.tolist())]


def _embedder(
    elmo: str | Path | Embedder | None, device: torch.device, precision: str = "float32"
) -> Embedder:
    """A model that is read here runs where the task model does; an Embedder stays as it is."""
    if isinstance(elmo, Embedder):
        return elmo
    weights = cast(PrecisionName, precision)
    return load(elmo, device=device, precision=weights, basis="features")


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
