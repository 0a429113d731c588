"""Options that commands share: the model, and all that runs of task models need."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elmokit.weights.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from elmokit.tasks.grid import Grid

Model = Annotated[str, typer.Option("-m", "--model", help="Name or path of a model.")]
Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1 ..., or auto.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="With --ray: most workers. Default: one per CPU.")
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        help="Of the LSTMs' weights: float32 (exact), bfloat16, int8, or auto, the fastest on this "
        "processor.",
    ),
]
Picture = Annotated[
    Path | None, typer.Option("--picture", help="Also draw the result, as a .png or .svg file.")
]
Json = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the result as JSON; - prints JSON instead of tables."),
]
Markdown = Annotated[
    bool,
    typer.Option("--markdown", help="Print tables as Markdown, as is done in a pipe."),
]
SeenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seen",
        metavar="TOKENS[:LANES[:SKIPPED]]",
        help="What a run of the model has read of the corpus (its tokens, train.batch_size and "
        "train.skip_tokens); the n-gram is trained on the same text. Repeat it for each run. "
        "Default: the whole corpus.",
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Options of every command that trains task models; see ``with_run_options``."""

    data: Annotated[Path, typer.Option(help="Folder with glove, nli, sst, ewt-propbank ... in it.")]
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the runs; finished ones are reused.")
    ]
    model: Model = DEFAULT_MODEL
    files: Annotated[
        list[str] | None,
        typer.Option(help="Your own training, development and test file: give it three times."),
    ] = None
    recipe: Annotated[str, typer.Option(help="Settings of the tasks: cpu or paper.")] = "cpu"
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="TABLE.NAME=VALUE",
            help="Change a setting of all runs; may be repeated.",
        ),
    ] = None
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds. Default: depends on the task.")
    ] = None
    minutes: Annotated[
        float, typer.Option(help="Time limit of each run, in minutes; 0: as in the recipe.")
    ] = 0.0
    jobs: Annotated[int, typer.Option(help="Number of parallel runs, one core each.")] = 1

    def grid(self, tasks: Sequence[str]) -> "Grid":
        """The runs of these tasks, still without variants."""
        from elmokit.analysis.experiments.runs import make_grid

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
