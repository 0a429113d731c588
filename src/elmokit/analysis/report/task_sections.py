"""Sections that train task models. They share the runs they have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from elmokit.analysis.mix_weights import MixWeights, mix_picture, mix_table, mixes_of_runs
from elmokit.analysis.report.commands import (
    elmokit_line,
    model_option,
    option,
    percents,
    repeated,
)
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import Exhibit, Section, lacks
from elmokit.analysis.report.stand_ins import with_data
from elmokit.analysis.sample_efficiency import (
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    num_training_examples,
    sample_efficiency,
)
from elmokit.analysis.six_tasks import (
    SixTasks,
    six_tasks,
    six_tasks_picture,
    six_tasks_table,
)
from elmokit.analysis.tables import count
from elmokit.analysis.task_runs import (
    LAYERS,
    NORMALISED,
    PLACES,
    TITLES,
    WITH_ELMO,
    GridResult,
    do_runs,
    grid_result,
    grid_table,
)
from elmokit.analysis.transfer import Transfer, domain_transfer, transfer_table
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.benchmark_data import FOLDERS
from elmokit.tasks.grid import Grid, Variant, task_splits

SETTINGS = ("data", "tasks", "recipe", "task_settings", "seeds", "max_minutes")
"""What every section but Table 1 depends on."""
BOTH_PLACES = PLACES[1]


def _lack_data(config: ReportConfig, tasks: Sequence[str]) -> str:
    """The first task's data that are missing."""
    missing = (lacks(config, FOLDERS[find_task(task).name]) for task in tasks)
    return next((found for found in missing if found), "")


def _needs(config: ReportConfig) -> str:
    return _lack_data(config, config.tasks)


def _line(name: str, config: ReportConfig, grid: Grid, *more: str) -> str:
    """``analyse NAME`` of one task; RUNS/... is named as below the report's runs/."""
    return elmokit_line(
        *("analyse", name, *grid.tasks, *model_option(config), "--data", grid.data),
        *("--recipe", grid.recipe, *repeated("--set", grid.settings), *more),
        *option("--seeds", grid.seeds),
        *option("--minutes", f"{grid.max_minutes:g}" if grid.max_minutes else None),
        *("-o", _shown(grid)),
    )


def _shown(grid: Grid) -> str:
    return f"RUNS/{grid.out.name}"


def _lines(name: str, config: ReportConfig, *more: str) -> str:
    """A line a task, each with its own settings."""
    return "\n".join(_line(name, config, config.grid(task), *more) for task in config.tasks)


def _grid(config: ReportConfig, variants: tuple[Variant, ...], quiet: bool) -> GridResult:
    results = [do_runs(config.grid(task), variants, config.jobs, quiet) for task in config.tasks]
    return GridResult(tuple(run for result in results for run in result.runs))


def _tasks(config: ReportConfig, quiet: bool) -> SixTasks:
    found = [
        six_tasks(config.table1_grid(task), config.jobs, quiet) for task in config.table1_tasks
    ]
    return SixTasks(
        tuple(gain for result in found for gain in result.gains),
        sum(result.cpu_minutes for result in found),
    )


def _tasks_exhibit(result: SixTasks) -> Exhibit:
    tasks = list(dict.fromkeys(gain.task for gain in result.gains))
    table = with_data(six_tasks_table(result), tasks)
    return Exhibit([table], lambda: [six_tasks_picture(result)])


TASKS = Section(
    name="tasks",
    title="Six tasks (Table 1)",
    kind=SixTasks,
    depends_on=("data", "table1_tasks", "table1_seeds", "recipe", "max_minutes"),
    needs=lambda config: _lack_data(config, config.table1_tasks),
    command=lambda config: "\n".join(
        _line("tasks", config, config.table1_grid(task)) for task in config.table1_tasks
    ),
    compute=_tasks,
    show=_tasks_exhibit,
)


def _grid_exhibit(result: GridResult, title: str) -> Exhibit:
    return Exhibit([with_data(grid_table(result, title), result.tasks)])


def _layers(config: ReportConfig, quiet: bool) -> GridResult:
    return _grid(config, (*LAYERS, *NORMALISED) if config.has_layer_norm else LAYERS, quiet)


WHICH_LAYERS = Section(
    name="layers",
    title="Which layers (Table 2)",
    kind=GridResult,
    depends_on=(*SETTINGS, "has_layer_norm"),
    needs=_needs,
    command=lambda config: _lines(
        "layers", config, "--layer-norm" if config.has_layer_norm else "--no-layer-norm"
    ),
    compute=_layers,
    show=lambda result: _grid_exhibit(result, "Which layers (Table 2)"),
)

WHICH_PLACES = Section(
    name="places",
    title="Which places (Table 3)",
    kind=GridResult,
    depends_on=SETTINGS,
    needs=_needs,
    command=lambda config: _lines("places", config),
    compute=lambda config, quiet: _grid(config, PLACES, quiet),
    show=lambda result: _grid_exhibit(result, "Which places (Table 3)"),
)


