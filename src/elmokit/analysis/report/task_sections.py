"""The sections of a report: what each computes, and how its result is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.analysis import paper
from elmokit.analysis.demo import DemoResult, demo, demo_picture, demo_tables
from elmokit.analysis.encoders import Encoder, open_encoder
from elmokit.analysis.mix_weights import MixWeights, mix_picture, mix_table, mixes_of_runs
from elmokit.analysis.neighbours import ContextNeighbours, context_neighbours, neighbours_tables
from elmokit.analysis.part_of_speech import (
    PosResult,
    part_of_speech_probe,
    pos_picture,
    pos_table,
    read_pos_data,
)
from elmokit.analysis.perplexities import PerplexityResult, perplexities, perplexity_table
from elmokit.analysis.pictures import Picture
from elmokit.analysis.sample_efficiency import (
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    sample_efficiency,
)
from elmokit.analysis.sense_map import (
    SenseMap,
    read_uses,
    sense_map,
    sense_map_picture,
    sense_map_table,
)
from elmokit.analysis.senses import (
    SensesResult,
    read_sense_data,
    senses_picture,
    senses_table,
    word_senses,
)
from elmokit.analysis.six_tasks import (
    SixTasks,
    six_tasks,
    six_tasks_picture,
    six_tasks_table,
)
from elmokit.analysis.tables import Table
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
from elmokit.analysis.texts import read_sentences
from elmokit.analysis.transfer import Transfer, domain_transfer, transfer_table
from elmokit.analysis.use_index import build_index, open_index
from elmokit.errors import InputError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.benchmark_data import FOLDERS
from elmokit.tasks.grid import Grid, Variant, read_results

TABLE_4 = (
    "Chico Ruiz made a spectacular *play* on Alusik's grounder.",
    "Olivia De Havilland signed to do a Broadway *play* for Garson.",
)


@dataclass(frozen=True)
class ReportConfig:
    """What a report is made of."""

    out: Path
    data: Path
    """Folder with ewt, wsd, glove, nli, ewt-propbank ... unpacked."""
    model: str = ""
    corpus: Path | None = None
    """A prepared corpus, for perplexity."""
    train_tokens: int | None = None
    """Of that corpus, what the model has seen, in ``lanes`` streams; None: all."""
    lanes: int = 1
    text: tuple[str, ...] = ()
    """Plain text, for neighbours."""
    word: str = "play"
    """Whose uses are drawn."""
    tasks: tuple[str, ...] = ("entailment", "srl")
    """Of Tables 2 and 3, the figures and the transfer; Table 1 has ``table1_tasks``."""
    table1_tasks: tuple[str, ...] = tuple(paper.TASKS)
    table1_seeds: int | None = None
    """None: three for the small tasks, one for the others."""
    shares: tuple[float, ...] = (0.01, 0.1, 1.0)
    recipe: str = "cpu"
    task_settings: tuple[tuple[str, str], ...] = ()
    """(task, TABLE.NAME=VALUE): for all runs of a task but those of Table 1."""
    tune: tuple[str, ...] = ()
    """train.NAME=VALUE: for the fine-tuning of the transfer section."""
    seeds: int | None = None
    max_minutes: float = 0.0
    jobs: int = 1
    has_layer_norm: bool = False
    """Table 2 with layer norm too."""
    train_sentences: int | None = None
    """Of the part-of-speech probe; None: all."""
    semcor_sentences: int | None = None

    def grid(self, task: str) -> Grid:
        """Of one task's runs, for all but Table 1."""
        settings = tuple(setting for name, setting in self.task_settings if name == task)
        return replace(
            self._grid(self.out / "runs" / task, settings), tasks=(task,), seeds=self.seeds
        )

    def table1_grid(self, task: str) -> Grid:
        """The recipe as it is. Runs without other settings lie with those of ``grid``."""
        has_settings = any(name == task for name, _ in self.task_settings)
        folder = self.out / ("table1" if has_settings else "runs") / task
        return replace(self._grid(folder, ()), tasks=(task,), seeds=self.table1_seeds)

    def _grid(self, out: Path, settings: tuple[str, ...]) -> Grid:
        return Grid(
            tasks=(),
            variants=(),
            data=self.data,
            out=out,
            elmo=self.model or None,
            recipe=self.recipe,
            settings=settings,
            max_minutes=self.max_minutes,
        )

    @property
    def table1_runs(self) -> tuple[str, ...]:
        """Those that are there: what else Figure 2 can show."""
        grids = map(self.table1_grid, self.table1_tasks)
        return tuple(line["run"] for grid in grids for line in read_results(grid.out))


