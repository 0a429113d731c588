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
        lines = [self.header, *self.rows]
        widths = [max(len(row[column]) for row in lines) for column in range(len(self.header))]
        text = [f"**{self.title}**", "", _line(self.header, widths)]
        text.append("|" + "|".join("-" * (width + 2) for width in widths) + "|")
        text.extend(_line(row, widths) for row in self.rows)
        if self.note:
            text += ["", self.note]
        return "\n".join(text) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def percent(value: float | None) -> str:
    """One decimal, as the paper prints; nothing where there is no number."""
    return "" if value is None else f"{value:.1f}"


def count(value: int) -> str:
    return f"{value:,}"
