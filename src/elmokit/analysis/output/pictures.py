"""Pictures of results as SVG and PNG; the same numbers always give the same bytes."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError, missing_extra
from elmokit.figures import COLOURS, MARKERS, as_png, as_svg, can_draw, new_figure
from elmokit.files import replacing_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#d0d0d0"
GRID_COLOUR = "#e5e5e5"


class Picture(NamedTuple):
    """A drawn figure, in both formats."""

    name: str
    """The name of its files, without a suffix."""
    caption: str
    svg: str
    png: bytes
    alt: str
    """Alternative text: a summary of its numbers."""


class Line(NamedTuple):
    """One curve; ``spread`` is drawn as error bars."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    is_dashed: bool = False


def require_drawable(path: Path) -> None:
    """Raise an error if no picture can be written to ``path``: call it before long work."""
    _require_suffix(path)
    if not can_draw():
        raise missing_extra("matplotlib", "plot", "drawing a figure")


def _require_suffix(path: Path) -> None:
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path}: a picture must end in .png or .svg")


def write_picture(picture: Picture, path: Path) -> None:
    """Write the picture as PNG or SVG, by the suffix of ``path``."""
    _require_suffix(path)
    with replacing_file(path) as aside:
        if path.suffix == ".png":
            aside.write_bytes(picture.png)
        else:
            aside.write_text(picture.svg, encoding="utf-8")


