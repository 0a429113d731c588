"""Commands that analyse the layers: ``elmokit analyse NAME``, one per table or figure."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import ANALYSE, app
from elmokit.cli.former_options import accepting
from elmokit.cli.options import (
    Compute,
    Device,
    Output,
    RunOptions,
    SeenOption,
    Tables,
    with_groups,
)
from elmokit.weights.names import DEFAULT_MODEL

analyse = typer.Typer(help="The paper's analysis, one command per table or figure.")
app.add_typer(analyse, name="analyse", no_args_is_help=True, rich_help_panel=ANALYSE)

Encoders = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL",
        help="Names or paths of models; each becomes rows of the table. Also carried:MODEL, "
        "states:MODEL, untrained:MODEL[:SEED], mean:MODEL, plus-mean:MODEL, static:VECTORS and "
        f"cove:STATE_DICT,VECTORS. Default: {DEFAULT_MODEL}.",
        show_default=False,
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        help="Folder that keeps the finished rows of each model, so that an interrupted analysis "
        "resumes and a new model computes only its own rows."
    ),
]
Tasks = Annotated[
    list[str],
    typer.Argument(metavar="TASK", help="ner, sentiment, entailment, srl, coref or squad."),
]
FORMER_CACHE = {"--keep": "--cache"}


@analyse.command(cls=accepting(FORMER_CACHE))
@with_groups
def pos(
    models: Encoders = None,
    *,
    data: Annotated[Path, typer.Option(help="Folder of *-{train,dev,test}.conllu with XPOS tags.")],
    train_sentences: Annotated[
        int | None, typer.Option(help="Use fewer training sentences, for a quick result.")
    ] = None,
    cache: Cache = None,
    output: Output,
    compute: Compute,
) -> None:
    """Probe each frozen layer for part of speech with a linear classifier (Table 6)."""
    from elmokit.analysis.probes.part_of_speech import (
        part_of_speech_probe,
        pos_picture,
        pos_table,
        read_pos_data,
    )

    encoders = compute.models().encoders(models or [DEFAULT_MODEL])
    result = part_of_speech_probe(encoders, read_pos_data(data, train_sentences), cache=cache)
    output.present(result, [pos_table(result)], lambda: pos_picture(result))


@analyse.command(cls=accepting(FORMER_CACHE))
@with_groups
def senses(
    models: Encoders = None,
    *,
    data: Annotated[Path, typer.Option(help="Folder with semcor30, wordnet30 and evaluation.")],
    sets: Annotated[
        str, typer.Option(help="Evaluation sets, separated by commas.")
    ] = "senseval2,senseval3,semeval2007,semeval2013,semeval2015",
    semcor_sentences: Annotated[
        int | None, typer.Option(help="Use fewer SemCor sentences, for a quick result.")
    ] = None,
    cache: Cache = None,
    output: Output,
    compute: Compute,
) -> None:
    """Disambiguate words by the nearest mean vector of a SemCor sense (Table 5)."""
    from elmokit.analysis.probes.senses import (
        read_sense_data,
        senses_picture,
        senses_table,
        word_senses,
    )

    encoders = compute.models().encoders(models or [DEFAULT_MODEL])
    wanted = read_sense_data(data, sets.split(","))
    result = word_senses(encoders, wanted, semcor_sentences, cache=cache)
    output.present(result, [senses_table(result)], lambda: senses_picture(result))


@analyse.command()
@with_groups
def sense_separation(
    models: Encoders = None,
    *,
    data: Annotated[Path, typer.Option(help="Folder with semcor30 and wordnet30.")],
    per_sense: Annotated[
        int,
        typer.Option(min=2, help="Occurrences sampled per sense; lemmas with fewer are left out."),
    ] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    output: Output,
    compute: Compute,
) -> None:
    """Measure how well each layer separates the two main senses of SemCor's nouns and verbs.

    This is meant for choosing between models: SemCor is development data, and no evaluation set is
    read.
    """
    from elmokit.analysis.probes.sense_separation import (
        read_separation_data,
        separation_picture,
        separation_table,
    )
    from elmokit.analysis.probes.sense_separation import sense_separation as run

    encoders = compute.models().encoders(models or [DEFAULT_MODEL])
    result = run(encoders, read_separation_data(data), per_sense, seed)
    table = separation_table(result)
    output.present(result, [table], lambda: separation_picture(result))


analyse.command("homonyms", hidden=True)(sense_separation)


@analyse.command()
@with_groups
def perplexity(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help=f"Names or paths of models that have a softmax. Default: {DEFAULT_MODEL}.",
            show_default=False,
        ),
    ] = None,
    *,
    corpus: Annotated[Path, typer.Option(help="Folder made by `elmokit prepare`.")],
    order: Annotated[int, typer.Option(help="Order of the n-gram model.")] = 5,
    seen: SeenOption = None,
    device: Device = "cpu",
    output: Tables,
) -> None:
    """Measure perplexity on held-out text, compared with a Kneser-Ney n-gram model."""
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.lm.kneser_ney import parse_seen
    from elmokit.analysis.lm.perplexities import perplexities, perplexity_table

    runs = tuple(map(parse_seen, seen or ()))
    opened = Models(device, need_softmax=True)
    result = perplexities(models or [DEFAULT_MODEL], corpus, order, runs, opened=opened)
    output.present(result, [perplexity_table(result)])


@analyse.command()
@with_groups
def tasks(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Which tasks. Default: all six.", metavar="TASK")
    ] = None,
    *,
    runs: RunOptions,
    output: Output,
) -> None:
    """Train and test every task with and without ELMo (Table 1)."""
    from elmokit.analysis import paper
    from elmokit.analysis.experiments.table1 import six_tasks, six_tasks_picture, six_tasks_table

    result = six_tasks(runs.grid(tasks or list(paper.TASKS)), runs.jobs)
    table = six_tasks_table(result)
    output.present(result, [table], lambda: six_tasks_picture(result))


@analyse.command()
@with_groups
def layers(
    tasks: Tasks,
    *,
    runs: RunOptions,
    layer_norm: Annotated[bool, typer.Option(help="Add columns with layer normalisation.")] = False,
    output: Tables,
) -> None:
    """Compare layers: the last, their average, and all with lambda 1 and 0.001 (Table 2)."""
    from elmokit.analysis.experiments.layers import LAYERS, NORMALISED, grid_table
    from elmokit.analysis.experiments.runs import do_runs

    variants = (*LAYERS, *NORMALISED) if layer_norm else LAYERS
    result = do_runs(runs.grid(tasks), variants, runs.jobs)
    output.present(result, [grid_table(result, "Which layers (Table 2)")])


@analyse.command()
@with_groups
def places(tasks: Tasks, runs: RunOptions, output: Tables) -> None:
    """Compare places for ELMo: at the input, at the output, and at both (Table 3)."""
    from elmokit.analysis.experiments.layers import PLACES, grid_table
    from elmokit.analysis.experiments.runs import do_runs

    result = do_runs(runs.grid(tasks), PLACES, runs.jobs)
    output.present(result, [grid_table(result, "Which places (Table 3)")])


@analyse.command()
@with_groups
def efficiency(
    tasks: Tasks,
    *,
    runs: RunOptions,
    shares: Annotated[
        str, typer.Option(help="Shares of the training data, in percent.")
    ] = "1,10,100",
    pictures: Annotated[
        Path | None, typer.Option(help="Also draw the curves, into this folder.")
    ] = None,
    output: Tables,
) -> None:
    """Train on shares of the data, with and without ELMo (Figure 1)."""
    from elmokit.analysis.experiments.sample_efficiency import (
        efficiency_pictures,
        efficiency_table,
        parse_shares,
        sample_efficiency,
    )
    from elmokit.analysis.output.pictures import write_pictures
    from elmokit.analysis.output.results import say_written

    grid = runs.grid(tasks)
    wanted = parse_shares(shares)
    results = [sample_efficiency(grid, task, wanted, runs.jobs) for task in tasks]
    output.present(results, [efficiency_table(results)])
    if pictures is not None:
        write_pictures(efficiency_pictures(results), pictures)
        say_written(pictures)


@analyse.command()
@with_groups
def mixes(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Folders of runs of `analyse`, or of `task train`."),
    ],
    variant: Annotated[
        str, typer.Option(help="Which runs of `analyse` to read: input + output, elmo ...")
    ] = "input + output",
    *,
    output: Output,
) -> None:
    """Show the layer weights and gamma that each trained task learned (Figure 2)."""
    from elmokit.analysis.experiments.mix_weights import mix_picture, mix_table, read_mixes

    result = read_mixes(folders, variant)
    output.present(result, [mix_table(result)], lambda: mix_picture(result))


@analyse.command()
@with_groups
def transfer(
    tasks: Tasks,
    *,
    runs: RunOptions,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            metavar="train.NAME=VALUE", help="Change a setting of the fine-tuning; may be repeated."
        ),
    ] = None,
    output: Tables,
) -> None:
    """Fine-tune the model on a task's text: its perplexity and the task, before and after."""
    from elmokit.analysis.experiments.transfer import domain_transfer, transfer_table

    grid = runs.grid(tasks)
    results = [domain_transfer(grid, task, tune or (), runs.jobs) for task in tasks]
    output.present(results, [transfer_table(results)])
