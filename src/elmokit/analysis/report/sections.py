"""The sections of a report, in its order."""

from collections.abc import Sequence

from elmokit.analysis.report.layer_sections import LAYER_SECTIONS
from elmokit.analysis.report.section import Section
from elmokit.analysis.report.task_sections import TASK_SECTIONS
from elmokit.errors import InputError

SECTIONS: dict[str, Section] = {
    section.name: section for section in (*LAYER_SECTIONS, *TASK_SECTIONS)
}


def find_sections(names: Sequence[str]) -> list[Section]:
    """By name, in the report's order; none means all."""
    for name in names:
        if name not in SECTIONS:
            raise InputError(f"no section {name!r} in a report; there are {', '.join(SECTIONS)}")
    return [section for name, section in SECTIONS.items() if not names or name in names]
