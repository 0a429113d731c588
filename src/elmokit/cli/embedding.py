"""Commands on models and vectors: embed, info, convert, verify."""

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app

Model = Annotated[
    Path | None,
    typer.Argument(help="Folder, zip or .hdf5; nothing = the model that ships with elmokit."),
]


def _tidy_up_when_terminated() -> None:
    """``kill`` ends the command as an error does, so that nothing half-written is left."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


@app.command()
def embed(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="INPUT...", help="Text, one sentence a line; - is standard input."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="OUT.h5, OUT.npz or OUT.parquet.")],
    model: Annotated[
        Path | None, typer.Option("-m", "--model", help="Any model; default: the one that ships.")
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="all, average, sum, top, concat, or layers' numbers such as 1 or 0,2. "
            "Default: average; sum with --protein."
        ),
    ] = None,
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="Tokens are separated by spaces already.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="One vector a sentence: mean, max or ends.")
    ] = None,
    float16: Annotated[bool, typer.Option("--float16", help="Half the size, 3 digits.")] = False,
    start: Annotated[
        str, typer.Option(help="State every sentence starts from: fresh or settled.")
    ] = "fresh",
    batch_tokens: Annotated[int, typer.Option(help="Tokens computed at once.", min=1)] = 8192,
    forget_sentences: Annotated[
        bool, typer.Option("--forget-sentences", help="Leave out sentence_to_index.")
    ] = False,
    protein: Annotated[
        bool, typer.Option("--protein", help="Inputs are FASTA files; a residue is a token.")
    ] = False,
    id_field: Annotated[
        int, typer.Option("--id", help="Field of a FASTA header that is the key; -1: all of it.")
    ] = 1,
    split_char: Annotated[str, typer.Option(help="What separates those fields.")] = "|",
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Write the vectors of every token: a dataset a sentence, keys 0, 1, 2, ...

    HDF5 is laid out as AllenNLP's elmo command wrote it.
    """
    from elmokit.embed.command import EmbedOptions, run_embed

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
            id_field=id_field,
            split_char=split_char,
            device=device,
            quiet=quiet,
        ),
    )
    typer.echo(summary, err=True)


@app.command()
def info(model: Model = None) -> None:
    """Print what a model is: format, sizes, parameters, layers, vocabulary, licence."""
    from elmokit.weights.info import info as describe
    from elmokit.weights.load import load_pretrained

    for line in describe(load_pretrained(model)).lines():
        typer.echo(line)


@app.command()
def convert(
    model: Annotated[Path, typer.Argument(help="Folder, zip or .hdf5.")],
    out: Annotated[Path, typer.Argument(help="Folder to write.")],
    to: Annotated[
        str | None,
        typer.Option(help="native (safetensors) or bilm-tf (HDF5); default: what MODEL is not."),
    ] = None,
    float16: Annotated[bool, typer.Option("--float16", help="Native only: half the size.")] = False,
    settle: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|english",
            help="Store a settled state, made from text in the model's language or English.",
        ),
    ] = None,
) -> None:
    """Write a model in another format, exactly."""
    from elmokit.embed.command import run_convert

    _tidy_up_when_terminated()
    typer.echo(run_convert(model, out, to=to, float16=float16, settle_on=settle))


@app.command()
def verify(
    model: Model = None,
    expected: Annotated[
        Path | None, typer.Option(help="Vectors another program made of this model: .hdf5, .npz.")
    ] = None,
    sentences: Annotated[
        Path | None, typer.Option(help="Their text, where that file does not hold it.")
    ] = None,
) -> None:
    """Check a model, print the statistics of its layers, compare with another program's vectors.

    The exit status is 1 where the vectors differ.
    """
    from elmokit.weights.load import load_pretrained
    from elmokit.weights.verify import verify as check

    report = check(load_pretrained(model, need_softmax=False), expected, sentences)
    for line in report.lines():
        typer.echo(line)
    if not report.is_good:
        raise typer.Exit(1)
