"""Commands on training: train, finetune, perplexity, predict, export, plot."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from elmokit.cli import PRETRAIN, app
from elmokit.cli.former_options import JsonMayStandAlone
from elmokit.cli.model_first import ModelOption, model_and_text
from elmokit.cli.options import (
    Compute,
    Device,
    Json,
    Markdown,
    ModelFormat,
    NativeFloat16,
    print_json,
    with_groups,
    write_json_file,
)
from elmokit.weights.names import DEFAULT_MODEL

Data = Annotated[Path, typer.Option("--data", help="Folder made by `elmokit prepare`.")]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="TABLE.NAME=VALUE", help="Change a setting of the recipe; may be repeated."
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Name or path of a model.")]


@app.command(rich_help_panel=PRETRAIN)
def train(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="RECIPE", help="tiny, small, original, or a .toml file."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder made by `elmokit prepare`.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the run.")] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="RUN", help="Resume this run after it was stopped or killed."
        ),
    ] = None,
    changes: Changes = None,
    device: Device = "cpu",
) -> None:
    """Train a biLM: both directions jointly, from a recipe and a prepared corpus."""
    from elmokit.pretrain.training.run import train_or_resume

    result = train_or_resume(recipe, data, out, resume, changes or [], device)
    if result.is_main and result.perplexity is not None:
        run = resume or out
        _say(f"trained on {result.tokens:,} tokens; the run is in {run}")
        _say(f"next:  elmokit plot {run} -o curve.png  and  elmokit export {run} MODEL")


@app.command(rich_help_panel=PRETRAIN)
def finetune(
    data: Data,
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the tuned model.")],
    model: Model = DEFAULT_MODEL,
    changes: Changes = None,
    device: Device = "cpu",
) -> None:
    """Fine-tune a model on the text of a domain; prints the perplexity before and after."""
    from elmokit.pretrain.finetune import finetune as run

    result = run(Compute().language_model(model), data, out, changes or [], device)
    if result.fitted_words:
        print(f"{result.fitted_words:,} softmax rows were new and fitted first, all else frozen")
    print(f"before: {result.before}")
    print(f"after:  {result.after}")
    _say(f"wrote the tuned model to {out} and its run to {out}.run")
    _say(f"next:  elmokit embed TEXT -o vectors.h5 --model {out}")


@app.command(cls=JsonMayStandAlone, rich_help_panel=PRETRAIN)
def perplexity(
    data: Data,
    model: Model = DEFAULT_MODEL,
    part: Annotated[
        Literal["heldout", "train"], typer.Option("--part", help="Which part of the corpus.")
    ] = "heldout",
    start: Annotated[
        Literal["fresh", "carried"],
        typer.Option(
            "--start",
            help="Initial state of each sentence: zeros, or the state after the previous one.",
        ),
    ] = "fresh",
    by_kind: Annotated[
        bool,
        typer.Option("--by-kind/--all", help="One row per kind of text, or all text together."),
    ] = True,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens", min=1, help="Measure on a sample of about this size; default: all text."
        ),
    ] = None,
    json: Json = None,
    markdown: Markdown = False,
    device: Device = "cpu",
) -> None:
    """Measure perplexity by the full softmax: forward, backward and mean; bits per character.

    MODEL needs a softmax over the corpus's vocabulary. To measure another model on the same text,
    prepare the text again with `--vocabulary MODEL` and compare bits per character.
    """
    from elmokit.analysis.output.tables import Table, print_tables
    from elmokit.pretrain.perplexity import HEADER, perplexity_by_kind

    loaded = Compute(device).language_model(model)
    found = perplexity_by_kind(loaded, data, part, start, max_tokens)
    if print_json(found.to_plain(by_kind), json, indent=2):
        return
    if by_kind and len(found.kinds) > 1:
        title = f"Perplexity on the {part} part of {data}"
        print_tables([Table(title, HEADER, found.rows())], markdown)
    print(found.overall)
    print(f"{found.overall.bits_per_character:.3f} bits per character")
    write_json_file(found.to_plain(by_kind), json)


@app.command(rich_help_panel=PRETRAIN)
@with_groups
def predict(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL] TEXT", help="A sentence with a blank: ___"),
    ],
    model: ModelOption = None,
    top: Annotated[int, typer.Option("-n", "--top", min=1, help="Number of words to print.")] = 10,
    *,
    compute: Compute,
) -> None:
    """Predict the word in a blank: from the words before it, after it, and both."""
    from elmokit.pretrain.predict import predict as run

    name, text = model_and_text(words, model)
    found = run(compute.language_model(name), text, top)
    print("".join(f"{title:<28}" for title in ("both directions", "next word", "previous word")))
    for row in zip(found.combined, found.forward, found.backward, strict=True):
        print("".join(f"{g.word:<18.18}{g.log_probability:>8.2f}  " for g in row))


@app.command(rich_help_panel=PRETRAIN)
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a training run.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the model.")],
    format: Annotated[
        ModelFormat,
        typer.Option("--format", help="native (safetensors) or bilm-tf (HDF5)."),
    ] = "native",
    to: Annotated[str | None, typer.Option("--to", hidden=True)] = None,
    which: Annotated[
        Literal["best", "latest"], typer.Option("--which", help="Which checkpoint to export.")
    ] = "best",
    float16: NativeFloat16 = False,
    card: Annotated[
        list[str] | None,
        typer.Option(
            "--card",
            metavar="NAME=TEXT",
            help="A fact to store with the model: licence, corpus ...; may be repeated.",
        ),
    ] = None,
) -> None:
    """Write the model of a run as a folder that others can load."""
    from elmokit.pretrain.export import as_format
    from elmokit.pretrain.export import export as write

    chosen = as_format(to or format)
    model = write(run, out, chosen, which, "float16" if float16 else "float32", card or [])
    _say(f"wrote the model after {int(model.card['tokens_seen']):,} tokens to {out}")
    _say(f"next:  elmokit info {out}  and  elmokit embed TEXT -o vectors.h5 --model {out}")


@app.command(rich_help_panel=PRETRAIN)
def plot(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Folder of a training run, or its log.jsonl; add the runs that continued it.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Picture to write: .png, .svg or .pdf.")
    ] = Path("run.png"),
) -> None:
    """Plot a run's perplexity, loss and learning rate."""
    from elmokit.pretrain.plot import plot_runs

    plot_runs(runs, out)
    _say(f"wrote {out}")


def _say(line: str) -> None:
    """Tell the user, on standard error, what was written and what to do next."""
    typer.echo(line, err=True)
