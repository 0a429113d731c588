"""Predictions for people: labels, and spans in brackets, coloured on a terminal."""

import zlib
from collections.abc import Iterable, Sequence

from rich.text import Text

COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")


def colour_of(label: str) -> str:
    """Always the same for the same label, whatever else is shown."""
    return COLOURS[zlib.crc32(label.encode("utf-8")) % len(COLOURS)]


def bracketed(tokens: Sequence[str], spans: Iterable[tuple[int, int, str]]) -> Text:
    """Spans (start, end, label) that do not overlap, around their tokens.

    >>> print(bracketed(["in", "New", "York", "."], [(1, 3, "location")]))
    in [New York location] .
    """
    pieces: list[Text] = []
    done = 0
    for start, end, label in sorted(spans):
        pieces.extend(Text(token) for token in tokens[done:start])
        piece = Text(f"[{' '.join(tokens[start:end])} ", style=f"bold {colour_of(label)}")
        piece.append(label, style="not bold italic")
        pieces.append(piece.append("]"))
        done = end
    pieces.extend(Text(token) for token in tokens[done:])
    return Text(" ").join(pieces)


def labelled(label: str, probability: float, text: str) -> Text:
    """``label 93%  text``, the label in its colour."""
    shown = Text(label, style=f"bold {colour_of(label)}")
    shown.append(f" {probability:.0%}", style="not bold")
    return shown.append(f"  {text}", style="default not bold")
