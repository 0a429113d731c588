"""Commands on training: train, finetune, perplexity, predict, export, plot."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from elmokit.cli import app

Data = Annotated[Path, typer.Option("--data", help="Folder made by `elmokit prepare`.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="TABLE.NAME=VALUE", help="Change a setting of the recipe."),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1 ...")]


@app.command()
def train(
    recipe: Annotated[
        str | None, typer.Argument(help="tiny, small, original, or a .toml file.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder made by `elmokit prepare`.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder of the run.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="Go on with this run, stopped or killed.")
    ] = None,
    changes: Changes = None,
    device: Device = "cpu",
) -> None:
    """Train a biLM: both directions jointly, from a recipe and a prepared corpus."""
    from elmokit.pretrain.loop import train_or_resume

    train_or_resume(recipe, data, out, resume, changes or [], device)


@app.command()
def finetune(
    model: Annotated[str, typer.Argument(help="Model to start from (any format we read).")],
    data: Data,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the tuned model.")],
    changes: Changes = None,
    device: Device = "cpu",
) -> None:
    """Go on training a model on the text of a domain, and say what it gained."""
    from elmokit.pretrain.finetune import finetune as run
    from elmokit.weights.load import load_pretrained

    result = run(load_pretrained(model), data, out, changes or [], device)
    if result.fitted_words:
        print(f"{result.fitted_words:,} softmax rows were new and fitted first, all else frozen")
    print(f"before: {result.before}")
    print(f"after:  {result.after}")


@app.command()
def perplexity(
    model: Annotated[str, typer.Argument(help="Model with a softmax; - is the shipped one.")],
    data: Data,
    part: Annotated[Literal["heldout", "train"], typer.Option(help="Which text.")] = "heldout",
    start: Annotated[Literal["fresh", "carried"], typer.Option(help="State.")] = "fresh",
) -> None:
    """Perplexity by the full softmax, forward, backward and mean."""
    from elmokit.pretrain.perplexity import perplexity_of
    from elmokit.weights.load import load_pretrained

    print(perplexity_of(load_pretrained(None if model == "-" else model), data, part, start))


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="Model with a softmax; - is the shipped one.")],
    text: Annotated[str, typer.Argument(help="A sentence with a blank: ___")],
    top: Annotated[int, typer.Option(help="How many words.")] = 10,
) -> None:
    """The likeliest words for a blank: by what is before it, after it, and both."""
    from elmokit.pretrain.predict import predict as run
    from elmokit.weights.load import load_pretrained

    found = run(load_pretrained(None if model == "-" else model), text, top)
    print("".join(f"{title:<28}" for title in ("both directions", "next word", "previous word")))
    for row in zip(found.combined, found.forward, found.backward, strict=True):
        print("".join(f"{g.word:<18.18}{g.log_probability:>8.2f}  " for g in row))


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="Folder of a training run.")],
    out: Annotated[Path, typer.Argument(help="Folder for the model.")],
    format: Annotated[
        Literal["native", "bilm-tf"], typer.Option(help="Files to write.")
    ] = "native",
    which: Annotated[Literal["best", "latest"], typer.Option(help="Checkpoint.")] = "best",
    float16: Annotated[bool, typer.Option(help="Store half precision (native only).")] = False,
    card: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="A fact to keep with it: licence, corpus ..."),
    ] = None,
) -> None:
    """Write a run's model in a form that others can load."""
    from elmokit.pretrain.export import export as write

    write(run, out, format, which, "float16" if float16 else "float32", card or [])


@app.command()
def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folder of a training run, or its log.jsonl; then those that went on."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Picture to write.")] = Path("run.png"),
) -> None:
    """Draw a run's perplexity, loss and learning rate."""
    from elmokit.pretrain.plot import plot_runs

    plot_runs(runs, out)