def parse_task_settings(settings: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """ "srl:data.train_limit=3000" -> ("srl", "data.train_limit=3000")."""
    pairs = []
    for setting in settings:
        task, colon, rest = setting.partition(":")
        if not colon:
            raise InputError(f"--set {setting}: write it as TASK:TABLE.NAME=VALUE")
        pairs.append((find_task(task).name, rest))
    return tuple(pairs)


class Exhibit(NamedTuple):
    tables: list[Table]
    pictures: Callable[[], list[Picture]]
    """Drawn only where matplotlib is there."""


class Section(NamedTuple):
    name: str
    title: str
    kind: type[Any]
    depends_on: tuple[str, ...]
    """Settings of the report (besides the model) that change the result."""
    needs: Callable[[ReportConfig], str]
    """What is missing to compute it; empty when nothing is."""
    command: Callable[[ReportConfig], str]
    compute: Callable[[ReportConfig, bool], Any]
    show: Callable[[Any], Exhibit]


@dataclass(frozen=True)
class Neighbours:
    """Of the two sentences of Table 4."""

    num_tokens: int
    found: tuple[ContextNeighbours, ...]


@dataclass(frozen=True)
class Efficiency:
    results: tuple[SampleEfficiency, ...]


@dataclass(frozen=True)
class Transfers:
    results: tuple[Transfer, ...]


def _encoders(config: ReportConfig) -> list[Encoder]:
    """The model, the same untrained, and GloVe where the data has it."""
    names = [config.model, f"untrained:{config.model}"]
    if (config.data / "glove").exists():
        names.append(f"static:{config.data / 'glove'}")
    return [open_encoder(name) for name in names]


def _rows(config: ReportConfig) -> str:
    static = f" static:{config.data / 'glove'}" if (config.data / "glove").exists() else ""
    return f"{config.model or repr('')} untrained:{config.model}{static}"


def _limit(option: str, value: int | None) -> str:
    return "" if value is None else f" {option} {value}"


def _lacks(config: ReportConfig, folder: str) -> str:
    path = config.data / folder
    return "" if path.exists() else f"{path} is not there"


def _lack_data(config: ReportConfig, tasks: Sequence[str]) -> str:
    """The first task's data that are missing."""
    missing = (_lacks(config, FOLDERS[find_task(task).name]) for task in tasks)
    return next((found for found in missing if found), "")


def _pos(config: ReportConfig, quiet: bool) -> PosResult:
    data = read_pos_data(config.data / "ewt", config.train_sentences)
    return part_of_speech_probe(_encoders(config), data, quiet)


def _senses(config: ReportConfig, quiet: bool) -> SensesResult:
    data = read_sense_data(config.data / "wsd")
    return word_senses(_encoders(config), data, config.semcor_sentences, quiet)


def _neighbours(config: ReportConfig, quiet: bool) -> Neighbours:
    encoder, folder = open_encoder(config.model), config.out / "index"
    if not (folder / "index.json").exists():
        build_index(encoder, read_sentences(config.text), folder, quiet=quiet)
    index = open_index(folder)
    static = config.data / "glove"
    found = (
        context_neighbours(index, encoder, s, static=static if static.exists() else None)
        for s in TABLE_4
    )
    return Neighbours(index.num_tokens, tuple(found))


def _uses(config: ReportConfig, quiet: bool) -> SenseMap:
    uses = read_uses(config.data / "wsd", config.word)
    return sense_map(open_encoder(config.model), config.word, uses)


def _perplexity(config: ReportConfig, quiet: bool) -> PerplexityResult:
    if config.corpus is None:
        raise InputError("perplexity needs a prepared corpus")
    return perplexities(
        [config.model],
        config.corpus,
        train_tokens=config.train_tokens,
        lanes=config.lanes,
        quiet=quiet,
    )


def _tasks(config: ReportConfig, quiet: bool) -> SixTasks:
    found = [
        six_tasks(config.table1_grid(task), config.jobs, quiet) for task in config.table1_tasks
    ]
    return SixTasks(
        tuple(gain for result in found for gain in result.gains),
        sum(result.cpu_minutes for result in found),
    )


def _grid(config: ReportConfig, variants: tuple[Variant, ...], quiet: bool) -> GridResult:
    results = [do_runs(config.grid(task), variants, config.jobs, quiet) for task in config.tasks]
    return GridResult(tuple(run for result in results for run in result.runs))


def _layers(config: ReportConfig, quiet: bool) -> GridResult:
    return _grid(config, (*LAYERS, *NORMALISED) if config.has_layer_norm else LAYERS, quiet)


def _efficiency(config: ReportConfig, quiet: bool) -> Efficiency:
    found = (
        sample_efficiency(config.grid(task), task, config.shares, config.jobs, quiet)
        for task in config.tasks
    )
    return Efficiency(tuple(found))


def _mixes(config: ReportConfig, quiet: bool) -> MixWeights:
    """Of Table 3's runs that use ELMo at both places; of other tasks, as Table 1 has them."""
    others = [
        grid_result(replace(config.table1_grid(task), variants=(WITH_ELMO,)))
        for task in config.table1_tasks
        if task not in config.tasks
    ]
    runs = [*_grid(config, (PLACES[1],), quiet).runs, *(run for r in others for run in r.runs)]
    return mixes_of_runs(runs)


def _transfer(config: ReportConfig, quiet: bool) -> Transfers:
    found = (
        domain_transfer(config.grid(task), task, config.tune, config.jobs, quiet)
        for task in config.tasks
    )
    return Transfers(tuple(found))


def _nothing(config: ReportConfig) -> str:
    return ""


def _task_command(name: str) -> Callable[[ReportConfig], str]:
    """A line a task, each with its own settings."""

    def line(config: ReportConfig, task: str) -> str:
        settings = "".join(f" --set {s}" for of_task, s in config.task_settings if of_task == task)
        extra = ""
        if name == "efficiency":
            extra = f" --shares {','.join(f'{100 * share:g}' for share in config.shares)}"
        if name == "transfer":
            extra = "".join(f" --tune {setting}" for setting in config.tune)
        if name == "layers" and not config.has_layer_norm:
            extra = " --no-layer-norm"
        seeds = f" --seeds {config.seeds}" if config.seeds else ""
        minutes = f" --minutes {config.max_minutes:g}" if config.max_minutes else ""
        return (
            f"elmokit analyse {name} {task}{_model_option(config)} --data {config.data} "
            f"--recipe {config.recipe}{settings}{extra}{seeds}{minutes} -o RUNS/{task}"
        )

    return lambda config: "\n".join(line(config, task) for task in config.tasks)


_TASK_SETTINGS = ("data", "tasks", "recipe", "task_settings", "seeds", "max_minutes")


def _tasks_command(config: ReportConfig) -> str:
    seeds = f" --seeds {config.table1_seeds}" if config.table1_seeds else ""
    minutes = f" --minutes {config.max_minutes:g}" if config.max_minutes else ""
    return (
        f"elmokit analyse tasks {' '.join(config.table1_tasks)}{_model_option(config)} "
        f"--data {config.data} --recipe {config.recipe}{seeds}{minutes} -o RUNS"
    )


def _no_pictures() -> list[Picture]:
    return []


def _neighbour_tables(result: Neighbours) -> list[Table]:
    return [table for found in result.found for table in neighbours_tables(found)]


def _model_option(config: ReportConfig) -> str:
    return f" --model {config.model}" if config.model else ""


SECTIONS: dict[str, Section] = {
    section.name: section
    for section in (
        Section(
            "demo",
            "Two uses of a word",
            DemoResult,
            (),
            _nothing,
            lambda config: f"elmokit demo{_model_option(config)}",
            lambda config, quiet: demo(open_encoder(config.model)),
            lambda result: Exhibit(demo_tables(result), lambda: [demo_picture(result)]),
        ),
        Section(
            "perplexity",
            "Perplexity, beside a 5-gram",
            PerplexityResult,
            ("corpus", "train_tokens", "lanes"),
            lambda config: "" if config.corpus else "give a prepared corpus with --corpus",
            lambda config: (
                f"elmokit analyse perplexity {config.model or repr('')} --corpus {config.corpus}"
                + _limit("--train-tokens", config.train_tokens)
                + _limit("--lanes", config.lanes if config.lanes > 1 else None)
            ),
            _perplexity,
            lambda result: Exhibit([perplexity_table(result)], _no_pictures),
        ),
        Section(
            "senses",
            "Word senses (Table 5)",
            SensesResult,
            ("data", "semcor_sentences"),
            lambda config: _lacks(config, "wsd"),
            lambda config: (
                f"elmokit analyse senses {_rows(config)} --data {config.data / 'wsd'}"
                + _limit("--semcor-sentences", config.semcor_sentences)
            ),
            _senses,
            lambda result: Exhibit([senses_table(result)], lambda: [senses_picture(result)]),
        ),
        Section(
            "pos",
            "Part of speech (Table 6)",
            PosResult,
            ("data", "train_sentences"),
            lambda config: _lacks(config, "ewt"),
            lambda config: (
                f"elmokit analyse pos {_rows(config)} --data {config.data / 'ewt'}"
                + _limit("--train-sentences", config.train_sentences)
            ),
            _pos,
            lambda result: Exhibit([pos_table(result)], lambda: [pos_picture(result)]),
        ),
        Section(
            "neighbours",
            "Neighbours in context (Table 4)",
            Neighbours,
            ("text", "data"),
            lambda config: "" if config.text else "give a text to look in with --text",
            lambda config: (
                f"elmokit index TEXT -o INDEX{_model_option(config)}; "
                f'elmokit neighbours INDEX "{TABLE_4[0]}"{_model_option(config)}'
            ),
            _neighbours,
            lambda result: Exhibit(_neighbour_tables(result), _no_pictures),
        ),
        Section(
            "uses",
            "All uses of a word",
            SenseMap,
            ("data", "word"),
            lambda config: _lacks(config, "wsd"),
            lambda config: (
                f"elmokit analyse uses {config.word} --data {config.data / 'wsd'}"
                f"{_model_option(config)} -o PICTURE.png"
            ),
            _uses,
            lambda result: Exhibit([sense_map_table(result)], lambda: [sense_map_picture(result)]),
        ),
        Section(
            "tasks",
            "Six tasks (Table 1)",
            SixTasks,
            ("data", "table1_tasks", "table1_seeds", "recipe", "max_minutes"),
            lambda config: _lack_data(config, config.table1_tasks),
            _tasks_command,
            _tasks,
            lambda result: Exhibit([six_tasks_table(result)], lambda: [six_tasks_picture(result)]),
        ),
        Section(
            "layers",
            "Which layers (Table 2)",
            GridResult,
            (*_TASK_SETTINGS, "has_layer_norm"),
            lambda config: _lack_data(config, config.tasks),
            _task_command("layers"),
            _layers,
            lambda result: Exhibit([grid_table(result, "Which layers (Table 2)")], _no_pictures),
        ),
        Section(
            "places",
            "Which places (Table 3)",
            GridResult,
            _TASK_SETTINGS,
            lambda config: _lack_data(config, config.tasks),
            _task_command("places"),
            lambda config, quiet: _grid(config, PLACES, quiet),
            lambda result: Exhibit([grid_table(result, "Which places (Table 3)")], _no_pictures),
        ),
        Section(
            "efficiency",
            "Sample efficiency (Figure 1)",
            Efficiency,
            (*_TASK_SETTINGS, "shares"),
            lambda config: _lack_data(config, config.tasks),
            _task_command("efficiency"),
            _efficiency,
            lambda result: Exhibit(
                [efficiency_table(result.results)], lambda: efficiency_pictures(result.results)
            ),
        ),
        Section(
            "mixes",
            "Learned mix weights (Figure 2)",
            MixWeights,
            (*_TASK_SETTINGS, "table1_runs"),
            lambda config: _lack_data(config, config.tasks),
            lambda config: (
                "elmokit analyse mixes " + " ".join(f"RUNS/{task}" for task in config.tasks)
            ),
            _mixes,
            lambda result: Exhibit([mix_table(result)], lambda: [mix_picture(result)]),
        ),
        Section(
            "transfer",
            "Domain transfer (supplement)",
            Transfers,
            (*_TASK_SETTINGS, "tune"),
            lambda config: _lack_data(config, config.tasks),
            _task_command("transfer"),
            _transfer,
            lambda result: Exhibit([transfer_table(result.results)], _no_pictures),
        ),
    )
}


def find_sections(names: Sequence[str]) -> list[Section]:
    """By name, in the report's order; none means all."""
    for name in names:
        if name not in SECTIONS:
            raise InputError(f"no section {name!r} in a report; there are {', '.join(SECTIONS)}")
    return [section for name, section in SECTIONS.items() if not names or name in names]
