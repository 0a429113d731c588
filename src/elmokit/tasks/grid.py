"""Many runs, one command: tasks x variants x seeds, each a line of results.jsonl.

    run_grid(TABLE_1, data, out, elmo)      does what results.jsonl lacks; killed, it goes on
    table_1(read_results(out))              the paper's first table, with its numbers beside ours

Several processes may work on one folder: a run belongs to whoever locks it first.
"""

import fcntl
import json
import multiprocessing
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

import elmokit
from elmokit.config import to_dict
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.benchmark_data import Splits, benchmark_splits
from elmokit.tasks.config import changed, parse_settings
from elmokit.tasks.run import CacheConfig, configured, read_examples, train_task

SEEDS: Mapping[str, int] = {"ner": 3, "sentiment": 3, "entailment": 3}
"""How many seeds a task gets, where it is not one."""


@dataclass(frozen=True)
class Variant:
    """One column of a table: a name and the settings that make it."""

    name: str
    settings: tuple[str, ...]


TABLE_1 = (Variant("baseline", ("elmo.where=none",)), Variant("elmo", ()))
TABLE_2 = (
    Variant("baseline", ("elmo.where=none",)),
    Variant("top", ("elmo.layers=top",)),
    Variant("all, lambda=1", ("elmo.l2=1.0",)),
    Variant("all, lambda=0.001", ("elmo.l2=0.001",)),
)
TABLE_3 = tuple(Variant(where, (f"elmo.where={where}",)) for where in ("input", "both", "output"))


class Run(NamedTuple):
    task: str
    variant: Variant
    seed: int

    @property
    def name(self) -> str:
        variant = "".join(c if c.isalnum() else "-" for c in self.variant.name)
        return f"{self.task}-{variant}-{self.seed}"


@dataclass(frozen=True)
class Grid:
    """What is run, and where its parts lie."""

    tasks: tuple[str, ...]
    variants: tuple[Variant, ...]
    data: Path
    """Of ``benchmark_data``; also holds glove/."""
    out: Path
    elmo: str | None
    """None: the model that ships with elmokit."""
    recipe: str = "cpu"
    """``paper`` or ``cpu``: elmokit's own recipes, one a task."""
    settings: tuple[str, ...] = ()
    """For every run, after the recipe's and before the variant's."""
    seeds: int | None = None
    """None: as SEEDS says."""
    max_minutes: float = 0.0
    """Of training, a run; 0: as the recipe says."""
    cache: CacheConfig = CacheConfig()  # noqa: RUF009  frozen
    files: tuple[str, str, str] | None = None
    """Your own training, development and test files, in the task's format, for one task."""

    def runs(self) -> list[Run]:
        """Seed by seed, so that a grid cut short is still one of all tasks."""
        wanted = {task: self.seeds or SEEDS.get(task, 1) for task in self.tasks}
        return [
            Run(task, variant, seed)
            for seed in range(1, max(wanted.values()) + 1)
            for task in self.tasks
            for variant in self.variants
            if seed <= wanted[task]
        ]


def run_grid(grid: Grid, *, jobs: int = 1, quiet: bool = False) -> list[dict[str, Any]]:
    """Do every run whose result is missing, ``jobs`` at a time; all results."""
    grid.out.mkdir(parents=True, exist_ok=True)
    if jobs == 1:
        _work(grid, quiet)
        return read_results(grid.out)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_work_alone, args=(grid, quiet)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise InputError(f"{grid.out}: a run has failed; its message stands above")
    return read_results(grid.out)


def read_results(out: Path) -> list[dict[str, Any]]:
    """The lines of results.jsonl; a torn last line (a kill while writing) is no result."""
    path = out / "results.jsonl"
    results = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            results.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return results


def _work_alone(grid: Grid, quiet: bool) -> None:
    torch.set_num_threads(1)
    _work(grid, quiet)


def _work(grid: Grid, quiet: bool) -> None:
    """Every run that has no result and that nobody else has locked."""
    for run in grid.runs():
        with _claimed(grid.out / "runs" / run.name) as is_ours:
            if not is_ours or run.name in {result["run"] for result in read_results(grid.out)}:
                continue
            _append(grid.out / "results.jsonl", _do(grid, run, quiet))


@lru_cache(maxsize=1)
def _load(elmo: str | None) -> Embedder:
    """Once for all runs of a process."""
    return elmokit.load(elmo)


