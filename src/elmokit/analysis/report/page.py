"""The page of a report: the stored sections as HTML and Markdown."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import elmokit
from elmokit.analysis.encoders.encoder import row_name
from elmokit.analysis.output.pictures import Picture, write_pictures
from elmokit.analysis.output.results import Stored, load_result, result_path
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.analysis.probes.part_of_speech import PosResult
from elmokit.analysis.probes.senses import SensesResult
from elmokit.analysis.report.findings import Finding, find_out
from elmokit.analysis.report.section import Section
from elmokit.errors import InputError
from elmokit.figures import can_draw
from elmokit.files import replacing_file
from elmokit.recipe import from_plain

COST = "{:,.0f} CPU seconds in the session that finished it."
OTHERS = "Of another model, not shown:"
LEFT_OUT = "Asked for, but not here:"
POS_GROUPS = ("all", "covered")
SENSE_SETS = ("ALL", "four")


class Page(NamedTuple):
    """A section as it is shown."""

    section: Section
    result: Any
    command: str
    cpu_seconds: float
    tables: list[Table]
    pictures: list[Picture]


class Pages(NamedTuple):
    """All stored sections."""

    shown: list[Page]
    of_another_model: list[str]
    """Names of sections that are stored, but for another model."""


class Overview(NamedTuple):
    """The beginning of a report."""

    model: str
    command: str
    """The command that last wrote the page."""
    findings: list[Finding]
    summary: Table | None
    of_another_model: list[str]
    left_out: list[str]
    """Sections that could not be computed, and why."""


class PageWriter:
    """Writes the stored sections of a model, any number of times; draws each figure once."""

    def __init__(
        self,
        out: Path,
        sections: Mapping[str, Section],
        model: str,
        fingerprint: str,
        command: str,
    ) -> None:
        self.out = out
        self.sections = sections
        self.model = model
        self.command = command
        self.fingerprint = fingerprint
        self._drawn: dict[str, Page] = {}  # by provenance

    def write(self, left_out: Mapping[str, str]) -> Pages:
        """Write the HTML page and the Markdown; ``left_out``: by section, why it is missing."""
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
        for name, section in self.sections.items():
            stored = load_result(self.out, name)
            if stored is None:
                continue
            if stored.provenance.fingerprint != self.fingerprint:
                others.append(name)
                continue
            key = stored.provenance.as_key()
            if key not in self._drawn:
                self._drawn[key] = self._draw(section, stored)
            shown.append(self._drawn[key])
        return Pages(shown, others)

    def _draw(self, section: Section, stored: Stored) -> Page:
        result = self._rebuild(section, stored)
        exhibit = section.show(result)
        pictures = exhibit.pictures() if can_draw() else []
        write_pictures(pictures, self.out / "figures")
        return Page(section, result, stored.command, stored.cpu_seconds, exhibit.tables, pictures)

    def _rebuild(self, section: Section, stored: Stored) -> Any:
        path = result_path(self.out, section.name)
        try:
            return from_plain(section.kind, stored.value, str(path))
        except InputError as error:
            raise InputError(
                f"{error}: stored by another version of elmokit; delete it to compute it again"
            ) from None


def _summary(results: dict[str, Any]) -> Table | None:
    """Every layer at a glance, if both probes have been run."""
    if "pos" not in results or "senses" not in results:
        return None
    return layers_table(results["pos"], results["senses"])


def layers_table(pos: PosResult, senses: SensesResult) -> Table:
    """How well every layer of every encoder encodes syntax and meaning.

    Rows that both probes have come first, then those that only one has.
    """
    accuracy = {(row.encoder, row.layer): row.accuracy for row in pos.rows}
    f1 = {(row.encoder, row.layer): row.f1 for row in senses.rows}
    rows = [
        (
            row_name(encoder, layer),
            *(percent(accuracy.get((encoder, layer), {}).get(group)) for group in POS_GROUPS),
            *(percent(f1.get((encoder, layer), {}).get(name)) for name in SENSE_SETS),
        )
        for encoder, layer in dict.fromkeys((*accuracy, *f1))
    ]
    tokens = (count(pos.num_tokens.get(group, 0)) for group in POS_GROUPS)
    instances = (count(senses.num_instances.get(name, 0)) for name in SENSE_SETS)
    return Table(
        "Every layer at a glance",
        ("", "POS, all", "POS, covered", "senses, ALL", "senses, four sets"),
        (*rows, ("tokens or instances", *tokens, *instances)),
        "POS: accuracy of a linear probe on the test set; covered are tokens that every encoder "
        "has a vector for. Senses: F1 by the nearest SemCor sense; the four sets are all but "
        "semeval2007.",
    )


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
