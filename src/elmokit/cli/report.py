"""The report: every analysis on one page."""

from pathlib import Path
from typing import Annotated

import typer

from elmokit.cli import app
from elmokit.cli.options import Model, SeenOption


@app.command()
def report(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the report.")],
    data: Annotated[
        Path, typer.Option(help="Folder with ewt, wsd, glove, nli ... unpacked in it.")
    ] = Path("data"),
    model: Model = "",
    only: Annotated[
        str,
        typer.Option(
            help="Sections to compute, separated by commas: demo, perplexity, senses, pos, "
            "neighbours, uses, tasks, layers, places, efficiency, mixes, transfer; 'none' writes "
            "the page from what is there. Default: all."
        ),
    ] = "",
    corpus: Annotated[
        Path | None, typer.Option(help="Folder of `elmokit prepare`, for perplexity.")
    ] = None,
    seen: SeenOption = None,
    text: Annotated[
        list[str] | None, typer.Option(help="Plain text, for neighbours; may be given again.")
    ] = None,
    text_tokens: Annotated[
        int, typer.Option(min=1, help="At most so many tokens of the text, from its start.")
    ] = 1_000_000,
    word: Annotated[str, typer.Option(help="Whose uses are drawn.")] = "play",
    table1_tasks: Annotated[str, typer.Option(help="For Table 1.")] = (
        "squad,entailment,srl,coref,ner,sentiment"
    ),
    table1_seeds: Annotated[
        int | None, typer.Option(help="Runs of each kind in Table 1; default: by task.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="For Tables 2 and 3, figures and transfer.")] = (
        "entailment,srl"
    ),
    shares: Annotated[str, typer.Option(help="Of Figure 1, in percent.")] = "1,10,100",
    recipe: Annotated[str, typer.Option(help="cpu or paper.")] = "cpu",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="TASK:TABLE.NAME=VALUE, as in srl:data.train_limit=3000; not for Table 1.",
        ),
    ] = None,
    tune: Annotated[
        list[str] | None, typer.Option(help="train.NAME=VALUE, for the transfer's fine-tuning.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Runs of each kind elsewhere; default: by task.")
    ] = None,
    minutes: Annotated[float, typer.Option(help="At most so long a run; 0: the recipe's.")] = 0.0,
    layer_norm: Annotated[bool, typer.Option(help="Table 2 with layer norm too.")] = False,
    jobs: Annotated[int, typer.Option(help="Task runs at a time.")] = 1,
    train_sentences: Annotated[int | None, typer.Option(help="Of the POS probe.")] = None,
    semcor_sentences: Annotated[int | None, typer.Option(help="Of the senses.")] = None,
) -> None:
    """Compute what is not there yet, and write one page of it all."""
    from elmokit.analysis.kneser_ney import parse_seen
    from elmokit.analysis.report.config import ReportConfig, parse_task_settings
    from elmokit.analysis.report.make import make_report
    from elmokit.analysis.sample_efficiency import parse_shares

    config = ReportConfig(
        out=out,
        data=data,
        model=model,
        corpus=corpus,
        seen=tuple(map(parse_seen, seen or ())),
        text=tuple(text or ()),
        text_tokens=text_tokens,
        word=word,
        table1_tasks=tuple(table1_tasks.split(",")),
        table1_seeds=table1_seeds,
        tasks=tuple(tasks.split(",")),
        shares=parse_shares(shares),
        recipe=recipe,
        task_settings=parse_task_settings(settings or ()),
        tune=tuple(tune or ()),
        seeds=seeds,
        max_minutes=minutes,
        jobs=jobs,
        has_layer_norm=layer_norm,
        train_sentences=train_sentences,
        semcor_sentences=semcor_sentences,
    )
    result = make_report(config, None if only == "none" else [n for n in only.split(",") if n])
    for name, reason in result.left_out.items():
        typer.echo(f"left out: {name} ({reason})")
    if result.of_another_model:
        typer.echo(f"of another model, not shown: {', '.join(result.of_another_model)}")
    typer.echo(f"{result.page}: {', '.join(result.done)}")
