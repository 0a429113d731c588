"""Options that commands share: the model, and all that runs of task models need."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from elmokit.tasks.grid import Grid

Model = Annotated[
    str, typer.Option("-m", "--model", help="A model's path; default: the one that ships.")
]
SeenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seen",
        metavar="TOKENS[:LANES[:SKIPPED]]",
        help="What a run of the model has read of the corpus (its tokens, train.batch_size and "
        "train.skip_tokens): the n-gram counts just that; give it once a run. Default: all.",
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Of every command that trains task models; see ``with_run_options``."""

    data: Annotated[Path, typer.Option(help="Folder with glove, nli, sst, ewt-propbank ... in it.")]
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the runs; they go on there.")]
    model: Model = ""
    files: Annotated[
        list[str] | None,
        typer.Option(help="Your own training, development and test file (give it three times)."),
    ] = None
    recipe: Annotated[str, typer.Option(help="cpu or paper: elmokit's own settings, by task.")] = (
        "cpu"
    )
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="TABLE.NAME=VALUE, for every run.")
    ] = None
    seeds: Annotated[int | None, typer.Option(help="Runs of each kind; default: by task.")] = None
    minutes: Annotated[
        float, typer.Option(help="At most so long a run; 0: as the recipe says.")
    ] = 0.0
    jobs: Annotated[int, typer.Option(help="Runs at a time, a core each.")] = 1

    def grid(self, tasks: Sequence[str]) -> "Grid":
        from elmokit.analysis.task_runs import make_grid

        return make_grid(
            tasks,
            self.data,
            self.out,
            self.model,
            self.files,
            self.recipe,
            self.settings,
            self.seeds,
            self.minutes,
        )


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command of ``runs: RunOptions`` as typer reads it: each field is an option."""
    options = inspect.signature(RunOptions).parameters
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += options.values() if parameter.name == "runs" else [parameter]

    @functools.wraps(command)
    def call(**given: Any) -> None:
        runs = RunOptions(**{name: given.pop(name) for name in options})
        command(runs=runs, **given)

    by_name = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    return call
