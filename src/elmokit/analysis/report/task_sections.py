"""Sections that train task models. They share the runs they have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from elmokit.analysis.mix_weights import MixWeights, mix_picture, mix_table, mixes_of_runs
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.section import (
    Exhibit,
    Section,
    lacks,
    model_option,
    nothing,
    option,
)
from elmokit.analysis.sample_efficiency import (
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    sample_efficiency,
)
from elmokit.analysis.six_tasks import (
    SixTasks,
    six_tasks,
    six_tasks_picture,
    six_tasks_table,
)
from elmokit.analysis.task_runs import (
    LAYERS,
    NORMALISED,
    PLACES,
    WITH_ELMO,
    GridResult,
    do_runs,
    grid_result,
    grid_table,
)
from elmokit.analysis.transfer import Transfer, domain_transfer, transfer_table
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.benchmark_data import FOLDERS
from elmokit.tasks.grid import Variant

SETTINGS = ("data", "tasks", "recipe", "task_settings", "seeds", "max_minutes")
"""What every section but Table 1 depends on."""


def _lack_data(config: ReportConfig, tasks: Sequence[str]) -> str:
    """The first task's data that are missing."""
    missing = (lacks(config, FOLDERS[find_task(task).name]) for task in tasks)
    return next((found for found in missing if found), "")


def _needs(config: ReportConfig) -> str:
    return _lack_data(config, config.tasks)


def _seeds_and_minutes(seeds: int | None, minutes: float) -> str:
    at_most = f"{minutes:g}" if minutes else None
    return option("--seeds", seeds or None) + option("--minutes", at_most)


def _command(
    name: str, options: Callable[[ReportConfig], str] = nothing
) -> Callable[[ReportConfig], str]:
    """A line a task, each with its own settings."""

    def line(config: ReportConfig, task: str) -> str:
        settings = "".join(f" --set {s}" for of_task, s in config.task_settings if of_task == task)
        return (
            f"elmokit analyse {name} {task}{model_option(config)} --data {config.data} "
            f"--recipe {config.recipe}{settings}{options(config)}"
            f"{_seeds_and_minutes(config.seeds, config.max_minutes)} -o RUNS/{task}"
        )

    return lambda config: "\n".join(line(config, task) for task in config.tasks)


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


TASKS = Section(
    name="tasks",
    title="Six tasks (Table 1)",
    kind=SixTasks,
    depends_on=("data", "table1_tasks", "table1_seeds", "recipe", "max_minutes"),
    needs=lambda config: _lack_data(config, config.table1_tasks),
    command=lambda config: (
        f"elmokit analyse tasks {' '.join(config.table1_tasks)}{model_option(config)} "
        f"--data {config.data} --recipe {config.recipe}"
        f"{_seeds_and_minutes(config.table1_seeds, config.max_minutes)} -o RUNS"
    ),
    compute=_tasks,
    show=lambda result: Exhibit([six_tasks_table(result)], lambda: [six_tasks_picture(result)]),
)


def _layers(config: ReportConfig, quiet: bool) -> GridResult:
    return _grid(config, (*LAYERS, *NORMALISED) if config.has_layer_norm else LAYERS, quiet)


WHICH_LAYERS = Section(
    name="layers",
    title="Which layers (Table 2)",
    kind=GridResult,
    depends_on=(*SETTINGS, "has_layer_norm"),
    needs=_needs,
    command=_command("layers", lambda config: "" if config.has_layer_norm else " --no-layer-norm"),
    compute=_layers,
    show=lambda result: Exhibit([grid_table(result, "Which layers (Table 2)")]),
)

WHICH_PLACES = Section(
    name="places",
    title="Which places (Table 3)",
    kind=GridResult,
    depends_on=SETTINGS,
    needs=_needs,
    command=_command("places"),
    compute=lambda config, quiet: _grid(config, PLACES, quiet),
    show=lambda result: Exhibit([grid_table(result, "Which places (Table 3)")]),
)


@dataclass(frozen=True)
class Efficiency:
    results: tuple[SampleEfficiency, ...]


def _efficiency(config: ReportConfig, quiet: bool) -> Efficiency:
    found = (
        sample_efficiency(config.grid(task), task, config.shares, config.jobs, quiet)
        for task in config.tasks
    )
    return Efficiency(tuple(found))


EFFICIENCY = Section(
    name="efficiency",
    title="Sample efficiency (Figure 1)",
    kind=Efficiency,
    depends_on=(*SETTINGS, "shares"),
    needs=_needs,
    command=_command(
        "efficiency",
        lambda config: f" --shares {','.join(f'{100 * share:g}' for share in config.shares)}",
    ),
    compute=_efficiency,
    show=lambda result: Exhibit(
        [efficiency_table(result.results)], lambda: efficiency_pictures(result.results)
    ),
)


def _mixes(config: ReportConfig, quiet: bool) -> MixWeights:
    """Of Table 3's runs that use ELMo at both places; of other tasks, as Table 1 has them."""
    others = [
        grid_result(replace(config.table1_grid(task), variants=(WITH_ELMO,)))
        for task in config.table1_tasks
        if task not in config.tasks
    ]
    runs = [*_grid(config, (PLACES[1],), quiet).runs, *(run for r in others for run in r.runs)]
    return mixes_of_runs(runs)


MIXES = Section(
    name="mixes",
    title="Learned mix weights (Figure 2)",
    kind=MixWeights,
    depends_on=(*SETTINGS, "table1_runs"),
    needs=_needs,
    command=lambda config: (
        "elmokit analyse mixes " + " ".join(f"RUNS/{task}" for task in config.tasks)
    ),
    compute=_mixes,
    show=lambda result: Exhibit([mix_table(result)], lambda: [mix_picture(result)]),
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
    command=_command(
        "transfer", lambda config: "".join(f" --tune {setting}" for setting in config.tune)
    ),
    compute=_transfer,
    show=lambda result: Exhibit([transfer_table(result.results)]),
)

TASK_SECTIONS = (TASKS, WHICH_LAYERS, WHICH_PLACES, EFFICIENCY, MIXES, TRANSFER)
