"""Commands on single words in context: demo, compare, index, neighbours, analyse uses."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app
from elmokit.cli.analyse import analyse
from elmokit.cli.options import Model
from elmokit.errors import InputError

Static = Annotated[
    Path | None, typer.Option(help="Static vectors (GloVe or word2vec) to stand beside.")
]
Pretokenized = Annotated[
    bool, typer.Option(help="One sentence a line, tokens separated by spaces.")
]


@app.command()
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Picture, .png or .svg.")] = Path(
        "elmokit-demo.png"
    ),
    model: Model = "",
) -> None:
    """See two words of two meanings each, at every layer."""
    from elmokit.analysis.demo import demo as run
    from elmokit.analysis.demo import demo_picture, demo_tables
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.pictures import can_draw, write_picture

    result = run(open_encoder(model))
    for table in demo_tables(result):
        typer.echo(table.markdown())
    if can_draw():
        write_picture(demo_picture(result), out)
        typer.echo(f"A picture of it: {out}")
    else:
        typer.echo("For the picture install matplotlib:  pip install 'elmokit[plot]'")


@app.command()
def compare(
    word: Annotated[str, typer.Argument(help="A word that stands once in each sentence.")],
    sentences: Annotated[list[str], typer.Argument(help="Two sentences or more.")],
    model: Model = "",
    static: Static = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Picture to write.")] = None,
) -> None:
    """How alike the uses of a word are, layer by layer."""
    from elmokit.analysis.compare import compare_uses, comparison_picture, comparison_table
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.pictures import write_picture
    from elmokit.text.static_vectors import read_static_vectors

    vectors = read_static_vectors(static) if static else None
    result = compare_uses(open_encoder(model), word, sentences, vectors)
    typer.echo(comparison_table(result).markdown())
    if out is not None:
        write_picture(comparison_picture(result), out)


@app.command()
def index(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Files or folders.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the index to.")],
    model: Model = "",
    layers: Annotated[str, typer.Option(help="Layers, as in 1,2; default: all LSTM layers.")] = "",
    tokens: Annotated[
        int | None,
        typer.Option(min=1, help="At most so many, whole sentences from the start; default: all."),
    ] = None,
    pretokenized: Pretokenized = False,
) -> None:
    """Index every token of a text, for `elmokit neighbours`."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.use_index import index_texts

    report = index_texts(
        open_encoder(model), texts, out, parse_layers(layers), tokens, pretokenized
    )
    typer.echo(
        f"{out}: {report.num_tokens:,} tokens of {report.num_sentences:,} sentences, layers "
        f"{', '.join(map(str, report.layers))}, {'exact' if report.is_exact else 'approximate'}"
    )


def parse_layers(text: str) -> list[int] | None:
    """ "1,2" -> [1, 2]; nothing -> None, the default."""
    if not text:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"layers must be numbers such as 1,2; got {text!r}") from None


@app.command()
def neighbours(
    index: Annotated[Path, typer.Argument(help="Folder written by `elmokit index`.")],
    sentence: Annotated[str, typer.Argument(help="With one word marked: a spectacular *play*.")],
    model: Model = "",
    layer: Annotated[int | None, typer.Option(help="Default: the top one.")] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1)] = 5,
    static: Static = None,
) -> None:
    """The nearest uses to a word in its sentence (Table 4), beside the nearest static words."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.neighbours import context_neighbours, neighbours_tables
    from elmokit.analysis.use_index import open_index

    encoder = open_encoder(model)
    result = context_neighbours(open_index(index), encoder, sentence, layer, count, static)
    for table in neighbours_tables(result):
        typer.echo(table.markdown())


@analyse.command()
def uses(
    word: Annotated[str, typer.Argument(help="A form, as in: play (plays is another); any case.")],
    data: Annotated[Path, typer.Option(help="Folder with semcor30 and wordnet30.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Picture, .png or .svg.")],
    model: Model = "",
    text: Annotated[
        list[str] | None, typer.Option(help="More text with the word, drawn in grey.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Default: the top one.")] = None,
) -> None:
    """All uses of a word as points (PCA), coloured by their sense in SemCor."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.pictures import write_picture
    from elmokit.analysis.sense_map import (
        read_uses,
        sense_map,
        sense_map_picture,
        sense_map_table,
    )

    result = sense_map(open_encoder(model), word, read_uses(data, word, text or ()), layer)
    typer.echo(sense_map_table(result).markdown())
    write_picture(sense_map_picture(result), out)
