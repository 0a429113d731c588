"""The page of a report: what is stored of each section, as HTML and Markdown."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import elmokit
from elmokit.analysis.pictures import Picture, can_draw, write_pictures
from elmokit.analysis.report.findings import Finding, find_out
from elmokit.analysis.report.key import fingerprint_of
from elmokit.analysis.report.section import Section
from elmokit.analysis.report.sections import SECTIONS
from elmokit.analysis.report.summary import layers_table
from elmokit.analysis.results import Stored, load_result, rebuild
from elmokit.analysis.tables import Table
from elmokit.errors import InputError
from elmokit.files import replacing_file

COST = "{:,.0f} CPU seconds in the sitting that finished it."
OTHERS = "Of another model, not shown:"
LEFT_OUT = "Asked for, but not here:"


class Page(NamedTuple):
    """A section as it is shown."""

    section: Section
    result: Any
    command: str
    cpu_seconds: float
    tables: list[Table]
    pictures: list[Picture]


class Pages(NamedTuple):
    shown: list[Page]
    of_another_model: list[str]
    """Names of sections that are stored, but of a model that is not this one."""


class Overview(NamedTuple):
    """What a report begins with."""

    model: str
    command: str
    """That has written the page last."""
    findings: list[Finding]
    summary: Table | None
    of_another_model: list[str]
    left_out: list[str]
    """Sections that lack something or failed, and why."""


class PageWriter:
    """Writes what is stored of a model, as often as it is told to; draws each figure once."""

    def __init__(self, out: Path, model: str, fingerprint: str, command: str) -> None:
        self.out = out
        self.model = model
        self.command = command
        self.fingerprint = fingerprint
        self._drawn: dict[str, Page] = {}
        """By key."""

    def write(self, left_out: Mapping[str, str]) -> Pages:
        """The HTML page and the Markdown; ``left_out``: by section, why it is not among them."""
        pages = self._read()
        results = {page.section.name: page.result for page in pages.shown}
        overview = Overview(
            self.model,
            self.command,
            find_out(results, self.model),
            _summary(results),
            pages.of_another_model,
            [f"{name} ({why})" for name, why in left_out.items() if name not in results],
        )
        _write(self.out / "report.html", _html(pages.shown, overview))
        _write(self.out / "report.md", _markdown(pages.shown, overview))
        return pages

    def _read(self) -> Pages:
        shown, others = [], []
        for name, section in SECTIONS.items():
            stored = load_result(self.out, name)
            if stored is None:
                continue
            if fingerprint_of(stored.key) != self.fingerprint:
                others.append(name)
                continue
            if stored.key not in self._drawn:
                self._drawn[stored.key] = self._draw(section, stored)
            shown.append(self._drawn[stored.key])
        return Pages(shown, others)

    def _draw(self, section: Section, stored: Stored) -> Page:
        result = self._rebuild(section, stored)
        exhibit = section.show(result)
        pictures = exhibit.pictures() if can_draw() else []
        write_pictures(pictures, self.out / "figures")
        return Page(section, result, stored.command, stored.cpu_seconds, exhibit.tables, pictures)

    def _rebuild(self, section: Section, stored: Stored) -> Any:
        try:
            return rebuild(section.kind, stored.value)
        except (TypeError, KeyError):
            path = self.out / "results" / f"{section.name}.json"
            raise InputError(f"{path}: stored by another version of elmokit; delete it") from None


def _summary(results: dict[str, Any]) -> Table | None:
    """Where both probes have been run."""
    if "pos" not in results or "senses" not in results:
        return None
    return layers_table(results["pos"], results["senses"])


def _markdown(pages: list[Page], overview: Overview) -> str:
    parts = [f"# What the layers of {overview.model} know\n"]
    parts.append(f"```\n{overview.command}\n```\n")
    if overview.findings:
        rows = tuple((found.claim, found.verdict, found.evidence) for found in overview.findings)
        table = Table("The paper's findings", ("finding", "here", "numbers"), rows)
        parts.append(table.markdown())
    if overview.summary:
        parts.append(overview.summary.markdown())
    if overview.of_another_model:
        parts.append(f"{OTHERS} {', '.join(overview.of_another_model)}.\n")
    if overview.left_out:
        parts.append(f"{LEFT_OUT} {'; '.join(overview.left_out)}.\n")
    for page in pages:
        parts.append(f"## {page.section.title}\n")
        parts += [table.markdown() for table in page.tables]
        parts += [f"![{p.alt}](figures/{p.name}.png)\n\n{p.caption}\n" for p in page.pictures]
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
        pages=pages,
        **overview._asdict(),
        others=OTHERS,
        absent=LEFT_OUT,
        cost=COST,
        version=elmokit.__version__,
    )


def _inline(picture: Picture) -> str:
    encoded = base64.b64encode(picture.svg.encode()).decode()
    return f"data:image/svg+xml;base64,{encoded}"


def _write(path: Path, text: str) -> None:
    with replacing_file(path) as aside:
        aside.write_text(text, encoding="utf-8")
