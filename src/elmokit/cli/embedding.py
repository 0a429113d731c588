"""Commands on models and vectors: embed, static, info, convert, verify."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from elmokit.cli import EMBED, app
from elmokit.cli.former_options import accepting
from elmokit.cli.model_first import ModelOption, model_and_texts
from elmokit.cli.options import (
    BasisOption,
    Device,
    Float16,
    Model,
    ModelFormat,
    NativeFloat16,
    PrecisionOption,
    Pretokenized,
    Workers,
    require_ray,
)
from elmokit.weights.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from elmokit.model.kernels.lstm_inference import PrecisionName

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="Name or path of a model.")]


@app.command(rich_help_panel=EMBED)
def embed(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
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
        bool, typer.Option(help="Tokens are already separated by spaces.")
    ] = False,
    pool: Annotated[
        str | None, typer.Option(help="One vector per sentence: mean, max or ends.")
    ] = None,
    float16: Float16 = False,
    start: Annotated[
        str,
        typer.Option(
            metavar="fresh|settled",
            help="Initial LSTM state of every sentence: zeros, or the model's warm start.",
        ),
    ] = "fresh",
    batch_tokens: Annotated[
        int, typer.Option(help="Tokens per batch; limits the memory.", min=1)
    ] = 8192,
    forget_sentences: Annotated[
        bool, typer.Option("--forget-sentences", help="Do not store the sentences and tokens.")
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
    split_char: Annotated[
        str, typer.Option(help="Separator of the fields of a FASTA header.")
    ] = "|",
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Store partial results next to OUT, so that the same command resumes after a "
            "kill.",
        ),
    ] = False,
    verify_model: Annotated[
        bool,
        typer.Option("--verify", help="First compare the model's files with their checksums."),
    ] = False,
    basis: BasisOption = "similarity",
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
    num_threads: Annotated[
        int | None, typer.Option("--threads", help="At most this many threads.", min=1)
    ] = None,
    ray: Annotated[
        bool,
        typer.Option(
            "--ray",
            help="Run on a Ray cluster (RAY_ADDRESS, else this machine): each INPUT is a Parquet "
            "or text file, OUT is a folder of Parquet files, one row per text.",
        ),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(
            help="With --ray: the column of Parquet files that holds the text. Default: text."
        ),
    ] = None,
    workers: Workers = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
) -> None:
    """Compute one vector per token; write one array per sentence, under the keys 0, 1, 2, ...

    HDF5 files have the layout of AllenNLP's elmo command.
    """
    from elmokit.embed.files.command import EmbedOptions, run_embed

    require_ray(ray, column=column, workers=workers)
    options = EmbedOptions(
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
        resume=resume,
        verify=verify_model,
        basis=basis,
        device=device,
        precision=precision,
        num_threads=num_threads,
        quiet=quiet,
    )
    if ray:
        from elmokit.integrations.ray import run_embed_on_ray

        summary = run_embed_on_ray(
            inputs, out, options, column=column or "text", max_workers=workers
        )
    else:
        summary = run_embed(inputs, out, options)
    typer.echo(summary, err=True)


@app.command(rich_help_panel=EMBED)
def static(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODEL] TEXT", help="Files or folders of text; a model may come before them."
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="OUT.txt, OUT.vec or OUT.bin.")],
    model: ModelOption = None,
    layers: Annotated[
        str,
        typer.Option(
            help="average, sum, top, concat, or the number of one layer; 0 is the token layer, "
            "which knows no context and is much faster."
        ),
    ] = "average",
    min_count: Annotated[
        int, typer.Option(min=1, help="Leave out words that occur less often.")
    ] = 5,
    max_words: Annotated[
        int | None, typer.Option(min=1, help="Keep only this many words, the most frequent.")
    ] = None,
    occurrences: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Skip sentences whose words have all occurred this often already. Default: "
            "average over all occurrences.",
        ),
    ] = None,
    lowercase: Annotated[
        bool, typer.Option("--lowercase", help="One vector for The, the and THE.")
    ] = False,
    pretokenized: Pretokenized = False,
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="Write text without a header line, as in GloVe's files."),
    ] = False,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Show no progress.")] = False,
) -> None:
    """Write one static vector per word of a text, averaged over its occurrences (word2vec format).

    gensim, spaCy and other readers of word2vec or GloVe files can open the result.
    """
    from elmokit.integrations.word2vec import StaticOptions, run_static

    name, texts = model_and_texts(words, model)
    summary = run_static(
        name,
        texts,
        out,
        StaticOptions(
            layers=layers,
            min_count=min_count,
            max_words=max_words,
            occurrences=occurrences,
            lowercase=lowercase,
            pretokenized=pretokenized,
            has_header=not no_header,
            device=device,
            precision=cast("PrecisionName", precision),
            quiet=quiet,
        ),
    )
    typer.echo(summary, err=True)


@app.command(rich_help_panel=EMBED)
def info(model: ModelArgument = DEFAULT_MODEL) -> None:
    """Describe a model: format, sizes, parameters, layers, vocabulary, licence."""
    from elmokit.weights.info import info as describe
    from elmokit.weights.load import load_pretrained

    for line in describe(load_pretrained(model)).lines():
        typer.echo(line)


@app.command(cls=accepting({"--to": "--format"}), rich_help_panel=EMBED)
def convert(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.")],
    format: Annotated[
        ModelFormat | None,
        typer.Option(
            "--format",
            help="native (safetensors) or bilm-tf (HDF5). Default: the other format.",
        ),
    ] = None,
    float16: NativeFloat16 = False,
    settle: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|english",
            help="Store a warm start (start=settled), made from a text in the model's language or "
            "from built-in English sentences.",
        ),
    ] = None,
) -> None:
    """Convert a model to another format; nothing is rounded unless --float16 is given."""
    from elmokit.embed.files.command import run_convert

    typer.echo(run_convert(model, out, to=format, float16=float16, settle_on=settle))


@app.command(rich_help_panel=EMBED)
def verify(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A model by name or path, a corpus or an index.")
    ] = DEFAULT_MODEL,
    expected: Annotated[
        Path | None, typer.Option(help="Vectors that another program computed with this model.")
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(help="The text of these vectors, if their file does not contain it."),
    ] = None,
    basis: BasisOption = "similarity",
    device: Device = "cpu",
) -> None:
    """Compare the files of a model, a corpus or an index with their checksums.

    For a model, also print the statistics of its layers, and compare it with another program's
    vectors. The exit status is 1 if a file is damaged or the vectors differ.
    """
    from elmokit.embed.load import load
    from elmokit.embed.verify.stored_files import check_stored
    from elmokit.embed.verify.verify import verify as check

    files = check_stored(path)
    typer.echo(files.line())
    if files.kind != "model":
        return
    report = check(load(path, device=device, basis=basis), expected, sentences)
    for line in report.lines():
        typer.echo(line)
    if not report.is_good:
        raise typer.Exit(1)
