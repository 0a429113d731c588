"""Commands on corpora: prepare."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import PRETRAIN, app
from elmokit.cli.options import Pretokenized


@app.command(rich_help_panel=PRETRAIN)
def prepare(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="Files, folders (.txt .gz .xz .bz2 .zst at any depth), - for standard input, or "
            "hf:NAME[,CONFIG][:SPLIT] for a Hugging Face dataset.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write the corpus to.")],
    pretokenized: Pretokenized = False,
    sentences: Annotated[
        str,
        typer.Option(
            help="How raw text is split: trained (learn abbreviations from the text), default "
            "(common English abbreviations) or lines (one sentence per line)."
        ),
    ] = "trained",
    vocabulary: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|MODEL",
            help="Use this vocabulary: a file of one word per line, or a model's name or path.",
        ),
    ] = None,
    vocabulary_size: Annotated[int, typer.Option(help="Size of a new vocabulary.")] = 50_000,
    min_count: Annotated[int, typer.Option(help="Leave rarer words out of the vocabulary.")] = 1,
    heldout: Annotated[
        float | None,
        typer.Option(
            help="Share of the documents to hold out. Default: half a percent, a larger share of "
            "a small corpus and of small kinds of text; at most about 500,000 tokens."
        ),
    ] = None,
    max_types: Annotated[
        int, typer.Option(help="Maximum number of distinct words kept as inputs.")
    ] = 4_000_000,
    max_sentence_tokens: Annotated[int, typer.Option(help="Longer sentences are cut.")] = 400,
    shuffle: Annotated[bool, typer.Option(help="Put the documents in a random order.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of --shuffle.")] = 0,
    workers: Annotated[int, typer.Option(help="Number of processes; 0: one per core.")] = 0,
) -> None:
    """Turn raw text into a corpus that `elmokit train` reads.

    Each line is a paragraph; a blank line ends a document.
    """
    from elmokit.pretrain.corpus.prepare import PrepareConfig, read_target_vocabulary
    from elmokit.pretrain.corpus.prepare import prepare as run
    from elmokit.recipe import from_plain

    settings = {
        "pretokenized": pretokenized,
        "sentences": sentences,
        "vocabulary_size": vocabulary_size,
        "min_count": min_count,
        "heldout": heldout,
        "max_types": max_types,
        "max_sentence_tokens": max_sentence_tokens,
        "shuffle": shuffle,
        "seed": seed,
    }
    report = run(
        texts,
        out,
        from_plain(PrepareConfig, settings, "prepare"),
        vocabulary=read_target_vocabulary(vocabulary) if vocabulary else None,
        num_workers=workers or None,
    )
    for line in report.lines():
        typer.echo(line)
    typer.echo(f"wrote {out}", err=True)
    typer.echo(f"next:  {_next_commands(out, vocabulary)}", err=True)


def _next_commands(out: Path, vocabulary: str | None) -> str:
    """What to do with the corpus; one with the vocabulary of a model is meant for that model."""
    from elmokit.pretrain.corpus.prepare import is_file_of_words

    if vocabulary is None or is_file_of_words(vocabulary):
        return f"elmokit train tiny --data {out} -o RUN"
    return (
        f"elmokit finetune {vocabulary} --data {out} -o MODEL  and  "
        f"elmokit perplexity {vocabulary} --data {out}"
    )
