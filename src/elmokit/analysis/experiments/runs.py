"""Runs of task models for the paper's tables and curves.

On top of ``tasks.grid``: every run is a line of OUT/results.jsonl, so an interrupted command
resumes where it stopped, and tables, curves and heat maps share the runs they have in common.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError
from elmokit.tasks.grid import Grid, Variant, finished, read_results, run_grid
from elmokit.tasks.task import find_task

BASELINE = Variant("baseline", ("elmo.where=none",))
WITH_ELMO = Variant("elmo", ())
"""ELMo as configured in the task's recipe."""


class TaskRun(NamedTuple):
    """One finished run: what the analyses read from a line of results.jsonl."""

    task: str
    variant: str
    seed: int
    measure: str
    dev: float
    test: float
    train_examples: int
    mixes: dict[str, dict[str, Any]] = {}  # noqa: RUF012  never changed
    """By place: the normalised ``weights`` and ``gamma``."""
    epochs: tuple[float, ...] = ()
    """Development score after each epoch."""
    other_tests: dict[str, float] = {}  # noqa: RUF012
    """The score on each additional test set, by name."""
    cpu_minutes: float = 0.0
    elmo: str | None = None
    """The biLM's fingerprint; None if no biLM was used."""

    @property
    def best_epoch(self) -> str:
        """For example "3 of 12"; a run whose best epoch is its last might have improved further."""
        if not self.epochs:
            return ""
        return f"{self.epochs.index(max(self.epochs)) + 1} of {len(self.epochs)}"


@dataclass(frozen=True)
class GridResult:
    """Finished runs, by task and variant."""

    runs: tuple[TaskRun, ...]

    def scores(self, task: str, variant: str, split: str = "dev") -> list[float]:
        """One score per seed."""
        return [
            getattr(run, split) for run in self.runs if (run.task, run.variant) == (task, variant)
        ]

    @property
    def tasks(self) -> list[str]:
        """The tasks that have runs, each once."""
        return list(dict.fromkeys(run.task for run in self.runs))

    @property
    def variants(self) -> list[str]:
        """The variants that have runs, each once."""
        return list(dict.fromkeys(run.variant for run in self.runs))


def make_grid(
    tasks: Sequence[str],
    data: Path,
    out: Path,
    model: str | None = None,
    files: Sequence[str] | None = None,
    recipe: str = "cpu",
    settings: Sequence[str] | None = None,
    seeds: int | None = None,
    max_minutes: float = 0.0,
    device: str = "cpu",
) -> Grid:
    """The runs that a command asks for, without variants yet.

    ``model``: a name or a path, None for the default; ``files``: your own training, development
    and test file.
    """
    for task in tasks:
        find_task(task)
    if files and (len(files) != 3 or len(tasks) != 1):
        raise InputError(
            "your own files must be three (training, development, test), for one task; got "
            f"{len(files)} for {len(tasks)}"
        )
    return Grid(
        tasks=tuple(tasks),
        variants=(),
        data=data,
        out=out,
        elmo=model,
        recipe=recipe,
        settings=tuple(settings or ()),
        seeds=seeds,
        max_minutes=max_minutes,
        files=(files[0], files[1], files[2]) if files else None,
        device=device,
    )


def do_runs(
    grid: Grid, variants: Sequence[Variant], jobs: int = 1, quiet: bool = False
) -> GridResult:
    """Train the missing runs of these variants; return all of them, in order."""
    grid = replace(grid, variants=tuple(variants))
    run_grid(grid, jobs=jobs, quiet=quiet)
    result = grid_result(grid)
    num_missing = len(grid.runs()) - len(result.runs)
    if num_missing:
        raise InputError(
            f"{grid.out}: another process is training {num_missing} of these runs; repeat "
            f"the command when it has finished"
        )
    return result


def grid_result(grid: Grid) -> GridResult:
    """The finished runs of a grid."""
    return GridResult(tuple(_task_run(line) for line in finished(grid)))


def read_runs(out: Path) -> GridResult:
    """All finished runs in a folder."""
    lines = read_results(out)
    if not lines:
        raise InputError(
            f"{out}: no results.jsonl with runs here; train some with  elmokit analyse layers"
        )
    return GridResult(tuple(_task_run(line) for line in lines))


def _task_run(line: dict[str, Any]) -> TaskRun:
    lacking = [name for name in TaskRun._fields if name not in line]
    if lacking:
        raise InputError(
            f"results.jsonl: the run {line.get('run', line)!r} lacks {', '.join(lacking)}; delete "
            f"its line, and it is trained again"
        )
    values = {name: line[name] for name in TaskRun._fields}
    return TaskRun(**{**values, "epochs": tuple(values["epochs"])})


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean over seeds, with the standard deviation if there are several."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else mean


TITLES = {
    "squad": "SQuAD",
    "entailment": "SNLI",
    "srl": "SRL",
    "coref": "Coreference",
    "ner": "NER",
    "sentiment": "SST-5",
}
"""What the paper calls the tasks."""
