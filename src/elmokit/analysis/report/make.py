"""``elmokit report``: computes what is not there yet, then writes the page of all that is.

OUT/report.html          self-contained: figures inside
    report.md            the same tables in Markdown; figures beside it
    figures/             PNG and SVG
    results/             what was computed, section by section: a killed report goes on from here
    runs/, table1/       task runs
    index/               of neighbours
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis.encoders import open_encoder
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.report.page import write_pages
from elmokit.analysis.report.section import Section
from elmokit.analysis.report.sections import find_sections
from elmokit.analysis.results import load_result, plain, save_result
from elmokit.errors import missing_extra


class ReportResult(NamedTuple):
    page: Path
    done: list[str]
    left_out: dict[str, str]
    """Sections that were asked for but lack something, and what."""


def make_report(
    config: ReportConfig, sections: Sequence[str] | None = (), quiet: bool = False
) -> ReportResult:
    """Compute what is asked for and not there, then write the page of all that is there.

    ``sections``: names; () means all, None means that nothing is computed.
    """
    _require_jinja()
    encoder = open_encoder(config.model)
    left_out = {}
    for section in [] if sections is None else find_sections(sections):
        key = _key(config, section, encoder.fingerprint)
        stored = load_result(config.out, section.name)
        if stored is not None and stored.key == key:
            continue
        lacking = section.needs(config)
        if lacking:
            left_out[section.name] = lacking
            continue
        started = _cpu_seconds()
        result = section.compute(config, quiet)
        cost = _cpu_seconds() - started
        save_result(config.out, section.name, section.command(config), key, result, cost)
        write_pages(config.out, encoder.name)
    pages = write_pages(config.out, encoder.name)
    done = [page.section.name for page in pages]
    return ReportResult(config.out / "report.html", done, left_out)


def _cpu_seconds() -> float:
    """Of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _key(config: ReportConfig, section: Section, fingerprint: str) -> str:
    """Whatever the result depends on; stored with it, and compared the next time."""
    parts = {name: plain(getattr(config, name)) for name in section.depends_on}
    return json.dumps([section.name, fingerprint, parts], default=str, sort_keys=True)


def _require_jinja() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise missing_extra("jinja2", "analysis", "a report") from None
