"""Commands that look into the layers: ``elmokit analyse NAME``, one per table or figure."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import ANALYSE, app
from elmokit.cli.former_options import accepting
from elmokit.cli.options import (
    Device,
    Json,
    Markdown,
    Picture,
    PrecisionOption,
    RunOptions,
    SeenOption,
    with_run_options,
)
from elmokit.weights.names import DEFAULT_MODEL

analyse = typer.Typer(help="The paper's analysis, one command per table or figure.")
app.add_typer(analyse, name="analyse", no_args_is_help=True, rich_help_panel=ANALYSE)

Encoders = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MODEL...",
        help="Names or paths of models; each becomes rows of the table. Also carried:MODEL, "
        "untrained:MODEL[:SEED], mean:MODEL, plus-mean:MODEL, static:VECTORS and "
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
    typer.Argument(metavar="TASK...", help="ner, sentiment, entailment, srl, coref or squad."),
]
FORMER_CACHE = {"--keep": "--cache"}


@analyse.command(cls=accepting(FORMER_CACHE))
def pos(
    models: Encoders = None,
    *,
    data: Annotated[Path, typer.Option(help="Folder of *-{train,dev,test}.conllu with XPOS tags.")],
    train_sentences: Annotated[
        int | None, typer.Option(help="Use fewer training sentences, for a quick result.")
    ] = None,
    cache: Cache = None,
    picture: Picture = None,
    json: Json = None,
    markdown: Markdown = False,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
) -> None:
    """Probe each frozen layer for part of speech with a linear classifier (Table 6)."""
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.output.results import present
    from elmokit.analysis.probes.part_of_speech import (
        part_of_speech_probe,
        pos_picture,
        pos_table,
        read_pos_data,
    )

    encoders = Models(device, precision=precision).encoders(models or [DEFAULT_MODEL])
    result = part_of_speech_probe(encoders, read_pos_data(data, train_sentences), cache=cache)
    present(result, [pos_table(result)], json, picture, lambda: pos_picture(result), markdown)


@analyse.command(cls=accepting(FORMER_CACHE))
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
    picture: Picture = None,
    json: Json = None,
    markdown: Markdown = False,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
) -> None:
    """Disambiguate words by the nearest mean vector of a SemCor sense (Table 5)."""
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.output.results import present
    from elmokit.analysis.probes.senses import (
        read_sense_data,
        senses_picture,
        senses_table,
        word_senses,
    )

    encoders = Models(device, precision=precision).encoders(models or [DEFAULT_MODEL])
    wanted = read_sense_data(data, sets.split(","))
    result = word_senses(encoders, wanted, semcor_sentences, cache=cache)
    present(result, [senses_table(result)], json, picture, lambda: senses_picture(result), markdown)


@analyse.command()
def sense_separation(
    models: Encoders = None,
    *,
    data: Annotated[Path, typer.Option(help="Folder with semcor30 and wordnet30.")],
    per_sense: Annotated[
        int,
        typer.Option(min=2, help="Occurrences sampled per sense; lemmas with fewer are left out."),
    ] = 8,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    picture: Picture = None,
    json: Json = None,
    markdown: Markdown = False,
    device: Device = "cpu",
    precision: PrecisionOption = "float32",
) -> None:
    """Measure how well each layer separates the two main senses of SemCor's nouns and verbs.

    Meant for choosing between models: SemCor is development data, no evaluation set is read.
    """
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.output.results import present
    from elmokit.analysis.probes.sense_separation import (
        read_separation_data,
        separation_picture,
        separation_table,
    )
    from elmokit.analysis.probes.sense_separation import sense_separation as run

    encoders = Models(device, precision=precision).encoders(models or [DEFAULT_MODEL])
    result = run(encoders, read_separation_data(data), per_sense, seed)
    table = separation_table(result)
    present(result, [table], json, picture, lambda: separation_picture(result), markdown)


analyse.command("homonyms", hidden=True)(sense_separation)


@analyse.command()
def perplexity(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL...",
            help=f"Names or paths of models that have a softmax. Default: {DEFAULT_MODEL}.",
            show_default=False,
        ),
    ] = None,
    *,
    corpus: Annotated[Path, typer.Option(help="Folder made by `elmokit prepare`.")],
    order: Annotated[int, typer.Option(help="Order of the n-gram model.")] = 5,
    seen: SeenOption = None,
    json: Json = None,
    markdown: Markdown = False,
    device: Device = "cpu",
) -> None:
    """Measure perplexity on held-out text, compared with a Kneser-Ney n-gram model."""
    from elmokit.analysis.encoders.opening import Models
    from elmokit.analysis.lm.kneser_ney import parse_seen
    from elmokit.analysis.lm.perplexities import perplexities, perplexity_table
    from elmokit.analysis.output.results import present

    runs = tuple(map(parse_seen, seen or ()))
    opened = Models(device, need_softmax=True)
    result = perplexities(models or [DEFAULT_MODEL], corpus, order, runs, opened=opened)
    present(result, [perplexity_table(result)], json, markdown=markdown)


@analyse.command()
@with_run_options
def tasks(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="Which tasks. Default: all six.", metavar="TASK...")
    ] = None,
    *,
    runs: RunOptions,
    picture: Picture = None,
    json: Json = None,
    markdown: Markdown = False,
) -> None:
    """Train and test every task with and without ELMo (Table 1)."""
    from elmokit.analysis import paper
    from elmokit.analysis.experiments.table1 import six_tasks, six_tasks_picture, six_tasks_table
    from elmokit.analysis.output.results import present

    result = six_tasks(runs.grid(tasks or list(paper.TASKS)), runs.jobs)
    table = six_tasks_table(result)
    present(result, [table], json, picture, lambda: six_tasks_picture(result), markdown)


@analyse.command()
@with_run_options
def layers(
    tasks: Tasks,
    runs: RunOptions,
    layer_norm: Annotated[bool, typer.Option(help="Add columns with layer normalisation.")] = False,
    json: Json = None,
    markdown: Markdown = False,
) -> None:
    """Compare layers: the last, their average, and all with lambda 1 and 0.001 (Table 2)."""
    from elmokit.analysis.experiments.layers import LAYERS, NORMALISED, grid_table
    from elmokit.analysis.experiments.runs import do_runs
    from elmokit.analysis.output.results import present

    variants = (*LAYERS, *NORMALISED) if layer_norm else LAYERS
    result = do_runs(runs.grid(tasks), variants, runs.jobs)
    present(result, [grid_table(result, "Which layers (Table 2)")], json, markdown=markdown)


@analyse.command()
@with_run_options
def places(tasks: Tasks, runs: RunOptions, json: Json = None, markdown: Markdown = False) -> None:
    """Compare places for ELMo: at the input, at the output, and at both (Table 3)."""
    from elmokit.analysis.experiments.layers import PLACES, grid_table
    from elmokit.analysis.experiments.runs import do_runs
    from elmokit.analysis.output.results import present

    result = do_runs(runs.grid(tasks), PLACES, runs.jobs)
    present(result, [grid_table(result, "Which places (Table 3)")], json, markdown=markdown)


@analyse.command()
@with_run_options
def efficiency(
    tasks: Tasks,
    runs: RunOptions,
    shares: Annotated[
        str, typer.Option(help="Shares of the training data, in percent.")
    ] = "0.1,1,10,100",
    pictures: Annotated[
        Path | None, typer.Option(help="Also draw the curves, into this folder.")
    ] = None,
    json: Json = None,
    markdown: Markdown = False,
) -> None:
    """Train on shares of the data, with and without ELMo (Figure 1)."""
    from elmokit.analysis.experiments.sample_efficiency import (
        efficiency_pictures,
        efficiency_table,
        parse_shares,
        sample_efficiency,
    )
    from elmokit.analysis.output.pictures import write_pictures
    from elmokit.analysis.output.results import present, say_written

    grid = runs.grid(tasks)
    wanted = parse_shares(shares)
    results = [sample_efficiency(grid, task, wanted, runs.jobs) for task in tasks]
    present(results, [efficiency_table(results)], json, markdown=markdown)
    if pictures is not None:
        write_pictures(efficiency_pictures(results), pictures)
        say_written(pictures)


@analyse.command()
def mixes(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of runs of `analyse`, or of `task train`.")
    ],
    variant: Annotated[
        str, typer.Option(help="Which runs of `analyse` to read: input + output, elmo ...")
    ] = "input + output",
    picture: Picture = None,
    json: Json = None,
    markdown: Markdown = False,
) -> None:
    """Show the layer weights and gamma that each trained task learned (Figure 2)."""
    from elmokit.analysis.experiments.mix_weights import mix_picture, mix_table, read_mixes
    from elmokit.analysis.output.results import present

    result = read_mixes(folders, variant)
    present(result, [mix_table(result)], json, picture, lambda: mix_picture(result), markdown)


@analyse.command()
@with_run_options
def transfer(
    tasks: Tasks,
    runs: RunOptions,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            metavar="train.NAME=VALUE", help="Change a setting of the fine-tuning; may be repeated."
        ),
    ] = None,
    json: Json = None,
    markdown: Markdown = False,
) -> None:
    """Fine-tune the model on a task's text: its perplexity and the task, before and after."""
    from elmokit.analysis.experiments.transfer import domain_transfer, transfer_table
    from elmokit.analysis.output.results import present

    grid = runs.grid(tasks)
    results = [domain_transfer(grid, task, tune or (), runs.jobs) for task in tasks]
    present(results, [transfer_table(results)], json, markdown=markdown)