def _do(grid: Grid, run: Run, quiet: bool) -> dict[str, Any]:
    glove = [f"words.vectors={grid.data / 'glove'}"] if (grid.data / "glove").exists() else []
    config = configured(run.task, grid.recipe, [*glove, *grid.settings])
    config = changed(config, parse_settings(run.variant.settings), run.variant.name)
    minutes = grid.max_minutes or config.fit.max_minutes
    config = replace(config, fit=replace(config.fit, seed=run.seed, max_minutes=minutes))
    embedder = _load(grid.elmo) if config.elmo.where != "none" else None
    splits = task_splits(grid, run.task)
    trained = train_task(
        run.task,
        splits.train,
        splits.dev,
        grid.out / "runs" / run.name,
        elmo=embedder,
        config=config,
        cache=grid.cache,
        quiet=quiet,
    )
    trained.prepare(splits.test, quiet=quiet)
    scores = trained.score(splits.test, quiet=quiet)
    state = trained.progress
    assert state is not None
    return {
        "run": run.name,
        "task": run.task,
        "variant": run.variant.name,
        "seed": run.seed,
        "measure": trained.task.measure,
        "dev": state.best_score,
        "test": scores.main,
        "every": scores.every,
        "train_examples": config.data.train_limit or len(splits.train),
        "test_examples": len(splits.test),
        "best_epoch": state.best_epoch,
        "epochs": state.epoch,
        "stopped": state.stopped,
        "minutes": round(state.seconds / 60, 2),
        "mixes": trained.mixes(),
        "elmo": embedder.fingerprint if embedder else None,
        "config": to_dict(config),
    }


def task_splits(grid: Grid, task: str) -> Splits:
    """The examples that a task is trained, stopped and scored on."""
    if grid.files is None:
        return benchmark_splits(task, grid.data)
    return Splits(*(read_examples(find_task(task), file) for file in grid.files))


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
    with (folder / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


class Paper(NamedTuple):
    """A line of the paper's Table 1."""

    title: str
    baseline: float
    elmo: float
    reduction: float


PAPER: Mapping[str, Paper] = {
    "squad": Paper("SQuAD", 81.1, 85.8, 24.9),
    "entailment": Paper("SNLI", 88.0, 88.7, 5.8),
    "srl": Paper("SRL", 81.4, 84.6, 17.2),
    "coref": Paper("Coreference", 67.2, 70.4, 9.8),
    "ner": Paper("NER", 90.15, 92.22, 21.0),
    "sentiment": Paper("SST-5", 51.4, 54.7, 6.8),
}


def error_reduction(baseline: float, better: float) -> float:
    """Percent of the baseline's errors that are gone; negative where there are more.

    >>> round(error_reduction(81.1, 85.8), 1)
    24.9
    """
    return 100.0 * (better - baseline) / (100.0 - baseline)


def table_1(results: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: test scores, mean and deviation over the seeds, beside the paper's."""
    lines = [
        "| task | measure | training examples | seeds | baseline | + ELMo | error reduction "
        "| paper: baseline | paper: + ELMo | paper: reduction |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task, paper in PAPER.items():
        ours = [result for result in results if result["task"] == task]
        scores = {
            name: [result["test"] for result in ours if result["variant"] == name]
            for name in ("baseline", "elmo")
        }
        if not all(scores.values()):
            continue
        means = {name: statistics.mean(values) for name, values in scores.items()}
        reduction = error_reduction(means["baseline"], means["elmo"])
        seeds = " + ".join(dict.fromkeys(str(len(values)) for values in scores.values()))
        lines.append(
            f"| {paper.title} | {ours[0]['measure']} | {ours[0]['train_examples']:,} | {seeds} "
            f"| {_spread(scores['baseline'])} | {_spread(scores['elmo'])} | {reduction:.1f} % "
            f"| {paper.baseline} | {paper.elmo} | {paper.reduction} % |"
        )
    return "\n".join(lines) + "\n"


def variants_table(results: Sequence[Mapping[str, Any]], split: str = "dev") -> str:
    """Markdown: a line a task, a column a variant, as in the paper's Tables 2 and 3."""
    names = list(dict.fromkeys(result["variant"] for result in results))
    lines = [f"| task | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for task, paper in PAPER.items():
        cells = []
        for name in names:
            values = [r[split] for r in results if r["task"] == task and r["variant"] == name]
            cells.append(_spread(values) if values else "")
        if any(cells):
            lines.append(f"| {paper.title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _spread(values: Sequence[float]) -> str:
    """Mean, and the deviation of a sample where there are several."""
    mean = f"{statistics.mean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean
