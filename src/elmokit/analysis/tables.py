"""Results as tables a person reads: Markdown for a terminal and a page."""

from collections.abc import Sequence
from typing import NamedTuple


class Table(NamedTuple):
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """Columns padded so that the raw text reads as a table too."""
        lines = [[_escape(cell) for cell in row] for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [f"**{self.title}**", "", _line(lines[0], widths)]
        text.append("|" + "|".join("-" * (width + 2) for width in widths) + "|")
        text.extend(_line(row, widths) for row in lines[1:])
        if self.note:
            text += ["", self.note]
        return "\n".join(text) + "\n"


def _escape(cell: str) -> str:
    """A bar in a cell is no border."""
    return cell.replace("|", "\\|")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def percent(value: float | None) -> str:
    """One decimal, as the paper prints; nothing where there is no number."""
    return "" if value is None else f"{value:.1f}"


def count(value: int) -> str:
    return f"{value:,}"
