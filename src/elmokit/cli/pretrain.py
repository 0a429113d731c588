"""Commands on training: train, finetune, perplexity, predict, export, plot."""

from pathlib import Path
from typing import Annotated

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
