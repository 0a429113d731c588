"""Table 1: every task with and without ELMo, and the relative reduction of its error."""

import statistics
from dataclasses import dataclass
from typing import NamedTuple

from elmokit.analysis import paper
from elmokit.analysis.experiments.runs import (
    BASELINE,
    TITLES,
    WITH_ELMO,
    GridResult,
    TaskRun,
    do_runs,
    spread,
)
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.tasks.grid import Grid


class TaskGain(NamedTuple):
    """Scores on one test set, one per seed."""

    task: str
    test_set: str
    """The name of another test set; empty for the task's own."""
    measure: str
    num_examples: int
    """Training examples."""
    baseline: tuple[float, ...]
    elmo: tuple[float, ...]
    baseline_epochs: tuple[str, ...] = ()
    """The best epoch on the development set, for example "3 of 12"."""
    elmo_epochs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name of the task, and of the test set if it is not the task's own."""
        title = TITLES.get(self.task, self.task)
        return f"{title}, tested on {self.test_set}" if self.test_set else title

    @property
    def gain(self) -> float:
        """The difference of the means, in points."""
        return statistics.mean(self.elmo) - statistics.mean(self.baseline)

    @property
    def reduction(self) -> float:
        """The relative error reduction, in percent."""
        return error_reduction(statistics.mean(self.baseline), statistics.mean(self.elmo))


@dataclass(frozen=True)
class SixTasks:
    """Table 1."""

    gains: tuple[TaskGain, ...]
    cpu_minutes: float
    """CPU time of all training, excluding the computation of the biLM's layers."""


def error_reduction(baseline: float, better: float) -> float:
    """The relative error reduction in percent; negative if there are more errors.

    >>> round(error_reduction(81.1, 85.8), 1)
    24.9
    """
    return 100.0 * (better - baseline) / (100.0 - baseline) if baseline < 100 else 0.0


def six_tasks(grid: Grid, jobs: int = 1, quiet: bool = False) -> SixTasks:
    """Train the missing runs of the grid's tasks, with and without ELMo."""
    return gains_of_runs(do_runs(grid, (BASELINE, WITH_ELMO), jobs, quiet))


def gains_of_runs(result: GridResult) -> SixTasks:
    """The gains of all tasks that have runs of both kinds, in the paper's order."""
    order = list(paper.TASKS)
    gains = []
    for task in sorted(result.tasks, key=order.index):
        runs = [run for run in result.runs if run.task == task]
        without = [run for run in runs if run.variant == BASELINE.name]
        with_elmo = [run for run in runs if run.variant == WITH_ELMO.name]
        if not without or not with_elmo:
            continue
        for test_set in ("", *without[0].other_tests):
            gains.append(
                TaskGain(
                    task,
                    test_set,
                    without[0].measure,
                    without[0].train_examples,
                    tuple(_score(run, test_set) for run in without),
                    tuple(_score(run, test_set) for run in with_elmo),
                    tuple(run.best_epoch for run in without),
                    tuple(run.best_epoch for run in with_elmo),
                )
            )
    return SixTasks(tuple(gains), sum(run.cpu_minutes for run in result.runs))


def _score(run: TaskRun, test_set: str) -> float:
    return run.other_tests[test_set] if test_set else run.test


def six_tasks_table(result: SixTasks) -> Table:
    """One row per test set, with the paper's numbers beside ours."""
    rows = []
    for gain in result.gains:
        theirs = None if gain.test_set else paper.TASKS.get(gain.task)
        rows.append(
            (
                f"{gain.title}, {gain.measure}",
                count(gain.num_examples),
                " and ".join(dict.fromkeys((str(len(gain.baseline)), str(len(gain.elmo))))),
                spread(gain.baseline, 2),
                spread(gain.elmo, 2),
                f"{gain.reduction:.1f} %",
                ", ".join(gain.baseline_epochs),
                ", ".join(gain.elmo_epochs),
                "" if theirs is None else percent(theirs.baseline),
                "" if theirs is None else percent(theirs.elmo),
                "" if theirs is None else f"{theirs.reduction:.1f} %",
            )
        )
    return Table(
        "Six tasks, with and without ELMo (Table 1)",
        (
            "test set",
            "training examples",
            "seeds",
            "baseline",
            "with ELMo",
            "error reduction",
            "best epoch, baseline",
            "best epoch, ELMo",
            "paper: baseline",
            "paper: ELMo",
            "paper: reduction",
        ),
        tuple(rows),
        "Mean and deviation over the seeds. Baseline: the same model without ELMo. The paper's "
        "numbers are for other, larger data sets (docs/guide/tasks.md says what replaces them). "
        f"Training took {result.cpu_minutes:.0f} CPU minutes in all.",
    )


def six_tasks_picture(result: SixTasks) -> Picture:
    """Two dots per task."""
    return dots(
        "six-tasks",
        "Test scores of the six tasks, with and without ELMo",
        [f"{gain.title}, {gain.measure}" for gain in result.gains],
        {
            "baseline": [statistics.mean(gain.baseline) for gain in result.gains],
            "with ELMo": [statistics.mean(gain.elmo) for gain in result.gains],
        },
        "test score",
    )
