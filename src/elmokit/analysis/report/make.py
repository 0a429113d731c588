"""``elmokit report``: computes the missing sections, then writes a page of all sections.

OUT/report.html          self-contained: figures inside
    report.md            the same tables in Markdown, with the figures beside it
    figures/             PNG and SVG
    results/             the result of each section: an interrupted report resumes from here
    runs/                task runs: TASK with the recipe as it is, TASK-... with other settings
    index/               the index for neighbours
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.output.results import FORMER_NAMES, Provenance, load_result, save_result
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.layer_sections import LAYER_SECTIONS
from elmokit.analysis.report.page import PageWriter
from elmokit.analysis.report.section import Section
from elmokit.analysis.report.task_sections import TASK_SECTIONS
from elmokit.errors import InputError, in_one_sentence, missing_extra
from elmokit.recipe import to_plain

SECTIONS: dict[str, Section] = {
    section.name: section for section in (*LAYER_SECTIONS, *TASK_SECTIONS)
}
"""By name, in the order of a report."""


def find_sections(names: Sequence[str]) -> list[Section]:
    """Sections by name (former names too), in the order of a report; () means all."""
    today = {former: name for name, former in FORMER_NAMES.items()}
    wanted = {today.get(name, name) for name in names}
    for name in sorted(wanted):
        if name not in SECTIONS:
            raise InputError(f"unknown section {name!r}; the sections are {', '.join(SECTIONS)}")
    return [section for name, section in SECTIONS.items() if not wanted or name in wanted]


class ReportResult(NamedTuple):
    """What ``make_report`` did."""

    page: Path
    done: list[str]
    left_out: dict[str, str]
    """Sections that were asked for but could not be computed, and why."""
    of_another_model: list[str]
    """Sections that are stored in the folder for another model, and not shown."""


def make_report(
    config: ReportConfig, sections: Sequence[str] | None = (), quiet: bool = False
) -> ReportResult:
    """Compute the requested sections that are missing, then write the page of all sections.

    ``sections``: their names; () means all, None computes nothing.
    """
    _require_jinja()
    config.check()
    wanted = [] if sections is None else find_sections(sections)
    needs_softmax = any(section.needs_softmax and not section.needs(config) for section in wanted)
    models = Models(config.device, needs_softmax)  # each model is opened once for all sections
    encoder = models.encoder(config.model)
    fingerprint = encoder.fingerprint
    command = config.command(sections)
    writer = PageWriter(config.out, SECTIONS, encoder.name, fingerprint, command)
    left_out: dict[str, str] = {}
    for section in wanted:
        provenance = _provenance(section, config, fingerprint)
        stored = load_result(config.out, section.name)
        if stored is not None and stored.provenance.as_key() == provenance.as_key():
            continue
        lacking = section.needs(config)
        if lacking:
            left_out[section.name] = lacking
            continue
        started = _cpu_seconds()
        try:
            result = section.compute(config, models, quiet)
        except (InputError, OSError) as error:
            left_out[section.name] = in_one_sentence(error)
            continue
        cost = _cpu_seconds() - started
        save_result(config.out, section.command(config), provenance, result, cost)
        writer.write(left_out)
    pages = writer.write(left_out)
    done = [page.section.name for page in pages.shown]
    return ReportResult(config.out / "report.html", done, left_out, pages.of_another_model)


def _provenance(section: Section, config: ReportConfig, fingerprint: str) -> Provenance:
    """The model, and every setting that the section depends on."""
    settings = {name: to_plain(getattr(config, name)) for name in section.depends_on}
    return Provenance(section.name, fingerprint, settings)


def _cpu_seconds() -> float:
    """CPU time of this process and of its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _require_jinja() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise missing_extra("jinja2", "analysis", "a report") from None
