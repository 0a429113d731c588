"""Many runs, one command: tasks x variants x seeds, one line of results.jsonl per run.

    run_grid(grid)       does the runs that results.jsonl lacks; after a kill, call it again
    read_results(out)    all that is there

Several processes may work on one folder: a run belongs to whoever locks it first. Variants that
come to the same settings (the paper's tables share columns) are trained once. Runs of several biLMs
may lie side by side: what uses no biLM serves them all.
"""

import json
import multiprocessing
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.files.locks import try_lock
from elmokit.recipe import parse_json, to_plain
from elmokit.tasks.config import TaskConfig, changed, parse_settings, renamed
from elmokit.tasks.data.benchmark_sets import Splits, benchmark_splits
from elmokit.tasks.run import CacheConfig, TrainedTask, configured, read_examples, train_task
from elmokit.tasks.run_folder import read_log
from elmokit.tasks.task import Scores, find_task

SEEDS: Mapping[str, int] = {"ner": 3, "sentiment": 3, "entailment": 3}
"""Number of seeds of a task; 1 for those not named."""


@dataclass(frozen=True)
class Variant:
    """One column of a table: a name and the settings that make it."""

    name: str
    settings: tuple[str, ...]


class Run(NamedTuple):
    """One training: a task, a variant and a seed."""

    task: str
    variant: Variant
    seed: int
    bilm: str
    """The biLM's fingerprint; empty: it uses none."""

    @property
    def name(self) -> str:
        """Its name in results.jsonl, and its folder's."""
        variant = "".join(c if c.isalnum() else "-" for c in self.variant.name)
        bilm = f"-{self.bilm[:8]}" if self.bilm else ""
        return f"{self.task}-{variant}-{self.seed}{bilm}"


@dataclass(frozen=True)
class Grid:
    """What is run, and where its parts are."""

    tasks: tuple[str, ...]
    variants: tuple[Variant, ...]
    data: Path
    """The folder of ``benchmark_sets``; also holds glove/."""
    out: Path
    elmo: str | None
    """None: the model that ships with elmokit."""
    recipe: str = "cpu"
    """``paper`` or ``cpu``: elmokit's own recipes, one per task."""
    settings: tuple[str, ...] = ()
    """Settings of every run, applied after the recipe's and before the variant's."""
    seeds: int | None = None
    """None: as in ``SEEDS``."""
    max_minutes: float = 0.0
    """Limit of the training time per run; 0: as the recipe says."""
    cache: CacheConfig = CacheConfig()  # noqa: RUF009  frozen
    files: tuple[str, str, str] | None = None
    """Your own training, development and test files, in the task's format, for one task."""
    device: str = "cpu"
    """Where the biLM and the task models run."""

    def runs(self) -> list[Run]:
        """The runs seed by seed, so that an interrupted grid still covers all tasks."""
        wanted = {task: self.seeds or SEEDS.get(task, 1) for task in self.tasks}
        return [
            Run(task, variant, seed, self._bilm(task, variant))
            for seed in range(1, max(wanted.values()) + 1)
            for task in self.tasks
            for variant in self.variants
            if seed <= wanted[task]
        ]

    def _bilm(self, task: str, variant: Variant) -> str:
        uses_one = variant_config(self, task, variant).elmo.where != "none"
        return _load(self.elmo, self.device).fingerprint if uses_one else ""


def run_grid(grid: Grid, *, jobs: int = 1, quiet: bool = False) -> list[dict[str, Any]]:
    """Do every run whose result is missing, ``jobs`` at a time; return all results."""
    grid.out.mkdir(parents=True, exist_ok=True)
    num_missing = len(grid.runs()) - len(finished(grid))
    if num_missing == 0:
        return read_results(grid.out)
    if jobs == 1:
        _work(grid, quiet)
        return read_results(grid.out)
    context = multiprocessing.get_context("spawn")
    num_workers = min(jobs, num_missing)
    try:
        with ProcessPoolExecutor(num_workers, context) as pool:
            workers = [pool.submit(_work_alone, grid, quiet) for _ in range(num_workers)]
        for worker in workers:
            worker.result()  # raises what the worker has raised
    except BrokenProcessPool:
        raise InputError(
            f"{grid.out}: a process was killed during a run (out of memory?); run the same command "
            f"to resume"
        ) from None
    return read_results(grid.out)


def read_results(out: Path) -> list[dict[str, Any]]:
    """The lines of results.jsonl; lines cut short by a kill are skipped."""
    path = out / "results.jsonl"
    if not path.exists():
        return []
    results = []
    text = path.read_bytes().decode("utf-8", errors="replace")  # torn inside a character, perhaps
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            result = parse_json(line)
        except ValueError:
            result = {} if line.startswith("{") else None
        if not isinstance(result, dict) or (result and "run" not in result):
            raise InputError(
                f"{path}, line {number}: not the result of a run ({line[:40]!r}); remove this line"
            )
        if result:
            results.append(result)
    return results


def finished(grid: Grid) -> list[dict[str, Any]]:
    """The results of the grid's own runs that are there, in its order.

    A folder may hold a run of the same name that was made in another way: that is an error.
    """
    lines = {line["run"]: line for line in read_results(grid.out)}
    found = []
    for run in grid.runs():
        if run.name in lines:
            _check_same(lines[run.name], grid, run)
            found.append(lines[run.name])
    return found


def _check_same(line: dict[str, Any], grid: Grid, run: Run) -> None:
    differing = _differences(line, _facts(grid, run))
    if differing:
        raise InputError(
            f"{grid.out}: holds the run {run.name} with other settings ({', '.join(differing)}); "
            f"choose another folder"
        )


