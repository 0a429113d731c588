"""The report: every analysis on one page."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Annotated, Any, get_args

import typer

from elmokit.analysis.report.config import ReportConfig, setting_of
from elmokit.cli import ANALYSE, app


def _as_parameter(of: "Field[Any]") -> inspect.Parameter:
    """A field of ``ReportConfig`` as typer reads an option."""
    setting = setting_of(of)
    kind, default = get_args(of.type)[0], of.default
    if setting.is_repeated:
        kind, default = list[str] | None, None
    elif setting.parse is not None:
        kind, default = str, setting.show(of.default)
    option = typer.Option(
        *setting.flags, help=setting.help, metavar=setting.metavar, min=setting.min
    )
    return inspect.Parameter(
        of.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, option],
    )


def _from_options(given: dict[str, Any]) -> ReportConfig:
    """Take the options of ``ReportConfig`` out of all given options."""
    values = {}
    for each in fields(ReportConfig):
        setting, value = setting_of(each), given.pop(each.name)
        parse = setting.parse or (lambda text: text)
        if setting.is_repeated:
            value = tuple(map(parse, value or ()))
        elif setting.parse is not None:
            value = parse(value)
        values[each.name] = value
    return ReportConfig(**values)


def with_report_options(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the parameter ``config: ReportConfig`` of a command into options, for typer."""

    @functools.wraps(command)
    def call(**given: Any) -> None:
        command(config=_from_options(given), **given)

    own = [p for p in inspect.signature(command).parameters.values() if p.name != "config"]
    by_name = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own]
    settings = map(_as_parameter, fields(ReportConfig))
    call.__signature__ = inspect.Signature([*settings, *by_name])  # type: ignore[attr-defined]
    return call


@app.command(rich_help_panel=ANALYSE)
@with_report_options
def report(
    config: ReportConfig,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Compute only these sections: demo, perplexity, senses, pos, neighbours, "
            "occurrences, tasks, layers, places, efficiency, mixes, transfer. 'none' writes the "
            "page from stored results. May be repeated. Default: all.",
        ),
    ] = None,
) -> None:
    """Compute the paper's tables and figures, and write them as one page.

    Sections that are already stored in the folder are not computed again.
    """
    from elmokit.analysis.report.make import make_report

    names = [name for given in only or () for name in given.split(",") if name]
    result = make_report(config, None if names == ["none"] else names)
    for name, reason in result.left_out.items():
        typer.echo(f"left out: {name} ({reason})")
    if result.of_another_model:
        typer.echo(f"of another model, not shown: {', '.join(result.of_another_model)}")
    typer.echo(f"{result.page}: {', '.join(result.done) or 'no sections'}")
