"""A section of a report: what it needs, how it is computed, how its result is shown."""

from collections.abc import Callable
from typing import Any, NamedTuple

from elmokit.analysis.pictures import Picture
from elmokit.analysis.report.config import ReportConfig
from elmokit.analysis.tables import Table


def _no_pictures() -> list[Picture]:
    return []


class Exhibit(NamedTuple):
    tables: list[Table]
    pictures: Callable[[], list[Picture]] = _no_pictures
    """Drawn only where matplotlib is there."""


class Section(NamedTuple):
    name: str
    title: str
    kind: type[Any]
    depends_on: tuple[str, ...]
    """Settings of the report (besides the model) that change the result."""
    needs: Callable[[ReportConfig], str]
    """What is missing to compute it; empty when nothing is."""
    command: Callable[[ReportConfig], str]
    """Lines that make it again."""
    compute: Callable[[ReportConfig, bool], Any]
    show: Callable[[Any], Exhibit]


def nothing(config: ReportConfig) -> str:
    """Of a section that needs nothing."""
    return ""


def lacks(config: ReportConfig, folder: str) -> str:
    """Says so where the data do not have a folder."""
    path = config.data / folder
    return "" if path.exists() else f"{path} is not there"
