"""Sections that train task models. They share the runs that they have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from elmokit.analysis.experiments.layers import LAYERS, NORMALISED, PLACES, grid_table
from elmokit.analysis.experiments.mix_weights import (
    MixWeights,
    mix_picture,
    mix_table,
    mixes_of_runs,
)
from elmokit.analysis.experiments.runs import TITLES, WITH_ELMO, GridResult, do_runs, grid_result
from elmokit.analysis.experiments.sample_efficiency import (
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    num_training_examples,
    sample_efficiency,
)
from elmokit.analysis.experiments.table1 import (
    SixTasks,
    six_tasks,
    six_tasks_picture,
    six_tasks_table,
)
from elmokit.analysis.experiments.transfer import Transfer, domain_transfer, transfer_table
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.report.commands import elmokit_line, option, repeated
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import Exhibit, Section, lacks
from elmokit.tasks.data.benchmark_sets import FOLDERS
from elmokit.tasks.grid import Grid, Variant, task_splits
from elmokit.tasks.task import find_task

SETTINGS = ("data", "tasks", "recipe", "task_settings", "seeds", "max_minutes")
"""The settings that every section except Table 1 depends on."""
BOTH_PLACES = PLACES[1]
DATA_NOTES = {
    "squad": "SQuAD 1.1, tested on its development set",
    "entailment": "trained on SNLI's development set and counterfactual pairs",
    "srl": "the PropBank of EWT",
    "coref": "LitBank",
    "ner": "WNUT 2017",
    "sentiment": "SST",
}
"""By task: the data that ``tasks.data.benchmark_sets`` reads in place of the paper's."""


def _with_data(table: Table, tasks: Sequence[str], more: Sequence[str] = ()) -> Table:
    """The table, with a note on the data that its tasks are trained and tested on."""
    each = "; ".join(f"{TITLES[task]}, {DATA_NOTES[task]}" for task in tasks)
    said = f"Data (docs/guide/tasks.md), not all of them the paper's: {each}." if tasks else ""
    return table._replace(note=" ".join(part for part in (table.note, *more, said) if part))


def _lack_data(config: ReportConfig, tasks: Sequence[str]) -> str:
    """A message about the first task whose data are missing, otherwise empty."""
    missing = (lacks(config, FOLDERS[find_task(task).name]) for task in tasks)
    return next((found for found in missing if found), "")


def _line(name: str, config: ReportConfig, grid: Grid, *more: str) -> str:
    """``analyse NAME`` for one task; RUNS/... has the same name as in the report's runs/."""
    return elmokit_line(
        *("analyse", name, *grid.tasks, *config.model_words, "--data", grid.data),
        *("--recipe", grid.recipe, *repeated("--set", grid.settings), *more),
        *option("--seeds", grid.seeds),
        *option("--minutes", f"{grid.max_minutes:g}" if grid.max_minutes else None),
        *("-o", _shown(grid)),
    )


def _shown(grid: Grid) -> str:
    return f"RUNS/{grid.out.name}"


def _lines(name: str, config: ReportConfig, *more: str) -> str:
    """One line per task, each with its own settings."""
    return "\n".join(_line(name, config, config.grid(task), *more) for task in config.tasks)


def _no_words(config: ReportConfig) -> Sequence[str]:
    return ()


def _task_section(
    name: str,
    title: str,
    kind: type[Any],
    compute: Callable[[ReportConfig, bool], Any],
    show: Callable[[Any], Exhibit],
    *depends_on: str,
    words: Callable[[ReportConfig], Sequence[str]] = _no_words,
    command: Callable[[ReportConfig], str] | None = None,
) -> Section:
    """A section on the tasks of ``config.tasks``.

    ``depends_on``: settings besides SETTINGS. ``words``: what its command line has besides the
    common options; ``command`` replaces the whole line.
    """
    return Section(
        name=name,
        title=title,
        kind=kind,
        depends_on=(*SETTINGS, *depends_on),
        needs=lambda config: _lack_data(config, config.tasks),
        command=command or (lambda config: _lines(name, config, *words(config))),
        compute=lambda config, models, quiet: compute(config, quiet),
        show=show,
    )


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
    table = _with_data(six_tasks_table(result), tasks)
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
    compute=lambda config, models, quiet: _tasks(config, quiet),
    show=_tasks_exhibit,
)


