"""Commands on words as a language model sees them: surprisal, substitutes, senses, change."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from elmokit.cli import app
from elmokit.cli.options import Device, Picture
from elmokit.errors import InputError

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="Name or path of a model with a softmax.")
]


@app.command()
def surprisal(
    model: ModelArgument,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="Text files, plain or compressed; - is standard input. A blank line ends a "
            "document.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Table to write (.tsv); default: standard output.")
    ] = Path("-"),
    start: Annotated[
        Literal["fresh", "carried"],
        typer.Option(help="fresh: every sentence alone; carried: documents read as running text."),
    ] = "fresh",
    words: Annotated[
        bool,
        typer.Option("--words", help="One row per word of yours (between spaces), not per token."),
    ] = False,
    pretokenized: Annotated[
        bool, typer.Option("--pretokenized", help="One sentence per line, tokens between spaces.")
    ] = False,
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown", help="Give words outside the vocabulary the surprisal of <UNK>, not NA."
        ),
    ] = False,
    ends: Annotated[
        bool, typer.Option("--ends", help="Add a row for the end of every sentence.")
    ] = False,
    frequencies: Annotated[
        Path | None,
        typer.Option(
            help="Counts for the column frequency (per million words): a corpus made by `elmokit "
            "prepare`, or a file of lines WORD<TAB>COUNT."
        ),
    ] = None,
    picture: Picture = None,
    device: Device = "cpu",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
) -> None:
    """Measure the surprisal of every token: forward, backward and combined, in bits.

    Each row also has the entropy of the prediction and the rank of the token. The full softmax is
    used: the sum over a text is what `elmokit perplexity` counts.
    """
    from elmokit.analysis.lm.surprisal_picture import draw_surprisal
    from elmokit.analysis.output.pictures import write_picture
    from elmokit.analysis.output.results import say_written
    from elmokit.cli.pretrain import load_with_softmax
    from elmokit.pretrain.surprisal.frequencies import read_frequencies
    from elmokit.pretrain.surprisal.to_file import SurprisalOptions, surprisal_to_file
    from elmokit.text.sources import can_be_read_twice, require_sources

    require_sources(texts)
    if picture is not None and not can_be_read_twice(texts):
        raise InputError("--picture reads the text again: give a file, not a pipe")
    counts = read_frequencies(frequencies) if frequencies else None
    options = SurprisalOptions(start, pretokenized, words, unknown, ends, counts, quiet)
    loaded = load_with_softmax(model, device)
    summary = surprisal_to_file(loaded, texts, out, options)
    typer.echo(str(summary) if out == Path("-") else f"{out}: {summary}", err=True)
    if picture is not None:
        write_picture(draw_surprisal(loaded, texts, options), picture)
        say_written(picture)
