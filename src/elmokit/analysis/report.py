"""``elmokit report``: every table and figure of the paper's analysis, on one page.

OUT/report.html      self-contained: figures inside
    report.md        the same tables in Markdown; figures beside it
    figures/         PNG and SVG
    results/         what was computed, section by section: a killed report goes on from here
    runs/, index/    task runs and the index of neighbours
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import elmokit
from elmokit.analysis.encoders import open_encoder
from elmokit.analysis.findings import (
    Finding,
    all_layers_beat_the_last,
    elmo_needs_less_data,
    higher_layer_for_senses,
    input_favours_the_first_layer,
    lower_layer_for_syntax,
)
from elmokit.analysis.pictures import Picture, can_draw, write_pictures
from elmokit.analysis.report_sections import (
    SECTIONS,
    ReportConfig,
    Section,
    find_sections,
)
from elmokit.analysis.results import load_result, plain, rebuild, save_result
from elmokit.analysis.tables import Table
from elmokit.errors import missing_extra
from elmokit.files import replacing_file


class Page(NamedTuple):
    """A section as it is shown."""

    section: Section
    command: str
    tables: list[Table]
    pictures: list[Picture]


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
        result = section.compute(config, quiet)
        save_result(config.out, section.name, section.command(config), key, result)
        write_pages(config.out, encoder.name)
    pages = write_pages(config.out, encoder.name)
    done = [page.section.name for page in pages]
    return ReportResult(config.out / "report.html", done, left_out)


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
        pages.append(Page(section, stored.command, exhibit.tables, pictures))
    findings = find_out(results, model)
    _write(out / "report.html", _html(pages, findings, model))
    _write(out / "report.md", _markdown(pages, findings, model))
    return pages


def find_out(results: dict[str, Any], model: str) -> list[Finding]:
    """The paper's findings for which there are numbers."""
    found = []
    if "pos" in results:
        found.append(lower_layer_for_syntax(results["pos"], model))
    if "senses" in results:
        found.append(higher_layer_for_senses(results["senses"], model))
    if "layers" in results:
        found.append(all_layers_beat_the_last(results["layers"]))
    if "efficiency" in results:
        found.append(elmo_needs_less_data(results["efficiency"].results))
    if "mixes" in results:
        found.append(input_favours_the_first_layer(results["mixes"]))
    return [finding for finding in found if finding is not None]


def _markdown(pages: list[Page], findings: list[Finding], model: str) -> str:
    parts = [f"# What the layers of {model} know\n"]
    if findings:
        rows = tuple((finding.claim, finding.verdict, finding.evidence) for finding in findings)
        table = Table("The paper's findings", ("finding", "here", "numbers"), rows)
        parts.append(table.markdown())
    for page in pages:
        parts.append(f"## {page.section.title}\n")
        parts += [table.markdown() for table in page.tables]
        parts += [f"![{p.caption}](figures/{p.name}.png)\n\n{p.caption}\n" for p in page.pictures]
        parts.append(f"```\n{page.command}\n```\n")
    return "\n".join(parts)


def _html(pages: list[Page], findings: list[Finding], model: str) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = _inline
    template = environment.get_template("report.html.jinja")
    return template.render(pages=pages, findings=findings, model=model, version=elmokit.__version__)


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