def _grid(config: ReportConfig, variants: tuple[Variant, ...], quiet: bool) -> GridResult:
    results = [do_runs(config.grid(task), variants, config.jobs, quiet) for task in config.tasks]
    return GridResult(tuple(run for result in results for run in result.runs))


def _layers(config: ReportConfig, quiet: bool) -> GridResult:
    return _grid(config, (*LAYERS, *NORMALISED) if config.has_layer_norm else LAYERS, quiet)


def _grid_exhibit(result: GridResult, title: str) -> Exhibit:
    return Exhibit([_with_data(grid_table(result, title), result.tasks)])


WHICH_LAYERS = _task_section(
    *("layers", "Which layers (Table 2)", GridResult, _layers),
    lambda result: _grid_exhibit(result, "Which layers (Table 2)"),
    "has_layer_norm",
    words=lambda config: ["--layer-norm"] if config.has_layer_norm else [],
)
WHICH_PLACES = _task_section(
    *("places", "Which places (Table 3)", GridResult),
    lambda config, quiet: _grid(config, PLACES, quiet),
    lambda result: _grid_exhibit(result, "Which places (Table 3)"),
)


class Examples(NamedTuple):
    """The size of a task's training data."""

    num_used: int
    """What 100 % means; the recipe may use fewer than are available."""
    num_available: int


@dataclass(frozen=True)
class Efficiency:
    """Figure 1 for several tasks."""

    results: tuple[SampleEfficiency, ...]
    examples: tuple[Examples, ...]
    """One per task."""


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
    table = _with_data(efficiency_table(shown.results), tasks, scale)
    return Exhibit([table], lambda: efficiency_pictures(shown.results))


EFFICIENCY = _task_section(
    *("efficiency", "Sample efficiency (Figure 1)", Efficiency, _efficiency, _efficiency_exhibit),
    "shares",
    words=lambda config: [*config.words("shares"), "--pictures", "figures"],
)


@dataclass(frozen=True)
class Mixes:
    """Figure 2."""

    weights: MixWeights
    num_examples: dict[str, int]
    """The number of training examples of each task."""


def _mixes(config: ReportConfig, quiet: bool) -> Mixes:
    """From Table 3's runs with ELMo at both places, and Table 1's runs of other tasks."""
    runs = list(_grid(config, (BOTH_PLACES,), quiet).runs)
    runs += [run for _, result in _other_mixes(config) for run in result.runs]
    return Mixes(mixes_of_runs(runs), {run.task: run.train_examples for run in runs})


def _other_mixes(config: ReportConfig) -> list[tuple[Grid, GridResult]]:
    """Table 1's finished runs with ELMo, for tasks that Table 3 does not have."""
    grids = (config.table1_grid(task) for task in config.table1_tasks if task not in config.tasks)
    found = ((grid, grid_result(replace(grid, variants=(WITH_ELMO,)))) for grid in grids)
    return [(grid, result) for grid, result in found if result.runs]


def _mixes_commands(config: ReportConfig) -> str:
    """The commands for the runs, then for their weights; Table 1's tasks have their own table."""
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
    table = _with_data(mix_table(shown.weights), list(shown.num_examples), [sizes])
    return Exhibit([table], lambda: [mix_picture(shown.weights)])


MIXES = _task_section(
    *("mixes", "Learned mix weights (Figure 2)", Mixes, _mixes, _mixes_exhibit, "table1_runs"),
    command=_mixes_commands,
)


@dataclass(frozen=True)
class Transfers:
    """Domain transfer for several tasks."""

    results: tuple[Transfer, ...]


def _transfer(config: ReportConfig, quiet: bool) -> Transfers:
    found = (
        domain_transfer(config.grid(task), task, config.tune, config.jobs, quiet)
        for task in config.tasks
    )
    return Transfers(tuple(found))


def _transfer_exhibit(shown: Transfers) -> Exhibit:
    tasks = [result.task for result in shown.results]
    return Exhibit([_with_data(transfer_table(shown.results), tasks)])


TRANSFER = _task_section(
    *("transfer", "Domain transfer (supplement)", Transfers, _transfer, _transfer_exhibit, "tune"),
    words=lambda config: config.words("tune"),
)

TASK_SECTIONS = (TASKS, WHICH_LAYERS, WHICH_PLACES, EFFICIENCY, MIXES, TRANSFER)
