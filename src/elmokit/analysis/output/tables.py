"""Results as tables: drawn on a terminal, Markdown in a pipe, a file or a page."""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_NUMBER = re.compile(r"[-+]?[\d.,]+( ± [\d.]+)?( ?%)?")


class Table(NamedTuple):
    """A titled table of text cells, with a note below it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        """As Markdown, with columns padded so that the raw text reads as a table too."""
        lines = [[_escape(cell) for cell in row] for row in (self.header, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [f"**{self.title}**", "", _line(lines[0], widths)]
        text.append("|" + "|".join("-" * (width + 2) for width in widths) + "|")
        text.extend(_line(row, widths) for row in lines[1:])
        if self.note:
            text += ["", self.note]
        return "\n".join(text) + "\n"


def print_tables(tables: Iterable[Table], markdown: bool = False) -> None:
    """Print tables: drawn if standard output is a terminal, else (or if asked) as Markdown."""
    for table in tables:
        if markdown or not sys.stdout.isatty():
            print(table.markdown())
        else:
            draw_table(table)


def draw_table(table: Table, width: int | None = None) -> None:
    """Draw one table on the terminal, ``width`` columns wide at most (default: all it has).

    Cells that do not fit are wrapped.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable

    console = Console(highlight=False, markup=False, emoji=False, width=width)
    columns = list(zip(table.header, *table.rows, strict=True))
    gap = 2 if sum(map(_longest_word, columns)) + 2 * len(columns) <= console.width else 1
    drawn = RichTable(
        title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD,
        show_edge=False, padding=(0, gap - 1, 0, 0),
    )  # fmt: skip
    widths = _widths(columns, console.width - gap * len(columns))
    for number, (title, *cells) in enumerate(columns):
        is_numeric = number > 0 and all(_NUMBER.fullmatch(cell) for cell in cells if cell)
        justify = "right" if is_numeric else "left"
        drawn.add_column(title, justify=justify, width=widths[number], overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        # Makes the paper's figures easy to tell from ours.
        drawn.add_row(*row, style="dim" if row[0].startswith("paper") else None)
    console.print(drawn)
    if table.note:
        console.print()
        console.print(table.note.replace("  \n", "\n"))
    console.print()


def _longest_word(cells: Sequence[str]) -> int:
    return max((len(word) for cell in cells for word in cell.split()), default=0)


def _widths(columns: Sequence[Sequence[str]], total: int) -> list[int]:
    """Column widths that add up to at most ``total``, without breaking words if possible.

    >>> _widths([["a", "one two three"], ["b", "12.5"]], 13)
    [9, 4]
    """
    widths = [_longest_word(column) for column in columns]
    lacking = [max(map(len, column)) - width for column, width in zip(columns, widths, strict=True)]
    while sum(widths) < total and max(lacking) > 0:
        neediest = lacking.index(max(lacking))
        widths[neediest] += 1
        lacking[neediest] -= 1
    while sum(widths) > max(total, len(widths)):
        widths[widths.index(max(widths))] -= 1
    return widths


def _escape(cell: str) -> str:
    """Escape bars, which would end the cell."""
    return cell.replace("|", "\\|")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def percent(value: float | None) -> str:
    """One decimal, as in the paper; empty where there is no number."""
    return "" if value is None else f"{value:.1f}"


def count(value: int) -> str:
    """With separators for thousands: 12,345."""
    return f"{value:,}"
