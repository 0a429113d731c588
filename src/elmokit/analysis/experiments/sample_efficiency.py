"""Figure 1: how much labelled data, and how many epochs, does a task need without ELMo?"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from elmokit.analysis.experiments.runs import (
    BASELINE,
    TITLES,
    WITH_ELMO,
    TaskRun,
    do_runs,
    spread,
)
from elmokit.analysis.output.pictures import Line, Picture, curves
from elmokit.analysis.output.tables import Table, count
from elmokit.errors import InputError
from elmokit.tasks.config import TaskConfig
from elmokit.tasks.grid import Grid, Variant, task_splits
from elmokit.tasks.run import configured

SHARES = (0.001, 0.01, 0.1, 1.0)
STEPS = 20
"""The minimum number of steps per epoch; batches shrink to reach it, to SMALLEST_BATCH at least."""
SMALLEST_BATCH = 4
DEV_EXAMPLES = 300
"""The maximum number of development examples for a share; they are scored after every epoch."""


class Point(NamedTuple):
    """Test scores with one share of the training data, one per seed."""

    share: float
    num_examples: int
    baseline: tuple[float, ...]
    elmo: tuple[float, ...]


@dataclass(frozen=True)
class SampleEfficiency:
    """Figure 1 for one task."""

    task: str
    measure: str
    points: tuple[Point, ...]
    baseline_epochs: tuple[float, ...]
    """Development score after each epoch with all the data, first seed; empty if not run."""
    elmo_epochs: tuple[float, ...]


def sample_efficiency(
    grid: Grid, task: str, shares: Sequence[float] = SHARES, jobs: int = 1, quiet: bool = False
) -> SampleEfficiency:
    """Train with each share, with and without ELMo; smaller shares are part of larger ones."""
    for share in shares:
        if not 0 < share <= 1:
            raise InputError(f"a share of the data must be above 0 and at most 1, got {share}")
    total = num_training_examples(grid, task)
    config = configured(task, grid.recipe, grid.settings)
    variants = {share: share_variants(share, total, config) for share in sorted(shares)}
    every = [variant for pair in variants.values() for variant in pair]
    result = do_runs(replace(grid, tasks=(task,)), every, jobs, quiet)
    points = []
    for share, pair in variants.items():
        scores = [tuple(result.scores(task, variant.name, "test")) for variant in pair]
        points.append(Point(share, max(1, round(share * total)), scores[0], scores[1]))
    return SampleEfficiency(
        task,
        result.runs[0].measure,
        tuple(points),
        _first_epochs(result.runs, BASELINE.name),
        _first_epochs(result.runs, WITH_ELMO.name),
    )


def parse_shares(text: str) -> tuple[float, ...]:
    """Convert percentages such as "1,10,100" to fractions."""
    try:
        shares = tuple(float(part) / 100 for part in text.split(","))
    except ValueError:
        raise InputError(f"shares must be percentages such as 1,10,100; got {text!r}") from None
    return shares


def num_training_examples(grid: Grid, task: str) -> int:
    """The number of training examples, or the recipe's limit if that is smaller."""
    limit = configured(task, grid.recipe, grid.settings).data.train_limit
    available = len(task_splits(grid, task).train)
    return min(limit, available) if limit else available


def share_variants(share: float, total: int, config: TaskConfig) -> tuple[Variant, Variant]:
    """Variants without and with ELMo; for all of the data, the variants of the other tables.

    Both train longer on small shares: the epochs and the patience are multiplied by
    1 / sqrt(share), and batches are small enough for ``STEPS`` steps per epoch.
    """
    if share == 1:
        return BASELINE, WITH_ELMO
    fit = config.fit
    num_examples = max(1, round(share * total))
    epochs = {
        name: round(getattr(fit, name) / math.sqrt(share))
        for name in ("max_epochs", "patience", "halve_after")
    }
    settings = (
        f"data.train_limit={num_examples}",
        f"data.dev_limit={min(config.data.dev_limit or DEV_EXAMPLES, DEV_EXAMPLES)}",
        f"fit.batch_size={min(fit.batch_size, max(SMALLEST_BATCH, num_examples // STEPS))}",
        *(f"fit.{name}={value}" for name, value in epochs.items()),
    )
    baseline, elmo = (
        Variant(f"{variant.name}, {_share(share)}", (*variant.settings, *settings))
        for variant in (BASELINE, WITH_ELMO)
    )
    return baseline, elmo