def write_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Write each picture into ``folder``, as PNG and as SVG."""
    for picture in pictures:
        for suffix in (".png", ".svg"):
            write_picture(picture, folder / f"{picture.name}{suffix}")


def dots(
    name: str,
    caption: str,
    rows: Sequence[str],
    series: Mapping[str, Sequence[float]],
    x_label: str,
    line: tuple[str, float] | None = None,
) -> Picture:
    """One row per name, first on top, with one dot per series.

    ``line``: the label and the value of a vertical line to compare all dots with. These are dots
    rather than bars, so that the axis need not start at zero. Values are written beside the dots of
    one or two series; those of more would overlap.
    """
    width = 5.5 + 0.075 * max(map(len, rows), default=0)  # inches: names take what they need
    with new_figure(max(7.5, width), 1.3 + 0.4 * len(rows)) as figure:
        axes = figure.subplots()
        places = np.arange(len(rows))[::-1]
        for number, (label, values) in enumerate(series.items()):
            colour, marker = _colour_and_marker(number)
            axes.scatter(values, places, color=colour, marker=marker, label=label, s=40, zorder=3)
            above = 5 if number % 2 == 0 else -12  # points; avoids overlapping labels of two series
            for value, place in zip(values, places, strict=True) if len(series) <= 2 else ():
                axes.annotate(
                    _short(value), (value, place), xytext=(0, above), textcoords="offset points",
                    fontsize=8, ha="center",
                )  # fmt: skip
        if line is not None:
            axes.axvline(line[1], color="black", linewidth=1, linestyle=":", label=line[0])
        axes.set_yticks(places, rows)
        axes.set_ylim(-0.6, len(rows) - 0.3)
        axes.margins(x=0.1)
        axes.set_xlabel(x_label)
        axes.grid(axis="y" if len(series) <= 2 else "both", color=GRID_COLOUR)
        if len(series) > 1 or line is not None:
            axes.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        ranges = [f"{label} {_range(rows, values)}" for label, values in series.items()]
        if line is not None:
            ranges.append(f"{line[0]} {_short(line[1])}")
        return _picture(figure, name, caption, ranges)


def ranked_words(
    name: str,
    caption: str,
    lists: Mapping[str, Sequence[tuple[str, float]]],
    x_label: str,
) -> Picture:
    """Words with their shares, first on top, one panel per list, on a logarithmic axis."""
    longest = max(len(words) for words in lists.values())
    with new_figure(4.2 * len(lists), 1.2 + 0.3 * longest) as figure:
        row = figure.subplots(1, len(lists), sharex=True, squeeze=False)[0]
        for number, (axes, (title, words)) in enumerate(zip(row, lists.items(), strict=True)):
            places = np.arange(len(words))[::-1]
            colour, marker = _colour_and_marker(number)
            shares = [share for _, share in words]
            axes.scatter(shares, places, color=colour, marker=marker, s=40, zorder=3)
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.set_yticks(places, [word for word, _ in words])
            axes.set_ylim(-0.6, longest - 0.4)
            axes.set_title(title, fontsize=11)
            axes.set_xlabel(x_label)
            axes.grid(axis="both", color=GRID_COLOUR)
        gist = [
            f"{title}: {', '.join(f'{word} {_short(share)}' for word, share in words[:3])}"
            for title, words in lists.items()
        ]
        return _picture(figure, name, caption, gist)


def panels(
    name: str,
    caption: str,
    titles: Sequence[str],
    groups: Sequence[str],
    series: Sequence[Mapping[str, Sequence[float]]],
    y_label: str,
    width: float = 5.2,
) -> Picture:
    """Curves over the same ordered groups (layers), with one panel per title, ``width`` inches."""
    with new_figure(width * len(titles), 4.6) as figure:
        row = figure.subplots(1, len(titles), sharey=True, squeeze=False)[0]
        places = np.arange(len(groups))
        for axes, title, curves in zip(row, titles, series, strict=True):
            for number, (label, values) in enumerate(curves.items()):
                colour, marker = _colour_and_marker(number)
                axes.plot(
                    places, values, marker=marker, markersize=8, linewidth=2, alpha=0.85,
                    label=label, color=colour,
                )  # fmt: skip
            axes.set_xticks(places, [textwrap.fill(group, 10) for group in groups])
            axes.tick_params(labelsize=11)
            axes.set_title(title, fontsize=13)
            axes.grid(axis="y", color=GRID_COLOUR)
            # Below the panel, because inside it a line would cross the legend.
            axes.legend(fontsize=11, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))
        row[0].set_ylabel(y_label, fontsize=11)
        gist = [
            f"{title}, {label}: {_from_to(groups, values)}"
            for title, curves in zip(titles, series, strict=True)
            for label, values in curves.items()
        ]
        return _picture(figure, name, caption, gist)


def curves(
    name: str,
    caption: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    is_log_x: bool = False,
) -> Picture:
    """Several curves in one plot, with error bars where they have a spread."""
    with new_figure(5.5, 3.8) as figure:
        axes = figure.subplots()
        for number, line in enumerate(lines):
            colour, marker = _colour_and_marker(number)
            axes.errorbar(
                line.x, line.y, yerr=line.spread, label=line.label, capsize=2, color=colour,
                marker=marker, markersize=5, linestyle="--" if line.is_dashed else "-",
            )  # fmt: skip
        if is_log_x:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.grid(color=GRID_COLOUR)
        axes.legend(fontsize=9, frameon=False)
        gist = [f"{ln.label}: {_from_to([f'{x:g}' for x in ln.x], ln.y)}" for ln in lines]
        return _picture(figure, name, caption, [f"{y_label} against {x_label}", *gist])


def heat_map(
    name: str,
    caption: str,
    row_names: Sequence[str],
    column_names: Sequence[str],
    values: npt.NDArray[np.float64],
) -> Picture:
    """Numbers between 0 and 1 as coloured, labelled squares; NaN leaves a square empty."""
    with new_figure(1.8 + 0.85 * len(column_names), 1.0 + 0.5 * len(row_names)) as figure:
        axes = figure.subplots()
        image = axes.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for row, column in np.ndindex(*values.shape):
            value = values[row, column]
            if not np.isnan(value):
                colour = "white" if value > 0.6 else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(len(column_names)), column_names)
        axes.set_yticks(range(len(row_names)), row_names)
        figure.colorbar(image, ax=axes, label="weight")
        gist = [
            f"{title}: most on {row_names[int(np.nanargmax(column))]} ({np.nanmax(column):.2f})"
            for title, column in zip(column_names, values.T, strict=True)
        ]
        return _picture(figure, name, caption, [part.replace("\n", ", ") for part in gist])


def scatter(
    name: str,
    caption: str,
    points: npt.NDArray[np.float64],
    labels: Sequence[str],
    grey_label: str = "",
) -> Picture:
    """(N, 2) principal components; the six most common labels have a colour each, others share one.

    Points labelled ``grey_label`` are drawn in grey, behind all others.
    """
    counts = Counter(label for label in labels if label != grey_label)
    coloured = [label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    colour_of = dict(zip(coloured, zip(COLOURS[:-1], MARKERS, strict=False), strict=False))
    shown = np.array([x if x in colour_of or x == grey_label else "others" for x in labels])
    gist = []
    with new_figure(7.5, 5) as figure:
        axes = figure.subplots()
        for label in (grey_label, "others", *colour_of):
            chosen = points[shown == label]
            if len(chosen):
                colour, marker = colour_of.get(label, (COLOURS[-1], "x"))
                if label == grey_label:
                    colour, marker = GREY, "o"
                text = f"{label} ({len(chosen)})"
                gist.append(text)
                axes.scatter(
                    chosen[:, 0], chosen[:, 1], s=22, color=colour, marker=marker, label=text,
                    alpha=0.8,
                )  # fmt: skip
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set(xlabel="first principal component", ylabel="second principal component")
        axes.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
        return _picture(figure, name, caption, gist)


def scatter_points(
    name: str,
    caption: str,
    points: Sequence[tuple[float, float]],
    labels: Sequence[str],
    named: Set[str],
    x_label: str,
    y_label: str,
) -> Picture:
    """One point per label, with axes and the diagonal; only the ``named`` ones are labelled."""
    with new_figure(6.5, 5.5) as figure:
        axes = figure.subplots()
        x, y = ([point[axis] for point in points] for axis in (0, 1))
        axes.scatter(x, y, s=14, color=COLOURS[0], alpha=0.6)
        for label, point in zip(labels, points, strict=True):
            if label in named:
                axes.annotate(
                    label, point, xytext=(4, 2), textcoords="offset points", fontsize=8
                )  # fmt: skip
        low, high = min([*x, *y]), max([*x, *y])
        axes.plot([low, high], [low, high], color=GREY, linewidth=1, zorder=0)
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.grid(color=GRID_COLOUR)
        gist = [f"{len(points)} points", f"the highest are {', '.join(sorted(named))}"]
        return _picture(figure, name, caption, gist)


def _colour_and_marker(number: int) -> tuple[str, str]:
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def _range(names: Sequence[str], values: Sequence[float]) -> str:
    """ "from 62.1 (glove) to 66.4 (m, layer 2)"."""
    if len(values) == 0:
        return "nothing"
    low, high = int(np.argmin(values)), int(np.argmax(values))
    return f"from {_short(values[low])} ({names[low]}) to {_short(values[high])} ({names[high]})"


def _from_to(names: Sequence[str], values: Sequence[float]) -> str:
    """ "1.00 at token layer, 0.45 at layer 2": the first and the last."""
    ends = sorted({0, len(values) - 1}) if len(values) else []
    return ", ".join(f"{_short(values[end])} at {names[end]}" for end in ends)


def _short(value: float) -> str:
    return f"{value:.2f}" if abs(value) <= 1 else f"{value:.1f}"


def _picture(figure: "Figure", name: str, caption: str, gist: Sequence[str]) -> Picture:
    alt = f"{caption}: {'; '.join(gist)}" if gist else caption
    return Picture(name, caption, as_svg(figure), as_png(figure), alt)
