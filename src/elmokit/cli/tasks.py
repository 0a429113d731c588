"""Commands on the six tasks: task train, task eval, task predict."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app

task_app = typer.Typer(
    help="Train, score and use the six task models, with and without ELMo.", no_args_is_help=True
)
app.add_typer(task_app, name="task")

Folder = Annotated[Path, typer.Argument(help="What task train has written.")]
ItsElmo = Annotated[str | None, typer.Option(help="Where its ELMo model is now, if it has moved.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...")]


@task_app.command()
def train(
    name: Annotated[str, typer.Argument(help="ner, sentiment, entailment, srl, coref or squad.")],
    train: Annotated[list[Path], typer.Option(help="Training file; may be given again.")],
    dev: Annotated[list[Path], typer.Option(help="Development file, for early stopping.")],
    out: Annotated[Path, typer.Option(help="Folder for the run; started again, it goes on.")],
    elmo: Annotated[
        str | None, typer.Option(help="ELMo model; default: the one that ships with elmokit.")
    ] = None,
    finetuned: Annotated[
        str | None, typer.Option(help="Use this fine-tuned ELMo model instead.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="input, output, both or none.")] = None,
    layers: Annotated[
        str | None, typer.Option(help="mix, average, top or a layer's number.")
    ] = None,
    l2: Annotated[float | None, typer.Option(help="lambda on the mixing weights.")] = None,
    vectors: Annotated[
        str | None, typer.Option(help="GloVe text file, or folder of words.txt and vectors.npy.")
    ] = None,
    recipe: Annotated[
        str | None, typer.Option(help="paper (the default), cpu, or a TOML file of settings.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="TABLE.NAME=VALUE, as in fit.batch_size=16.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for the biLM's layers.")] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Run the biLM in every epoch.")
    ] = False,
    cache_precision: Annotated[str, typer.Option(help="float32 (exact) or float16.")] = "float32",
    cache_gigabytes: Annotated[float, typer.Option(help="Bound of the cache folder.")] = 20.0,
    device: Device = "cpu",
) -> None:
    """Train a task model on your files, in the task's standard format."""
    from elmokit.tasks.run import CacheConfig, configured, train_task

    options = {"elmo.where": where, "elmo.layers": layers, "elmo.l2": l2}
    options |= {"words.vectors": vectors, "fit.seed": seed}
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    trained = train_task(
        name,
        train,
        dev,
        out,
        elmo=finetuned or elmo,
        config=configured(name, recipe, [*given, *(settings or [])]),
        cache=CacheConfig(cache, not no_cache, cache_precision, cache_gigabytes),
        device=device,
    )
    print(trained.summary(out))


@task_app.command()
def eval(
    folder: Folder,
    test: Annotated[list[Path], typer.Option(help="Labelled file in the task's format.")],
    elmo: ItsElmo = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    device: Device = "cpu",
) -> None:
    """Score a trained task model with the task's official measure."""
    import json

    from elmokit.tasks.run import eval_task

    scores = eval_task(folder, test, elmo=elmo, device=device)
    if as_json:
        print(json.dumps(scores.every))
    else:
        for measure, value in scores.every.items():
            print(f"{value:6.2f}  {measure}")


@task_app.command()
def predict(
    folder: Folder,
    file: Annotated[str, typer.Argument(help="Plain text, or - for standard input.")],
    elmo: ItsElmo = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines.")] = False,
    labelled: Annotated[
        bool, typer.Option("--labelled", help="FILE is in the training format, not plain text.")
    ] = False,
    device: Device = "cpu",
) -> None:
    """Answer for new text: a line a text (entailment: premise, tab, hypothesis)."""
    import json

    from rich.console import Console

    from elmokit.tasks.run import load_task, predict_file

    trained = load_task(folder, elmo=elmo, device=device)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for example, prediction in predict_file(trained, file, is_labelled=labelled):
        if as_json:
            print(json.dumps(trained.task.to_json(example, prediction), ensure_ascii=False))
        else:
            console.print(trained.task.render(example, prediction))
        sys.stdout.flush()
