"""A section of a report: what it needs, how it is computed, how its result is shown."""

from collections.abc import Callable
from typing import Any, NamedTuple

from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.output.pictures import Picture
from elmokit.analysis.output.tables import Table
from elmokit.analysis.report.config import ReportConfig


def _no_pictures() -> list[Picture]:
    return []


class Exhibit(NamedTuple):
    """How a page shows a result."""

    tables: list[Table]
    pictures: Callable[[], list[Picture]] = _no_pictures
    """Called only if matplotlib is installed."""


def nothing(config: ReportConfig) -> str:
    """``needs`` of a section that needs nothing."""
    return ""


class Section(NamedTuple):
    """One analysis of a report."""

    name: str
    title: str
    kind: type[Any]
    """The type of its result."""
    depends_on: tuple[str, ...]
    """Settings of the report, besides the model, that change the result."""
    needs: Callable[[ReportConfig], str]
    """Says what is missing to compute it; empty if nothing is."""
    command: Callable[[ReportConfig], str]
    """The command lines that reproduce it."""
    compute: Callable[[ReportConfig, Models, bool], Any]
    """Computes it from the settings, the opened models, and whether to be quiet."""
    show: Callable[[Any], Exhibit]
    needs_softmax: bool = False


def lacks(config: ReportConfig, folder: str) -> str:
    """A message if the data folder does not have ``folder``, otherwise empty."""
    path = config.data / folder
    return "" if path.exists() else f"{path} does not exist"
