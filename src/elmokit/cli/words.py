"""Commands on single words in context: demo, compare, index, neighbours, analyse occurrences."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import WORDS, app
from elmokit.cli.analyse import analyse
from elmokit.cli.former_options import accepting
from elmokit.cli.options import (
    Compute,
    Markdown,
    Model,
    Output,
    Pretokenized,
    Tables,
    Workers,
    require_ray,
    with_groups,
)
from elmokit.errors import InputError
from elmokit.weights.names import DEFAULT_MODEL

Encoder = Annotated[
    str,
    typer.Option(
        "-m",
        "--model",
        help="Name or path of a model; or plus-mean:MODEL, its vectors added to their sentence "
        "mean.",
    ),
]
Static = Annotated[
    Path | None, typer.Option(help="Static vectors (GloVe or word2vec) to compare with.")
]
FORMER_PICTURE = {"-o": "--picture", "--out": "--picture"}


@app.command(cls=accepting(FORMER_PICTURE), rich_help_panel=WORDS)
@with_groups
def demo(
    picture: Annotated[Path, typer.Option(help="Picture to write, .png or .svg.")] = Path(
        "elmokit-demo.png"
    ),
    model: Model = DEFAULT_MODEL,
    markdown: Markdown = False,
    *,
    compute: Compute,
) -> None:
    """Compare two words of two senses each at every layer: a first look at what ELMo does."""
    from elmokit.analysis.output.pictures import write_picture
    from elmokit.analysis.output.tables import print_tables
    from elmokit.analysis.words.demo import demo as run
    from elmokit.analysis.words.demo import demo_picture, demo_tables
    from elmokit.figures import can_draw

    result = run(compute.encoder(model))
    print_tables(demo_tables(result), markdown)
    if can_draw():
        write_picture(demo_picture(result), picture)
        typer.echo(f"wrote {picture}")
    else:
        typer.echo("For the picture install matplotlib:  pip install 'elmokit[plot]'")


@app.command(cls=accepting(FORMER_PICTURE), rich_help_panel=WORDS)
@with_groups
def compare(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="A word of every sentence; mark one as *word* where it occurs twice.",
        ),
    ],
    sentences: Annotated[
        list[str], typer.Argument(metavar="SENTENCE", help="Two sentences or more.")
    ],
    model: Encoder = DEFAULT_MODEL,
    static: Static = None,
    *,
    output: Output,
    compute: Compute,
) -> None:
    """Compare occurrences of a word by their cosine similarity, layer by layer."""
    from elmokit.analysis.words.compare import (
        compare_occurrences,
        comparison_picture,
        comparison_table,
    )
    from elmokit.text.static_vectors import read_static_vectors

    vectors = read_static_vectors(static) if static else None
    result = compare_occurrences(compute.encoder(model), word, sentences, vectors)
    table = comparison_table(result)
    output.present(result, [table], lambda: comparison_picture(result))


@app.command(rich_help_panel=WORDS)
@with_groups
def index(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT", help="Files or folders.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the index to.")],
    model: Encoder = DEFAULT_MODEL,
    layers: Annotated[
        str, typer.Option(help="Layers to index, as in 1,2. Default: all but the token layer.")
    ] = "",
    tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Index at most this many tokens, in whole sentences from the start."
        ),
    ] = None,
    pretokenized: Pretokenized = False,
    *,
    compute: Compute,
    ray: Annotated[
        bool,
        typer.Option("--ray", help="Compute on a Ray cluster (RAY_ADDRESS, else this machine)."),
    ] = False,
    workers: Workers = None,
) -> None:
    """Index every token of a text, for `elmokit neighbours`."""
    from elmokit.analysis.words.build_index import index_texts

    require_ray(ray, workers=workers)
    encoder = compute.encoder(model)
    encode_chunks = None
    if ray:
        from elmokit.integrations.ray_index import encode_on_ray

        encode_chunks = encode_on_ray(model, compute.device, compute.precision, workers)
    report = index_texts(
        encoder,
        texts,
        out,
        parse_layers(layers),
        tokens,
        pretokenized,
        encode_chunks=encode_chunks,
    )
    typer.echo(
        f"{out}: {report.num_tokens:,} tokens of {report.num_sentences:,} sentences, layers "
        f"{', '.join(map(str, report.layers))}, {'exact' if report.is_exact else 'approximate'}"
    )


def parse_layers(text: str) -> list[int] | None:
    """Parse "1,2" into [1, 2]; an empty text gives None, the default."""
    if not text:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"layers must be numbers such as 1,2; got {text!r}") from None


@app.command(cls=accepting({"--count": "--top"}), rich_help_panel=WORDS)
@with_groups
def neighbours(
    index: Annotated[
        Path, typer.Argument(metavar="INDEX", help="Folder written by `elmokit index`.")
    ],
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="SENTENCE", help="A sentence with one word marked: 'a spectacular *play*'."
        ),
    ],
    model: Encoder = DEFAULT_MODEL,
    layer: Annotated[int | None, typer.Option(help="Layer to search. Default: the top.")] = None,
    top: Annotated[int, typer.Option("-n", "--top", min=1, help="Number of neighbours.")] = 5,
    static: Static = None,
    *,
    output: Tables,
    compute: Compute,
) -> None:
    """Find the nearest neighbours of a word in its context, and of its static vector (Table 4)."""
    from elmokit.analysis.words.index import open_index
    from elmokit.analysis.words.neighbours import context_neighbours, neighbours_tables

    encoder = compute.encoder(model)
    result = context_neighbours(open_index(index), encoder, sentence, layer, top, static)
    output.present(result, neighbours_tables(result))


@analyse.command(cls=accepting(FORMER_PICTURE))
@with_groups
def occurrences(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD", help="A word form, in any case: play (plays is another form)."
        ),
    ],
    data: Annotated[Path, typer.Option(help="Folder with semcor30 and wordnet30.")],
    model: Encoder = DEFAULT_MODEL,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="More text with the word, drawn in grey; may be repeated."
        ),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer to draw. Default: the top.")] = None,
    *,
    output: Output,
    compute: Compute,
) -> None:
    """List all occurrences of a word by their sense in SemCor, and draw them as points (PCA)."""
    from elmokit.analysis.words.sense_map import (
        read_occurrences,
        sense_map,
        sense_map_picture,
        sense_map_table,
    )

    found = read_occurrences(data, word, text or ())
    result = sense_map(compute.encoder(model), word, found, layer)
    table = sense_map_table(result)
    output.present(result, [table], lambda: sense_map_picture(result))


analyse.command("uses", hidden=True, cls=accepting(FORMER_PICTURE))(occurrences)  # its former name
