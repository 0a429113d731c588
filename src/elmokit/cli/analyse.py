"""Commands that look into the layers: ``elmokit analyse NAME`` and what stands beside it."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app

analyse = typer.Typer(help="The paper's analysis, one command a table or figure.")
app.add_typer(analyse, name="analyse", no_args_is_help=True)

Encoders = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="A model's path; untrained:MODEL[:SEED]; static:VECTORS; cove:STATE_DICT,VECTORS. "
        "Each becomes rows of the table; '' is the model that ships.",
    ),
]


@analyse.command()
def pos(
    models: Encoders,
    data: Annotated[Path, typer.Option(help="Folder of *-{train,dev,test}.conllu (XPOS).")],
    train_sentences: Annotated[
        int | None, typer.Option(help="Fewer training sentences, for a quick look.")
    ] = None,
) -> None:
    """Part of speech by a linear classifier on each frozen layer (Table 6)."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.part_of_speech import part_of_speech_probe, pos_table, read_pos_data

    encoders = [open_encoder(model) for model in models]
    result = part_of_speech_probe(encoders, read_pos_data(data, train_sentences))
    typer.echo(pos_table(result).markdown())


@analyse.command()
def senses(
    models: Encoders,
    data: Annotated[Path, typer.Option(help="Folder with semcor30, wordnet30 and evaluation.")],
    sets: Annotated[
        str, typer.Option(help="Evaluation sets, separated by commas.")
    ] = "senseval2,senseval3,semeval2007,semeval2013,semeval2015",
    semcor_sentences: Annotated[
        int | None, typer.Option(help="Fewer SemCor sentences, for a quick look.")
    ] = None,
) -> None:
    """Word senses by the nearest mean vector of SemCor (Table 5)."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.senses import read_sense_data, senses_table, word_senses

    encoders = [open_encoder(model) for model in models]
    result = word_senses(encoders, read_sense_data(data, sets.split(",")), semcor_sentences)
    typer.echo(senses_table(result).markdown())