class Examples(NamedTuple):
    """Of a task's training data."""

    num_used: int
    """What 100 % stands for: the recipe may take fewer than there are."""
    num_available: int


@dataclass(frozen=True)
class Efficiency:
    results: tuple[SampleEfficiency, ...]
    examples: tuple[Examples, ...]
    """A task each."""


def _efficiency(config: ReportConfig, quiet: bool) -> Efficiency:
    results, examples = [], []
    for task in config.tasks:
        grid = config.grid(task)
        results.append(sample_efficiency(grid, task, config.shares, config.jobs, quiet))
        available = len(task_splits(grid, task).train)
        examples.append(Examples(num_training_examples(grid, task), available))
    return Efficiency(tuple(results), tuple(examples))


def _efficiency_exhibit(shown: Efficiency) -> Exhibit:
    scale = [
        f"{TITLES.get(result.task, result.task)}: 100 % are {count(examples.num_used)} of the "
        f"{count(examples.num_available)} training examples."
        for result, examples in zip(shown.results, shown.examples, strict=True)
    ]
    tasks = [result.task for result in shown.results]
    table = with_data(efficiency_table(shown.results), tasks, scale)
    return Exhibit([table], lambda: efficiency_pictures(shown.results))


EFFICIENCY = Section(
    name="efficiency",
    title="Sample efficiency (Figure 1)",
    kind=Efficiency,
    depends_on=(*SETTINGS, "shares"),
    needs=_needs,
    command=lambda config: _lines(
        "efficiency", config, "--shares", percents(config.shares), "--pictures", "figures"
    ),
    compute=_efficiency,
    show=_efficiency_exhibit,
)


@dataclass(frozen=True)
class Mixes:
    weights: MixWeights
    num_examples: dict[str, int]
    """By task: trained on."""


def _mixes(config: ReportConfig, quiet: bool) -> Mixes:
    """Of Table 3's runs that use ELMo at both places; of other tasks, as Table 1 has them."""
    runs = list(_grid(config, (BOTH_PLACES,), quiet).runs)
    runs += [run for _, result in _other_mixes(config) for run in result.runs]
    return Mixes(mixes_of_runs(runs), {run.task: run.train_examples for run in runs})


def _other_mixes(config: ReportConfig) -> list[tuple[Grid, GridResult]]:
    """Table 1's runs with ELMo that are there, of tasks that Table 3 has not."""
    grids = (config.table1_grid(task) for task in config.table1_tasks if task not in config.tasks)
    found = ((grid, grid_result(replace(grid, variants=(WITH_ELMO,)))) for grid in grids)
    return [(grid, result) for grid, result in found if result.runs]


def _mixes_commands(config: ReportConfig) -> str:
    """The runs, then their weights; those of Table 1's tasks in a table of their own."""
    others = [grid for grid, _ in _other_mixes(config)]
    lines = [_lines("places", config)]
    lines += [_line("tasks", config, grid) for grid in others]
    folders = (_shown(config.grid(task)) for task in config.tasks)
    lines.append(elmokit_line("analyse", "mixes", *folders, "--picture", "mix-weights.png"))
    if others:
        words = (*map(_shown, others), "--variant", WITH_ELMO.name)
        lines.append(elmokit_line("analyse", "mixes", *words, "--picture", "more-weights.png"))
    return "\n".join(lines)


def _mixes_exhibit(shown: Mixes) -> Exhibit:
    each = (f"{TITLES.get(t, t)} {count(number)}" for t, number in shown.num_examples.items())
    sizes = f"Training examples: {', '.join(each)}."
    table = with_data(mix_table(shown.weights), list(shown.num_examples), [sizes])
    return Exhibit([table], lambda: [mix_picture(shown.weights)])


MIXES = Section(
    name="mixes",
    title="Learned mix weights (Figure 2)",
    kind=Mixes,
    depends_on=(*SETTINGS, "table1_runs"),
    needs=_needs,
    command=_mixes_commands,
    compute=_mixes,
    show=_mixes_exhibit,
)


@dataclass(frozen=True)
class Transfers:
    results: tuple[Transfer, ...]


def _transfer(config: ReportConfig, quiet: bool) -> Transfers:
    found = (
        domain_transfer(config.grid(task), task, config.tune, config.jobs, quiet)
        for task in config.tasks
    )
    return Transfers(tuple(found))


TRANSFER = Section(
    name="transfer",
    title="Domain transfer (supplement)",
    kind=Transfers,
    depends_on=(*SETTINGS, "tune"),
    needs=_needs,
    command=lambda config: _lines("transfer", config, *repeated("--tune", config.tune)),
    compute=_transfer,
    show=lambda result: Exhibit(
        [with_data(transfer_table(result.results), [found.task for found in result.results])]
    ),
)

TASK_SECTIONS = (TASKS, WHICH_LAYERS, WHICH_PLACES, EFFICIENCY, MIXES, TRANSFER)
