"""Options that commands share, alone or in groups.

A command takes a group as one parameter; ``with_groups`` shows typer the options in it:

    @app.command()
    @with_groups
    def pos(data: Path, *, compute: Compute, output: Output) -> None: ...
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from elmokit.errors import InputError
from elmokit.weights.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from elmokit.analysis.encoders.encoder import Encoder
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.output.pictures import Picture as DrawnPicture
    from elmokit.analysis.output.tables import Table
    from elmokit.tasks.grid import Grid
    from elmokit.weights.pretrained import PretrainedModel

Model = Annotated[str, typer.Option("-m", "--model", help="Name or path of a model.")]
Device = Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, cuda:1 ..., or auto.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="With --ray: maximum workers. Default: one per CPU.")
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        help="Precision of the LSTMs' weights: float32 (exact), bfloat16, int8, or auto, the "
        "fastest on this processor.",
    ),
]
BasisOption = Annotated[
    Literal["similarity", "features", "states"],
    typer.Option(
        "--basis",
        help="What the vectors are for: similarity (cosines), features (the input of a model that "
        "learns), or the LSTMs' states as they are. Most models have only their states.",
    ),
]
Pretokenized = Annotated[
    bool, typer.Option(help="One sentence per line, tokens separated by spaces.")
]
_FLOAT16_HELP = "Store half precision: half the size, rounded to about three digits."
Float16 = Annotated[bool, typer.Option("--float16", help=_FLOAT16_HELP)]
NativeFloat16 = Annotated[
    bool, typer.Option("--float16", help=f"{_FLOAT16_HELP} Native format only.")
]
ModelFormat = Literal["native", "bilm-tf"]


def _drawable(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be drawn before any work is done."""
    if path is not None:
        from elmokit.analysis.output.pictures import require_drawable

        require_drawable(path)
    return path


Picture = Annotated[
    Path | None,
    typer.Option(
        "--picture", help="Also draw the result, as a .png or .svg file.", callback=_drawable
    ),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the result as JSON; - prints JSON instead of tables."),
]
Markdown = Annotated[
    bool,
    typer.Option("--markdown", help="Print tables as Markdown; the default in a pipe."),
]
SeenOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seen",
        metavar="TOKENS[:STREAMS[:SKIPPED]]",
        help="What a run of the model has read of the corpus (its tokens, train.batch_size and "
        "train.skip_tokens); the n-gram is trained on the same text. Repeat it for each run. "
        "Default: the whole corpus.",
    ),
]


def require_ray(is_on_ray: bool, **options: object) -> None:
    """Reject options of ``--ray`` that were given without it."""
    for name, value in options.items():
        if value is not None and not is_on_ray:
            raise InputError(
                f"--{name} {value} has no effect without --ray: add --ray, or leave it out"
            )


class Group:
    """A group of options that always go together."""


@dataclass(frozen=True)
class Compute(Group):
    """Where models run, and at which precision."""

    device: Device = "cpu"
    precision: PrecisionOption = "float32"

    def models(self, need_softmax: bool = False) -> "Models":
        """Opens models by name."""
        from elmokit.analysis.encoders.opening import Models

        return Models(self.device, need_softmax, self.precision)

    def encoder(self, name: str) -> "Encoder":
        """One encoder by its name."""
        return self.models().encoder(name)

    def language_model(self, name: str) -> "PretrainedModel":
        """The model with its softmax, which predicts words."""
        known = DEFAULT_MODEL if name == "-" else name  # "-": the first edition's spelling
        return self.models(need_softmax=True).pretrained(known)


@dataclass(frozen=True)
class Tables(Group):
    """How a result that is a table is printed and written."""

    json: Json = None
    markdown: Markdown = False

    def present(self, result: Any, tables: "Sequence[Table]") -> None:
        """Print the tables, and write the result if asked."""
        from elmokit.analysis.output.results import present

        present(result, tables, self.json, markdown=self.markdown)


@dataclass(frozen=True)
class Output(Group):
    """How a result that is a table and can be drawn is printed and written."""

    picture: Picture = None
    json: Json = None
    markdown: Markdown = False

    def present(
        self, result: Any, tables: "Sequence[Table]", draw: "Callable[[], DrawnPicture]"
    ) -> None:
        """Print the tables; write the result and its picture if asked."""
        from elmokit.analysis.output.results import present

        present(result, tables, self.json, self.picture, draw, self.markdown)


@dataclass(frozen=True)
class RunOptions(Group):
    """Options of every command that trains task models."""

    data: Annotated[Path, typer.Option(help="Folder with glove, nli, sst, ewt-propbank ... in it.")]
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the runs; finished ones are reused.")
    ]
    model: Model = DEFAULT_MODEL
    files: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Your own training, development and test file: give it three times.",
        ),
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
    device: Device = "cpu"

    def grid(self, tasks: Sequence[str]) -> "Grid":
        """The runs of these tasks, without variants yet."""
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
            self.device,
        )


def print_json(result: Any, path: Path | None, indent: int | None = None) -> bool:
    """Print the result as JSON if ``path`` is ``-``; whether that was so."""
    import json

    if path != Path("-"):
        return False
    print(json.dumps(result, indent=indent, ensure_ascii=False))
    return True


def write_json_file(result: Any, path: Path | None) -> None:
    """Write the result as JSON if there is a path, and say so."""
    from elmokit.files import write_json

    if path is not None:
        write_json(path, result)
        typer.echo(f"wrote {path}", err=True)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the parameters of a command that are groups into options, one per field, for typer."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Group]] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = parameter.annotation
        if isinstance(kind, type) and issubclass(kind, Group):
            groups[parameter.name] = kind
            parameters += inspect.signature(kind).parameters.values()
        else:
            parameters.append(parameter)

    @functools.wraps(command)
    def call(**given: Any) -> None:
        made = {
            name: kind(**{field: given.pop(field) for field in inspect.signature(kind).parameters})
            for name, kind in groups.items()
        }
        command(**given, **made)

    by_name = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
    return call
