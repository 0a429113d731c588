"""The settings of a report, and the runs of task models that follow from them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elmokit.analysis import paper
from elmokit.analysis.kneser_ney import Seen
from elmokit.errors import InputError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.grid import Grid, read_results
from elmokit.tasks.run import configured


@dataclass(frozen=True)
class ReportConfig:
    """What a report is made of."""

    out: Path
    data: Path
    """Folder with ewt, wsd, glove, nli, ewt-propbank ... unpacked."""
    model: str = ""
    corpus: Path | None = None
    """A prepared corpus, for perplexity."""
    seen: tuple[Seen, ...] = ()
    """Of that corpus, what the model has read, run by run; (): all."""
    text: tuple[str, ...] = ()
    """Plain text, for neighbours."""
    text_tokens: int = 1_000_000
    """At most so many of it, from the start."""
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

    def check(self) -> None:
        """Names and settings of tasks, before hours are spent on what comes before them."""
        for task in (*self.tasks, *self.table1_tasks):
            configured(task, self.recipe, self._settings(task))

    def _settings(self, task: str) -> tuple[str, ...]:
        return tuple(setting for name, setting in self.task_settings if name == task)

    def grid(self, task: str) -> Grid:
        """Of one task's runs, for all but Table 1."""
        return self._grid(task, self._settings(task), self.seeds)

    def table1_grid(self, task: str) -> Grid:
        """The recipe as it is; runs of ``grid`` without settings are the same."""
        return self._grid(task, (), self.table1_seeds)

    def _grid(self, task: str, settings: tuple[str, ...], seeds: int | None) -> Grid:
        return Grid(
            tasks=(task,),
            variants=(),
            data=self.data,
            out=self.out / "runs" / self._folder(task, settings),
            elmo=self.model or None,
            recipe=self.recipe,
            settings=settings,
            seeds=seeds,
            max_minutes=self.max_minutes,
        )

    def _folder(self, task: str, settings: tuple[str, ...]) -> str:
        """Named for how its runs are made, so that no settings ever meet the runs of others."""
        if not settings and self.recipe == "cpu" and not self.max_minutes:
            return task
        made = json.dumps([self.recipe, self.max_minutes, *settings])
        return f"{task}-{hashlib.sha256(made.encode()).hexdigest()[:8]}"

    @property
    def table1_runs(self) -> tuple[str, ...]:
        """Those that are there, of tasks only Table 1 has: what else Figure 2 can show."""
        grids = (self.table1_grid(task) for task in self.table1_tasks if task not in self.tasks)
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
