"""``elmokit report``: computes what is not there yet, then writes the page of all that is.

OUT/report.html          self-contained: figures inside
    report.md            the same tables in Markdown; figures beside it
    figures/             PNG and SVG
    results/             what was computed, section by section: a killed report goes on from here
    runs/                task runs: TASK as the recipe has it, TASK-... with other settings
    index/               of neighbours
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.encoders import open_encoder
from elmokit.analysis.report.commands import report_command
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.key import make_key
from elmokit.analysis.report.page import PageWriter
from elmokit.analysis.report.sections import find_sections
from elmokit.analysis.results import load_result, save_result
from elmokit.errors import InputError, in_one_sentence, missing_extra


class ReportResult(NamedTuple):
    page: Path
    done: list[str]
    left_out: dict[str, str]
    """Sections that were asked for but lack something or failed, and why."""
    of_another_model: list[str]
    """Stored in the folder, but not shown."""


def make_report(
    config: ReportConfig, sections: Sequence[str] | None = (), quiet: bool = False
) -> ReportResult:
    """Compute what is asked for and not there, then write the page of all that is there.

    ``sections``: names; () means all, None means that nothing is computed.
    """
    _require_jinja()
    config.check()
    encoder = open_encoder(config.model)
    command = report_command(config, sections)
    writer = PageWriter(config.out, encoder.name, encoder.fingerprint, command)
    left_out: dict[str, str] = {}
    for section in [] if sections is None else find_sections(sections):
        key = make_key(config, section, encoder.fingerprint)
        stored = load_result(config.out, section.name)
        if stored is not None and stored.key == key:
            continue
        lacking = section.needs(config)
        if lacking:
            left_out[section.name] = lacking
            continue
        started = _cpu_seconds()
        try:
            result = section.compute(config, quiet)
        except (InputError, OSError) as error:
            left_out[section.name] = in_one_sentence(error)
            continue
        cost = _cpu_seconds() - started
        save_result(config.out, section.name, section.command(config), key, result, cost)
        writer.write(left_out)
    pages = writer.write(left_out)
    done = [page.section.name for page in pages.shown]
    return ReportResult(config.out / "report.html", done, left_out, pages.of_another_model)


def _cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _require_jinja() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise missing_extra("jinja2", "analysis", "a report") from None
