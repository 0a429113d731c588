"""The settings of a report: the default, option and help text of each, in one place.

The command line and the command that a page shows are both made from these. Only light modules are
imported here, because ``elmokit --help`` reads the settings too.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from elmokit.analysis import paper
from elmokit.analysis.report.commands import elmokit_line
from elmokit.errors import InputError
from elmokit.weights.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from elmokit.analysis.lm.kneser_ney import Seen
    from elmokit.tasks.grid import Grid


@dataclass(frozen=True)
class Setting:
    """How a setting is given on the command line."""

    flags: tuple[str, ...]
    help: str
    parse: Callable[[str], Any] | None = None
    """Converts the text of the option; None: typer converts it to the field's type."""
    show: Callable[[Any], str] = str
    """The inverse of ``parse``."""
    is_repeated: bool = False
    """Whether the option is repeated for each value."""
    metavar: str | None = None
    min: int | None = None

    def words(self, value: Any) -> tuple[str, ...]:
        """The words of a command line that give this value."""
        if isinstance(value, bool):  # both flags are in one string: --yes/--no
            return (self.flags[0].split("/")[0 if value else 1],)
        values = value if self.is_repeated else () if value in (None, "") else (value,)
        return tuple(word for each in values for word in (self.flags[-1], self.show(each)))


def setting_of(of: "Field[Any]") -> Setting:
    """How a field of ``ReportConfig`` is given on the command line."""
    found: Setting = get_args(of.type)[1]
    return found


def _parse_seen(text: str) -> "Seen":
    from elmokit.analysis.lm.kneser_ney import parse_seen

    return parse_seen(text)


def _parse_shares(text: str) -> tuple[float, ...]:
    from elmokit.analysis.experiments.sample_efficiency import parse_shares

    return parse_shares(text)


def _show_shares(shares: Sequence[float]) -> str:
    return ",".join(f"{100 * share:g}" for share in shares)


def _parse_names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def parse_task_setting(text: str) -> tuple[str, str]:
    """Split "srl:data.train_limit=3000" into ("srl", "data.train_limit=3000")."""
    from elmokit.tasks.task import find_task

    task, colon, rest = text.partition(":")
    if not colon:
        raise InputError(f"--set {text}: write it as TASK:TABLE.NAME=VALUE")
    return find_task(task).name, rest


