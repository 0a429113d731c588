"""Commands on models and vectors: embed, info, convert, verify."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app
from elmokit.cli.former_options import accepting
from elmokit.cli.options import Device, Model
from elmokit.weights.names import DEFAULT_MODEL

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Name or path of a model: folder, zip or .hdf5.")
]


def _tidy_up_when_terminated() -> None:
    """A signal ends the command as an error does, so that nothing half-written is left."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: sys.exit(128 + number))


@app.command()
def embed(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Text files, one sentence per line, plain or compressed (.gz .bz2 .xz .zst); "
            "- is standard input.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="OUT.h5, OUT.npz or OUT.parquet.")],
    model: Model = DEFAULT_MODEL,
    layers: Annotated[
        str | None,
        typer.Option(
            help="all, average, sum, top, concat, or layers by number, such as 1, -1 or 0,2. "
            "Default: average; sum with --protein."
        ),
    ] = None,
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="Tokens are separated by spaces already.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="One vector per sentence: mean, max or ends.")
    ] = None,
    float16: Annotated[
        bool, typer.Option("--float16", help="Half the size, rounded to three digits.")
    ] = False,
    start: Annotated[
        str, typer.Option(help="State every sentence starts from: fresh or settled.")
    ] = "fresh",
    batch_tokens: Annotated[int, typer.Option(help="Tokens computed at once.", min=1)] = 8192,
    forget_sentences: Annotated[
        bool, typer.Option("--forget-sentences", help="Leave out the sentences and tokens.")
    ] = False,
    protein: Annotated[
        bool, typer.Option("--protein", help="Inputs are FASTA files; each residue is a token.")
    ] = False,
    bio_embeddings: Annotated[
        bool,
        typer.Option(
            "--bio-embeddings",
            help="With --protein: OUT is a folder laid out as bio_embeddings wrote it.",
        ),
    ] = False,
    id_field: Annotated[
        int, typer.Option("--id", help="Field of a FASTA header to use as key; -1: all of it.")
    ] = 1,
    split_char: Annotated[str, typer.Option(help="What separates those fields.")] = "|",
    device: Device = "cpu",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Write the vectors of every token: one array per sentence, under the keys 0, 1, 2, ...

    HDF5 files are laid out as AllenNLP's elmo command wrote them.
    """
    from elmokit.embed.files.command import EmbedOptions, run_embed

    _tidy_up_when_terminated()
    summary = run_embed(
        inputs,
        out,
        EmbedOptions(
            model=model,
            layers=layers,
            pretokenized=pretokenized,
            pool=pool,
            float16=float16,
            start=start,
            batch_tokens=batch_tokens,
            keep_sentences=not forget_sentences,
            protein=protein,
            bio_embeddings=bio_embeddings,
            id_field=id_field,
            split_char=split_char,
            device=device,
            quiet=quiet,
        ),
    )
    typer.echo(summary, err=True)


@app.command()
def info(model: ModelArgument = DEFAULT_MODEL) -> None:
    """Print what a model is: format, sizes, parameters, layers, vocabulary, licence."""
    from elmokit.weights.info import info as describe
    from elmokit.weights.load import load_pretrained

    for line in describe(load_pretrained(model)).lines():
        typer.echo(line)


@app.command(cls=accepting({"--to": "--format"}))
def convert(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(help="Folder to write.")],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="native (safetensors) or bilm-tf (HDF5). Default: the one that MODEL is not in.",
        ),
    ] = None,
    float16: Annotated[bool, typer.Option("--float16", help="Native only: half the size.")] = False,
    settle: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|english",
            help="Store a warm start (start=settled), made from a text in the model's language or "
            "from built-in English sentences.",
        ),
    ] = None,
) -> None:
    """Write a model in another format, exactly."""
    from elmokit.embed.files.command import run_convert

    _tidy_up_when_terminated()
    typer.echo(run_convert(model, out, to=format, float16=float16, settle_on=settle))


@app.command()
def verify(
    model: ModelArgument = DEFAULT_MODEL,
    expected: Annotated[
        Path | None, typer.Option(help="Vectors that another program made with this model.")
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(help="Their text, if that file does not contain it.")
    ] = None,
) -> None:
    """Check a model, print the statistics of its layers, compare with another program's vectors.

    The exit status is 1 where the vectors differ.
    """
    from elmokit.embed.load import load
    from elmokit.embed.verify.verify import verify as check

    report = check(load(model), expected, sentences)
    for line in report.lines():
        typer.echo(line)
    if not report.is_good:
        raise typer.Exit(1)
