"""Runs of task models, as the tables and curves of the paper need them.

On top of ``tasks.grid``: every run is a line of OUT/results.jsonl, so what was killed goes on, and
tables, curves and heat maps share the runs they have in common.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.analysis import paper
from elmokit.analysis.tables import Table, count, percent
from elmokit.errors import InputError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.grid import Grid, Variant, finished, read_results, run_grid

BASELINE = Variant("baseline", ("elmo.where=none",))
ALL_LAYERS = "all, lambda=0.001"
_LAYERS = (
    ("last only", "elmo.layers=top"),
    ("average", "elmo.layers=average"),
    ("all, lambda=1", "elmo.l2=1.0"),
    (ALL_LAYERS, "elmo.l2=0.001"),
)
LAYERS = (
    BASELINE,
    *(Variant(name, (setting, "elmo.layer_norm=false")) for name, setting in _LAYERS),
)
"""Table 2: which layers, none of them normalised. Every other setting is the task's own."""
NORMALISED = tuple(
    Variant(f"{name}, layer norm", (setting, "elmo.layer_norm=true")) for name, setting in _LAYERS
)
"""The same with layer normalisation."""
PLACES = tuple(
    Variant(name, (f"elmo.where={where}", "elmo.l2=0.001"))
    for name, where in (("input", "input"), ("input + output", "both"), ("output", "output"))
)
"""Table 3: where."""
WITH_ELMO = Variant("elmo", ())
"""As the task's recipe has it."""


class TaskRun(NamedTuple):
    """One line of results, with what the analyses read of it."""

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
    """Score by the name of a further test set."""
    cpu_minutes: float = 0.0
    elmo: str | None = None
    """The biLM's fingerprint; None: it used none."""

    @property
    def best_epoch(self) -> str:
        """Which of how many was kept: a run that is best in its last might have gone on."""
        if not self.epochs:
            return ""
        return f"{self.epochs.index(max(self.epochs)) + 1} of {len(self.epochs)}"


@dataclass(frozen=True)
class GridResult:
    runs: tuple[TaskRun, ...]

    def scores(self, task: str, variant: str, split: str = "dev") -> list[float]:
        """One score a seed."""
        return [
            getattr(run, split) for run in self.runs if (run.task, run.variant) == (task, variant)
        ]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(run.task for run in self.runs))

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(run.variant for run in self.runs))


def make_grid(
    tasks: Sequence[str],
    data: Path,
    out: Path,
    model: str = "",
    files: Sequence[str] | None = None,
    recipe: str = "cpu",
    settings: Sequence[str] | None = None,
    seeds: int | None = None,
    max_minutes: float = 0.0,
) -> Grid:
    """What the commands have in common; each adds its variants."""
    for task in tasks:
        find_task(task)
    if files and (len(files) != 3 or len(tasks) != 1):
        raise InputError("your own files are three (training, development, test), for one task")
    return Grid(
        tasks=tuple(tasks),
        variants=(),
        data=data,
        out=out,
        elmo=model or None,
        recipe=recipe,
        settings=tuple(settings or ()),
        seeds=seeds,
        max_minutes=max_minutes,
        files=(files[0], files[1], files[2]) if files else None,
    )


def do_runs(
    grid: Grid, variants: Sequence[Variant], jobs: int = 1, quiet: bool = False
) -> GridResult:
    """Do what is missing of these variants; their runs alone, in order."""
    grid = replace(grid, variants=tuple(variants))
    run_grid(grid, jobs=jobs, quiet=quiet)
    result = grid_result(grid)
    num_missing = len(grid.runs()) - len(result.runs)
    if num_missing:
        raise InputError(
            f"{grid.out}: another process is at work on {num_missing} of these runs; ask again "
            f"when it is done"
        )
    return result


def grid_result(grid: Grid) -> GridResult:
    """The runs of a grid that are there."""
    return GridResult(tuple(_task_run(line) for line in finished(grid)))


def read_runs(out: Path) -> GridResult:
    """All runs that a folder has results of."""
    lines = read_results(out)
    if not lines:
        raise InputError(f"{out}: no results.jsonl with runs here; make some with  analyse layers")
    return GridResult(tuple(_task_run(line) for line in lines))


def _task_run(line: dict[str, Any]) -> TaskRun:
    values = {name: line[name] for name in TaskRun._fields}
    return TaskRun(**{**values, "epochs": tuple(values["epochs"])})


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the deviation of a sample where there are several seeds."""
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
"""What the paper calls them."""
_PAPER_COLUMNS = {
    "baseline": "baseline",
    "last only": "last_only",
    "all, lambda=1": "all_lambda_1",
    ALL_LAYERS: "all_lambda_0001",
    "input": "input_only",
    "input + output": "input_and_output",
    "output": "output_only",
}


def grid_table(result: GridResult, title: str) -> Table:
    """A row a task, a column a variant, the paper's row under each; development scores."""
    variants = result.variants
    rows: list[tuple[str, ...]] = []
    for task in result.tasks:
        runs = [run for run in result.runs if run.task == task]
        seeds = max(len(result.scores(task, variant)) for variant in variants)
        size = f"{count(runs[0].train_examples)} examples, {seeds} seed{'s' * (seeds > 1)}"
        name = f"{TITLES.get(task, task)}, {runs[0].measure} ({size})"
        rows.append((name, *(spread(result.scores(task, variant)) for variant in variants)))
        for line in paper.GRID:
            if line.task == TITLES.get(task, task):
                cells = (
                    percent(getattr(line, _PAPER_COLUMNS[v])) if v in _PAPER_COLUMNS else ""
                    for v in variants
                )
                rows.append((f"paper: {line.task}", *cells))
    return Table(title, ("development set", *variants), tuple(rows))