@dataclass(frozen=True)
class ReportConfig:
    """The settings of a report."""

    out: Annotated[Path, Setting(("-o", "--out"), help="Folder for the report.")]
    data: Annotated[
        Path, Setting(("--data",), help="Folder with ewt, wsd, glove, nli ... unpacked in it.")
    ] = Path("data")
    model: Annotated[str, Setting(("-m", "--model"), help="Name or path of a model.")] = (
        DEFAULT_MODEL
    )
    corpus: Annotated[
        Path | None,
        Setting(("--corpus",), help="Folder made by `elmokit prepare`, for perplexity."),
    ] = None
    seen: Annotated[
        "tuple[Seen, ...]",
        Setting(
            ("--seen",),
            parse=_parse_seen,
            is_repeated=True,
            metavar="TOKENS[:LANES[:SKIPPED]]",
            help="What a run of the model has read of the corpus (its tokens, train.batch_size and "
            "train.skip_tokens); the n-gram is trained on the same text. Repeat it for each run. "
            "Default: the whole corpus.",
        ),
    ] = ()
    text: Annotated[
        tuple[str, ...],
        Setting(
            ("--text",),
            is_repeated=True,
            metavar="TEXT",
            help="Plain text, for neighbours; may be repeated.",
        ),
    ] = ()
    text_tokens: Annotated[
        int, Setting(("--text-tokens",), min=1, help="Index at most this many of its tokens.")
    ] = 1_000_000
    word: Annotated[str, Setting(("--word",), help="The word whose occurrences are drawn.")] = (
        "play"
    )
    table1_tasks: Annotated[
        tuple[str, ...],
        Setting(
            ("--table1-tasks",),
            parse=_parse_names,
            show=",".join,
            help="Tasks of Table 1, separated by commas.",
        ),
    ] = tuple(paper.TASKS)
    table1_seeds: Annotated[
        int | None,
        Setting(
            ("--table1-seeds",),
            help="Number of seeds in Table 1. Default: three for small tasks, otherwise one.",
        ),
    ] = None
    tasks: Annotated[
        tuple[str, ...],
        Setting(
            ("--tasks",),
            parse=_parse_names,
            show=",".join,
            help="Tasks of Tables 2 and 3, the figures and the transfer, separated by commas.",
        ),
    ] = ("entailment", "srl")
    shares: Annotated[
        tuple[float, ...],
        Setting(
            ("--shares",),
            parse=_parse_shares,
            show=_show_shares,
            help="Shares of the training data in Figure 1, in percent.",
        ),
    ] = (0.01, 0.1, 1.0)
    recipe: Annotated[str, Setting(("--recipe",), help="Settings of the tasks: cpu or paper.")] = (
        "cpu"
    )
    task_settings: Annotated[
        tuple[tuple[str, str], ...],
        Setting(
            ("--set",),
            parse=parse_task_setting,
            show=":".join,
            is_repeated=True,
            metavar="TASK:TABLE.NAME=VALUE",
            help="Change a setting of a task, as in srl:data.train_limit=3000, everywhere but in "
            "Table 1; may be repeated.",
        ),
    ] = ()
    tune: Annotated[
        tuple[str, ...],
        Setting(
            ("--tune",),
            is_repeated=True,
            metavar="train.NAME=VALUE",
            help="Change a setting of the fine-tuning for the transfer; may be repeated.",
        ),
    ] = ()
    seeds: Annotated[
        int | None,
        Setting(
            ("--seeds",), help="Number of seeds in the other tables. Default: depends on the task."
        ),
    ] = None
    max_minutes: Annotated[
        float,
        Setting(("--minutes",), help="Time limit of each run, in minutes; 0: as in the recipe."),
    ] = 0.0
    has_layer_norm: Annotated[
        bool,
        Setting(
            ("--layer-norm/--no-layer-norm",),
            help="In Table 2, add columns with layer normalisation.",
        ),
    ] = False
    jobs: Annotated[int, Setting(("--jobs",), help="Number of parallel task runs.")] = 1
    train_sentences: Annotated[
        int | None,
        Setting(("--train-sentences",), help="Train the part-of-speech probe on fewer sentences."),
    ] = None
    semcor_sentences: Annotated[
        int | None,
        Setting(("--semcor-sentences",), help="Use fewer SemCor sentences for word senses."),
    ] = None
    device: Annotated[
        str, Setting(("--device",), help="Where the model runs: cpu, cuda, cuda:1 ..., or auto.")
    ] = "cpu"

    @property
    def model_name(self) -> str:
        """The model's name in commands; older reports left the default model's name empty."""
        return self.model or DEFAULT_MODEL

    @property
    def model_words(self) -> tuple[str, ...]:
        """The option that names the model; empty for the model that ships with elmokit."""
        return () if self.model_name == DEFAULT_MODEL else ("--model", self.model)

    def words(self, name: str) -> tuple[str, ...]:
        """The words of a command line that give one of these settings."""
        (found,) = (each for each in fields(self) if each.name == name)
        return setting_of(found).words(getattr(self, name))

    def command(self, sections: Sequence[str] | None = ()) -> str:
        """The command that makes this report; options at their defaults are left out.

        ``sections``: as for ``make_report``.
        """
        only = "none" if sections is None else ",".join(sections)
        words: list[str] = ["report"]
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "model":
                words += [*self.model_words, *(("--only", only) if only else ())]
            elif each.name == "out":
                words += ["-o", str(value)]
            elif value != each.default or each.name == "data":
                words += self.words(each.name)
        return elmokit_line(*words)

    def check(self) -> None:
        """Raise for wrong names and settings of tasks before the long computation starts.

        The defaults are elmokit's own and need no check.
        """
        given = ("tasks", "table1_tasks", "recipe", "task_settings")
        if all(getattr(self, name) == getattr(ReportConfig, name) for name in given):
            return
        from elmokit.tasks.run import configured

        for task in (*self.tasks, *self.table1_tasks):
            configured(task, self.recipe, self._settings(task))

    def _settings(self, task: str) -> tuple[str, ...]:
        return tuple(setting for name, setting in self.task_settings if name == task)

    def grid(self, task: str) -> "Grid":
        """The runs of one task, for all sections but Table 1."""
        return self._grid(task, self._settings(task), self.seeds)

    def table1_grid(self, task: str) -> "Grid":
        """The runs of one task for Table 1, with the recipe unchanged.

        They are shared with ``grid`` if no setting was changed.
        """
        return self._grid(task, (), self.table1_seeds)

    def _grid(self, task: str, settings: tuple[str, ...], seeds: int | None) -> "Grid":
        from elmokit.tasks.grid import Grid

        return Grid(
            tasks=(task,),
            variants=(),
            data=self.data,
            out=self.out / "runs" / self._folder(task, settings),
            elmo=self.model,
            recipe=self.recipe,
            settings=settings,
            seeds=seeds,
            max_minutes=self.max_minutes,
            device=self.device,
        )

    def _folder(self, task: str, settings: tuple[str, ...]) -> str:
        """Named after the settings, so that runs with other settings are never mixed up."""
        if not settings and self.recipe == "cpu" and not self.max_minutes:
            return task
        made = json.dumps([self.recipe, self.max_minutes, *settings])
        return f"{task}-{hashlib.sha256(made.encode()).hexdigest()[:8]}"

    @property
    def table1_runs(self) -> tuple[str, ...]:
        """Finished runs of tasks that only Table 1 has, which Figure 2 can show too."""
        from elmokit.tasks.grid import read_results

        grids = (self.table1_grid(task) for task in self.table1_tasks if task not in self.tasks)
        return tuple(line["run"] for grid in grids for line in read_results(grid.out))