def _differences(line: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """The tables of the config, and biLM or files, that differ between a result and ``asked``."""
    old, new = _in_use(line["config"]), _in_use(asked["config"])
    tables = sorted(old.keys() | new.keys())
    differing = [f"[{table}]" for table in tables if old.get(table) != new.get(table)]
    return differing + [name for name in ("elmo", "files") if line.get(name) != asked[name]]


def _in_use(config: dict[str, Any]) -> dict[str, Any]:
    """The config without unused settings of ELMo, which do not affect a baseline."""
    config, elmo = renamed(config), config["elmo"]
    if elmo["where"] == "none" and not elmo["random_dim"]:
        return {**config, "elmo": {"where": "none"}}
    return config


def _facts(grid: Grid, run: Run) -> dict[str, Any]:
    """All that a run's scores depend on, as JSON has it; a folder holds runs on one data set."""
    facts = {
        "elmo": run.bilm or None,
        "files": grid.files,
        "config": to_plain(run_config(grid, run)),
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _work_alone(grid: Grid, quiet: bool) -> None:
    torch.set_num_threads(1)
    _work(grid, quiet)


def _work(grid: Grid, quiet: bool) -> None:
    """Every run that has no result and that nobody else has locked."""
    for run in grid.runs():
        with _claimed(grid.out / "runs" / run.name) as is_ours:
            results = {result["run"]: result for result in read_results(grid.out)}
            if not is_ours or run.name in results:
                continue
            asked = _facts(grid, run)
            twin = next((line for line in results.values() if not _differences(line, asked)), None)
            result = _do(grid, run, quiet) if twin is None else twin
            _append(
                grid.out / "results.jsonl",
                {**result, "run": run.name, "task": run.task, "variant": run.variant.name},
            )


@lru_cache(maxsize=1)
def _load(elmo: str | None, device: str) -> Embedder:
    """Once for all runs of a process."""
    return load(elmo, device=device, basis="features")


def run_config(grid: Grid, run: Run) -> TaskConfig:
    """The settings of one run."""
    config = variant_config(grid, run.task, run.variant)
    minutes = grid.max_minutes or config.fit.max_minutes
    return replace(config, fit=replace(config.fit, seed=run.seed, max_minutes=minutes))


def variant_config(grid: Grid, task: str, variant: Variant) -> TaskConfig:
    """Recipe, then the grid's settings, then the variant's."""
    config = configured(task, grid.recipe, [*_glove(grid), *grid.settings])
    return changed(config, parse_settings(variant.settings), variant.name)


def _glove(grid: Grid) -> list[str]:
    """The setting that names DATA/glove.

    A baseline with randomly initialised words makes ELMo's gain look larger than it is, so whoever
    wants one says so.
    """
    folder = (grid.data / "glove").resolve()
    if folder.exists():
        return [f"words.vectors={folder}"]
    if "vectors" not in parse_settings(grid.settings).get("words", {}):
        raise InputError(
            f"{folder}: not found, and every baseline starts from GloVe; unpack it there, or give "
            f"--set words.vectors=FILE (empty: words are randomly initialised)"
        )
    return []


def _do(grid: Grid, run: Run, quiet: bool) -> dict[str, Any]:
    config = run_config(grid, run)
    embedder = _load(grid.elmo, grid.device) if run.bilm else None
    splits = task_splits(grid, run.task)
    folder = grid.out / "runs" / run.name
    trained = train_task(
        run.task,
        splits.train,
        splits.dev,
        folder,
        elmo=embedder,
        config=config,
        cache=grid.cache,
        device=grid.device,
        quiet=quiet,
    )
    scores = _test(trained, splits.test, quiet)
    state = trained.progress
    assert state is not None
    return {
        "seed": run.seed,
        "measure": trained.task.measure,
        "dev": state.best_score,
        "test": scores.main,
        "every": scores.every,
        "other_tests": {name: _test(trained, found, quiet).main for name, found in splits.others},
        "train_examples": min(config.data.train_limit or len(splits.train), len(splits.train)),
        "test_examples": len(splits.test),
        "best_epoch": state.best_epoch,
        "epochs": _dev_scores(folder, trained.task.measure),
        "stopped": state.stopped,
        "minutes": round(state.seconds / 60, 2),
        "cpu_minutes": round(state.cpu_seconds / 60, 2),
        "mixes": trained.mixes(),
        **_facts(grid, run),
    }


def _test(trained: TrainedTask, examples: list[Any], quiet: bool) -> Scores:
    trained.prepare(examples, quiet=quiet)
    return trained.score(examples, quiet=quiet)


def _dev_scores(folder: Path, measure: str) -> list[float]:
    """The development score after each epoch, from the run's log."""
    return [line["dev"][measure] for line in read_log(folder / "log.jsonl")]


def task_splits(grid: Grid, task: str) -> Splits:
    """The examples that a task is trained, stopped and scored on."""
    return _read_splits(task, grid.data, grid.files)


@lru_cache(maxsize=2)
def _read_splits(task: str, data: Path, files: tuple[str, str, str] | None) -> Splits:
    """Once for all runs of a task."""
    if files is None:
        return benchmark_splits(task, data)
    train, dev, test = (read_examples(find_task(task), file) for file in files)
    return Splits(train, dev, test)


def _append(path: Path, result: dict[str, Any]) -> None:
    """One line in one write, so that lines of several processes never mix."""
    line = "\n" + json.dumps(result, ensure_ascii=False) + "\n"  # in front: after a torn line
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode("utf-8"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _claimed(folder: Path) -> Iterator[bool]:
    """True while we alone hold the run; a killed holder's claim dies with it."""
    folder.mkdir(parents=True, exist_ok=True)
    with try_lock(folder / "lock") as is_ours:
        yield is_ours
