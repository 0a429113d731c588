"""Commands on the six tasks: task train, task eval, task predict."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from elmokit.cli import ANALYSE, app
from elmokit.cli.former_options import JsonMayStandAlone
from elmokit.cli.options import Device, Json, PrecisionOption, print_json, write_json_file

task_app = typer.Typer(
    help="Train, evaluate and use the six task models, with and without ELMo.",
    no_args_is_help=True,
)
app.add_typer(task_app, name="task", rich_help_panel=ANALYSE)

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A folder that task train has written.")
]
ItsModel = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        help="The ELMo model that it was trained with, if its files have moved.",
    ),
]
OldModel = Annotated[str | None, typer.Option("--elmo", hidden=True)]
"""The former name of --model."""


@task_app.command()
def train(
    name: Annotated[
        str, typer.Argument(metavar="TASK", help="ner, sentiment, entailment, srl, coref or squad.")
    ],
    train: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Training file; may be repeated.")
    ],
    dev: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Development file, for early stopping; may be repeated."),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder for the run; an interrupted run resumes.")
    ],
    model: Annotated[
        str | None,
        typer.Option("-m", "--model", help="Name or path of the ELMo model; default: en-small."),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(help="Where the task model uses ELMo: input, output, both or none."),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help="mix (learned), average, top, or the number of one layer."),
    ] = None,
    l2: Annotated[
        float | None, typer.Option(help="L2 penalty on the mixing weights (the paper's lambda).")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(help="Word vectors: a GloVe text file, or a folder of words.txt and .npy."),
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="paper (the default), cpu, or a TOML file of settings.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="TABLE.NAME=VALUE",
            help="Change a setting, as in fit.batch_size=16; may be repeated.",
        ),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder in which the biLM's layers are stored.")
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Store no layers; run the biLM in every epoch.")
    ] = False,
    cache_precision: Annotated[
        str, typer.Option(help="float32 (exact), or float16 (half the size, rounded).")
    ] = "float32",
    cache_gigabytes: Annotated[
        float, typer.Option(help="Maximum size of the cache folder.")
    ] = 20.0,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
    elmo: OldModel = None,
    finetuned: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Train a task model on your own files, in the standard format of the task."""
    from elmokit.tasks.run import CacheConfig, configured, train_task

    options = {"elmo.where": where, "elmo.layers": layers, "elmo.l2": l2}
    options |= {"words.vectors": vectors, "fit.seed": seed}
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    trained = train_task(
        name,
        train,
        dev,
        out,
        elmo=finetuned or model or elmo,
        config=configured(name, recipe, [*given, *(settings or [])]),
        cache=CacheConfig(cache, not no_cache, cache_precision, cache_gigabytes),
        device=device,
        precision=precision,
    )
    print(trained.summary(out))


@task_app.command(cls=JsonMayStandAlone)
def eval(
    folder: Folder,
    test: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE", help="Labelled file in the format of the task; may be repeated."
        ),
    ],
    model: ItsModel = None,
    json: Json = None,
    device: Device = "cpu",
    elmo: OldModel = None,
) -> None:
    """Score a trained task model with the official measure of the task."""
    from elmokit.tasks.run import eval_task

    scores = eval_task(folder, test, elmo=model or elmo, device=device)
    if print_json(scores.every, json):
        return
    for measure, value in scores.every.items():
        print(f"{value:6.2f}  {measure}")
    write_json_file(scores.every, json)


@task_app.command(cls=JsonMayStandAlone)
def predict(
    folder: Folder,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Text file, or - for standard input.")
    ] = "-",
    model: ItsModel = None,
    json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            help="Also write the predictions as JSON lines; - prints JSON instead of text.",
        ),
    ] = None,
    labelled: Annotated[
        bool,
        typer.Option("--labelled", help="FILE is in the training format, not plain text."),
    ] = False,
    device: Device = "cpu",
    elmo: OldModel = None,
) -> None:
    """Predict for plain text, one text per line; a blank line gives an empty result.

    entailment: premise, tab, hypothesis. squad: question, tab, context. srl: predicates between
    underscores. coref: running text, documents separated by blank lines.
    """
    from rich.console import Console

    from elmokit.tasks.run import load_task, predict_file

    trained = load_task(folder, elmo=model or elmo, device=device)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    with _json_lines(json) as write_row:
        for example, prediction in predict_file(trained, file, is_labelled=labelled):
            if json is not None:
                write_row(trained.task.to_json(example, prediction))
            if json != Path("-"):
                console.print(trained.task.show(example, prediction))
            sys.stdout.flush()
    if json not in (None, Path("-")):
        typer.echo(f"wrote {json}", err=True)


@contextmanager
def _json_lines(path: Path | None) -> Iterator[Callable[[Any], None]]:
    """Write rows to the file, which appears when all are written, or to standard output."""
    from elmokit.files import replacing_file

    if path in (None, Path("-")):
        yield lambda row: print(dumps(row, ensure_ascii=False))
        return
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8") as out:
        yield lambda row: print(dumps(row, ensure_ascii=False), file=out)
