"""``elmokit report``: every table and figure of the paper's analysis, on one page.

OUT/report.html      self-contained: figures inside
    report.md        the same tables in Markdown; figures beside it
    figures/         PNG and SVG
    results/         what was computed, section by section: a killed report goes on from here
    runs/, index/    task runs and the index of neighbours
"""

import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import elmokit
from elmokit.analysis.encoders import open_encoder
from elmokit.analysis.findings import (
    Finding,
    all_layers_beat_the_last,
    context_helps_senses,
    context_helps_syntax,
    elmo_helps_every_task,
    elmo_needs_less_data,
    higher_layer_for_senses,
    input_favours_the_first_layer,
    lower_layer_for_syntax,
    lower_than_ngram,
    places_differ_by_task,
    tuning_lowers_perplexity,
)
from elmokit.analysis.pictures import Picture, can_draw, write_pictures
from elmokit.analysis.report_sections import (
    SECTIONS,
    ReportConfig,
    Section,
    find_sections,
)
from elmokit.analysis.results import load_result, plain, rebuild, save_result
from elmokit.analysis.summary import layers_table
from elmokit.analysis.tables import Table
from elmokit.errors import missing_extra
from elmokit.files import replacing_file

COST = "{:,.0f} CPU seconds in the sitting that finished it."


class Page(NamedTuple):
    """A section as it is shown."""

    section: Section
    command: str
    cpu_seconds: float
    tables: list[Table]
    pictures: list[Picture]


class Overview(NamedTuple):
    """What a report begins with."""

    model: str
    findings: list[Finding]
    summary: Table | None


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


def write_pages(out: Path, model: str) -> list[Page]:
    """The HTML page and the Markdown of every stored section."""
    pages, results = [], {}
    for name, section in SECTIONS.items():
        stored = load_result(out, name)
        if stored is None:
            continue
        results[name] = rebuild(section.kind, stored.value)
        exhibit = section.show(results[name])
        pictures = exhibit.pictures() if can_draw() else []
        write_pictures(pictures, out / "figures")
        pages.append(Page(section, stored.command, stored.cpu_seconds, exhibit.tables, pictures))
    overview = Overview(model, find_out(results, model), _summary(results))
    _write(out / "report.html", _html(pages, overview))
    _write(out / "report.md", _markdown(pages, overview))
    return pages


def _summary(results: dict[str, Any]) -> Table | None:
    """Where both probes have been run."""
    if "pos" not in results or "senses" not in results:
        return None
    return layers_table(results["pos"], results["senses"])


def find_out(results: dict[str, Any], model: str) -> list[Finding]:
    """The paper's findings for which there are numbers."""
    found = []
    if "tasks" in results:
        found.append(elmo_helps_every_task(results["tasks"]))
    if "pos" in results:
        found.append(lower_layer_for_syntax(results["pos"], model))
        found.append(context_helps_syntax(results["pos"], model))
    if "senses" in results:
        found.append(higher_layer_for_senses(results["senses"], model))
        found.append(context_helps_senses(results["senses"], model))
    if "layers" in results:
        found.append(all_layers_beat_the_last(results["layers"]))
    if "places" in results:
        found.append(places_differ_by_task(results["places"]))
    if "efficiency" in results:
        found.append(elmo_needs_less_data(results["efficiency"].results))
    if "mixes" in results:
        found.append(input_favours_the_first_layer(results["mixes"]))
    if "transfer" in results:
        found.append(tuning_lowers_perplexity(results["transfer"].results))
    if "perplexity" in results:
        found.append(lower_than_ngram(results["perplexity"]))
    return [finding for finding in found if finding is not None]


def _markdown(pages: list[Page], overview: Overview) -> str:
    parts = [f"# What the layers of {overview.model} know\n"]
    if overview.findings:
        rows = tuple((found.claim, found.verdict, found.evidence) for found in overview.findings)
        table = Table("The paper's findings", ("finding", "here", "numbers"), rows)
        parts.append(table.markdown())
    if overview.summary:
        parts.append(overview.summary.markdown())
    for page in pages:
        parts.append(f"## {page.section.title}\n")
        parts += [table.markdown() for table in page.tables]
        parts += [f"![{p.caption}](figures/{p.name}.png)\n\n{p.caption}\n" for p in page.pictures]
        parts.append(f"```\n{page.command}\n```\n")
        parts.append(f"{COST.format(page.cpu_seconds)}\n")
    return "\n".join(parts)


def _html(pages: list[Page], overview: Overview) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = _inline
    template = environment.get_template("report.html.jinja")
    return template.render(
        pages=pages, **overview._asdict(), cost=COST, version=elmokit.__version__
    )


def _inline(picture: Picture) -> str:
    encoded = base64.b64encode(picture.svg.encode()).decode()
    return f"data:image/svg+xml;base64,{encoded}"


def _write(path: Path, text: str) -> None:
    with replacing_file(path) as aside:
        aside.write_text(text, encoding="utf-8")


def _require_jinja() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise missing_extra("jinja2", "analysis", "a report") from None
