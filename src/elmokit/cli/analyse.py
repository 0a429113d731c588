"""Commands that look into the layers: ``elmokit analyse NAME``, a table or figure each."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app
from elmokit.cli.options import RunOptions, SeenOption, with_run_options

analyse = typer.Typer(help="The paper's analysis, one command a table or figure.")
app.add_typer(analyse, name="analyse", no_args_is_help=True)

Encoders = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="A model's path; carried:MODEL; untrained:MODEL[:SEED]; static:VECTORS; "
        "cove:STATE_DICT,VECTORS. Each becomes rows of the table; '' is the model that ships.",
    ),
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the result as JSON too.")]
Figure = Annotated[Path | None, typer.Option("--picture", help="Draw it too, .png or .svg.")]
Keep = Annotated[
    Path | None,
    typer.Option(help="Folder that keeps each model's rows: what was killed goes on there."),
]
Tasks = Annotated[list[str], typer.Argument(help="ner, sentiment, entailment, srl, coref, squad.")]


@analyse.command()
def pos(
    models: Encoders,
    data: Annotated[Path, typer.Option(help="Folder of *-{train,dev,test}.conllu (XPOS).")],
    train_sentences: Annotated[
        int | None, typer.Option(help="Fewer training sentences, for a quick look.")
    ] = None,
    keep: Keep = None,
    picture: Figure = None,
    json: Json = None,
) -> None:
    """Part of speech by a linear classifier on each frozen layer (Table 6)."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.part_of_speech import (
        part_of_speech_probe,
        pos_picture,
        pos_table,
        read_pos_data,
    )
    from elmokit.analysis.results import present

    encoders = [open_encoder(model) for model in models]
    result = part_of_speech_probe(encoders, read_pos_data(data, train_sentences), keep=keep)
    present(result, [pos_table(result)], json, picture, lambda: pos_picture(result))


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
    keep: Keep = None,
    picture: Figure = None,
    json: Json = None,
) -> None:
    """Word senses by the nearest mean vector of SemCor (Table 5)."""
    from elmokit.analysis.encoders import open_encoder
    from elmokit.analysis.results import present
    from elmokit.analysis.senses import (
        read_sense_data,
        senses_picture,
        senses_table,
        word_senses,
    )

    encoders = [open_encoder(model) for model in models]
    wanted = read_sense_data(data, sets.split(","))
    result = word_senses(encoders, wanted, semcor_sentences, keep=keep)
    present(result, [senses_table(result)], json, picture, lambda: senses_picture(result))


@analyse.command()
def perplexity(
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="With a softmax.")],
    corpus: Annotated[Path, typer.Option(help="Folder of `elmokit prepare`.")],
    order: Annotated[int, typer.Option(help="Of the n-gram.")] = 5,
    seen: SeenOption = None,
    json: Json = None,
) -> None:
    """Held-out perplexity beside a Kneser-Ney n-gram on the same words."""
    from elmokit.analysis.kneser_ney import parse_seen
    from elmokit.analysis.perplexities import perplexities, perplexity_table
    from elmokit.analysis.results import present

    result = perplexities(models, corpus, order, tuple(map(parse_seen, seen or ())))
    present(result, [perplexity_table(result)], json)


@analyse.command()
@with_run_options
def tasks(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Which; default: all six.", metavar="TASK...")
    ] = None,
    *,
    runs: RunOptions,
    picture: Figure = None,
    json: Json = None,
) -> None:
    """Every task with and without ELMo (Table 1)."""
    from elmokit.analysis import paper
    from elmokit.analysis.results import present
    from elmokit.analysis.six_tasks import six_tasks, six_tasks_picture, six_tasks_table

    result = six_tasks(runs.grid(tasks or list(paper.TASKS)), runs.jobs)
    present(result, [six_tasks_table(result)], json, picture, lambda: six_tasks_picture(result))


@analyse.command()
@with_run_options
def layers(
    tasks: Tasks,
    runs: RunOptions,
    layer_norm: Annotated[bool, typer.Option(help="Each kind with layer norm too.")] = True,
    json: Json = None,
) -> None:
    """Which layers: baseline, last, average, all with lambda 1 and 0.001 (Table 2)."""
    from elmokit.analysis.results import present
    from elmokit.analysis.task_runs import LAYERS, NORMALISED, do_runs, grid_table

    variants = (*LAYERS, *NORMALISED) if layer_norm else LAYERS
    result = do_runs(runs.grid(tasks), variants, runs.jobs)
    present(result, [grid_table(result, "Which layers (Table 2)")], json)


@analyse.command()
@with_run_options
def places(tasks: Tasks, runs: RunOptions, json: Json = None) -> None:
    """Which places: ELMo at the input, at the output, at both (Table 3)."""
    from elmokit.analysis.results import present
    from elmokit.analysis.task_runs import PLACES, do_runs, grid_table

    result = do_runs(runs.grid(tasks), PLACES, runs.jobs)
    present(result, [grid_table(result, "Which places (Table 3)")], json)


@analyse.command()
@with_run_options
def efficiency(
    tasks: Tasks,
    runs: RunOptions,
    shares: Annotated[str, typer.Option(help="Of the training data, in percent.")] = "0.1,1,10,100",
    pictures: Annotated[Path | None, typer.Option(help="Folder to draw into.")] = None,
    json: Json = None,
) -> None:
    """Score against the share of the training data, and against epochs (Figure 1)."""
    from elmokit.analysis.pictures import write_pictures
    from elmokit.analysis.results import present
    from elmokit.analysis.sample_efficiency import (
        efficiency_pictures,
        efficiency_table,
        parse_shares,
        sample_efficiency,
    )

    grid = runs.grid(tasks)
    wanted = parse_shares(shares)
    results = [sample_efficiency(grid, task, wanted, runs.jobs) for task in tasks]
    present(results, [efficiency_table(results)], json)
    if pictures is not None:
        write_pictures(efficiency_pictures(results), pictures)


@analyse.command()
def mixes(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs of `analyse`, or folders of `task train`.")
    ],
    variant: Annotated[
        str, typer.Option(help="Which runs of `analyse`: input + output, elmo ...")
    ] = "input + output",
    picture: Figure = None,
    json: Json = None,
) -> None:
    """The weights and gamma that each trained task learned (Figure 2)."""
    from elmokit.analysis.mix_weights import mix_picture, mix_table, read_mixes
    from elmokit.analysis.results import present

    result = read_mixes(folders, variant)
    present(result, [mix_table(result)], json, picture, lambda: mix_picture(result))


@analyse.command()
@with_run_options
def transfer(
    tasks: Tasks,
    runs: RunOptions,
    tune: Annotated[
        list[str] | None, typer.Option(help="train.NAME=VALUE, for the fine-tuning.")
    ] = None,
    json: Json = None,
) -> None:
    """Perplexity on a task's text before and after fine-tuning, and the task with each."""
    from elmokit.analysis.results import present
    from elmokit.analysis.transfer import domain_transfer, transfer_table

    grid = runs.grid(tasks)
    results = [domain_transfer(grid, task, tune or (), runs.jobs) for task in tasks]
    present(results, [transfer_table(results)], json)