def _share(share: float) -> str:
    return f"{100 * share:g} %"


def _first_epochs(runs: Sequence[TaskRun], variant: str) -> tuple[float, ...]:
    return next((run.epochs for run in runs if run.variant == variant and run.seed == 1), ())


def reaches(result: SampleEfficiency) -> int | None:
    """The first epoch in which ELMo reaches the baseline's best development score, if any."""
    best = max(result.baseline_epochs, default=float("inf"))
    for epoch, score in enumerate(result.elmo_epochs, start=1):
        if score >= best:
            return epoch
    return None


def efficiency_table(results: Sequence[SampleEfficiency]) -> Table:
    """One row per task and share."""
    rows = [
        (
            f"{TITLES.get(result.task, result.task)}, {result.measure}",
            f"{_share(point.share)} ({count(point.num_examples)})",
            spread(point.baseline),
            spread(point.elmo),
        )
        for result in results
        for point in result.points
    ]
    notes = []
    for result in results:
        epoch = reaches(result)
        if result.baseline_epochs:
            best = max(result.baseline_epochs)
            first = result.baseline_epochs.index(best) + 1
            when = f"in epoch {epoch}" if epoch else "in none of its epochs"
            notes.append(
                f"{TITLES.get(result.task, result.task)}: the baseline's best development score "
                f"({best:.1f}, epoch {first}) is reached with ELMo {when}."
            )
    notes.append(
        "Small shares are subsets of larger ones and are trained for 1 / sqrt(share) times the "
        f"epochs, stopped by at most {DEV_EXAMPLES} development examples, with and "
        "without ELMo alike; the test set is whole. Paper: SRL with ELMo reaches at epoch 10 "
        "what the baseline reaches at epoch 486, and with 1 % of the data what the baseline "
        "reaches with 10 %."
    )
    header = ("task, test set", "training data", "baseline", "with ELMo")
    return Table("Sample efficiency (Figure 1)", header, tuple(rows), " ".join(notes))


def efficiency_pictures(results: Sequence[SampleEfficiency]) -> list[Picture]:
    """Two pictures per task: score against the share of the data, and score against epochs."""
    pictures = []
    for result in results:
        title = TITLES.get(result.task, result.task)
        lines = []
        for label, name in (("baseline", "baseline"), ("with ELMo", "elmo")):
            scores = [getattr(point, name) for point in result.points]
            means = [statistics.mean(values) for values in scores]
            deviations = [statistics.stdev(v) if len(v) > 1 else 0.0 for v in scores]
            shares = [100 * point.share for point in result.points]
            is_dashed = name == "baseline"
            lines.append(Line(label, shares, means, deviations, is_dashed))
        caption = f"{title}: test {result.measure} against the share of the training data"
        pictures.append(
            curves(f"data-{result.task}", caption, lines, "training data, %", result.measure, True)
        )
        if result.baseline_epochs and result.elmo_epochs:
            pictures.append(_epochs_picture(result, title))
    return pictures


def _epochs_picture(result: SampleEfficiency, title: str) -> Picture:
    scores = {"baseline": result.baseline_epochs, "with ELMo": result.elmo_epochs}
    lines = [
        Line(label, range(1, len(by_epoch) + 1), by_epoch, is_dashed=label == "baseline")
        for label, by_epoch in scores.items()
    ]
    caption = f"{title}: development {result.measure} against epochs, all training data"
    return curves(f"epochs-{result.task}", caption, lines, "epoch", result.measure)
