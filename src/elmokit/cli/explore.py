"""The explorer: a page for exploring the occurrences of words."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import WORDS, app
from elmokit.cli.former_options import accepting
from elmokit.cli.options import Device, Model, Pretokenized
from elmokit.errors import InputError, missing_extra
from elmokit.weights.names import DEFAULT_MODEL

ONLY_WRITTEN = (
    "word",
    "sentence",
    "other_text",
    "static",
    "occurrences",
    "seed",
    "pretokenized",
    "title",
)
"""Options for the content of a written page; on a live page, the user chooses it."""


@app.command(cls=accepting({"--uses": "--occurrences"}), rich_help_panel=WORDS)
def explore(
    context: typer.Context,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|INDEX",
            help="Files or folders of text, or a folder written by `elmokit index`. Default: a few "
            "built-in sentences.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write one self-contained HTML file."),
    ] = None,
    word: Annotated[
        list[str] | None,
        typer.Option(
            "-w",
            "--word",
            metavar="WORD",
            help="Word to look at; may be repeated. Default: a dozen words.",
        ),
    ] = None,
    sentence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SENTENCE",
            help="Sentence whose expected words and similarities are shown; may be repeated.",
        ),
    ] = None,
    model: Model = DEFAULT_MODEL,
    other_model: Annotated[
        str, typer.Option(help="A second model to show beside the first, on the same text.")
    ] = "",
    other_text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="A second text to show beside the first; may be repeated."
        ),
    ] = None,
    senses: Annotated[
        Path | None,
        typer.Option(help="Folder with semcor30 and wordnet30: occurrences coloured by sense."),
    ] = None,
    static: Annotated[
        Path | None,
        typer.Option(help="Static vectors (GloVe or word2vec) to compare neighbours with."),
    ] = None,
    occurrences: Annotated[
        int, typer.Option(min=2, help="Show at most this many occurrences of a word, sampled.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the samples.")] = 1,
    pretokenized: Pretokenized = False,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "elmokit explorer",
    device: Device = "cpu",
) -> None:
    """Explore what words mean: their occurrences layer by layer, expected words, neighbours.

    With -o, write a page that needs no server, no network and no other file. Without it, start a
    server on this machine (extra serve), so that any word can be typed into the page.
    """
    if out is None:
        if unfit := [name for name in ONLY_WRITTEN if _is_given(context, name)]:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in unfit)
            raise InputError(f"{options}: only for a page that is written; add -o page.html")
        _serve(texts or [], [model, *([other_model] if other_model else [])], senses, device)
        return
    from elmokit.serve.page.explore import explore as run

    page = run(
        texts or [],
        words=word or [],
        sentences=sentence or [],
        model=model,
        other_model=other_model,
        other_texts=other_text or [],
        senses=senses,
        static=static,
        max_occurrences=occurrences,
        seed=seed,
        pretokenized=pretokenized,
        title=title,
        device=device,
        show_progress=True,
    )
    page.save(out)
    shown = ", ".join(one["word"] for one in page.document["explorations"][0]["words"])
    typer.echo(f"{out}: {shown} ({out.stat().st_size / 1e6:.1f} MB)")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _serve(texts: list[str], models: list[str], senses: Path | None, device: str) -> None:
    try:
        from elmokit.serve.command import run_server
    except ModuleNotFoundError as error:
        raise missing_extra(
            error.name or "FastAPI", "serve", "exploring without -o page.html"
        ) from None
    from elmokit.analysis.explore.corpus import open_corpus

    is_index = len(texts) == 1 and (Path(texts[0]) / "index.json").is_file()
    index = Path(texts[0]) if is_index and senses is None else None
    run_server(
        models, index, port=0, drain_seconds=0, device=device, corpus=open_corpus(texts, senses)
    )
