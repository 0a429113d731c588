"""The page of a report: what is stored of each section, as HTML and Markdown."""

import base64
from pathlib import Path
from typing import Any, NamedTuple

import elmokit
from elmokit.analysis.pictures import Picture, can_draw, write_pictures
from elmokit.analysis.report.findings import Finding, find_out
from elmokit.analysis.report.section import Section
from elmokit.analysis.report.sections import SECTIONS
from elmokit.analysis.report.summary import layers_table
from elmokit.analysis.results import load_result, rebuild
from elmokit.analysis.tables import Table
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
