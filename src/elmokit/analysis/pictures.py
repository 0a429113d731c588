"""Figures as SVG and PNG; the same numbers always give the same bytes."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError, missing_extra
from elmokit.files import replacing_file

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888")
"""Told apart by colour-blind readers too."""
GREY = "#d0d0d0"


class Picture(NamedTuple):
    name: str
    """What its files are called, without the ending."""
    caption: str
    svg: str
    png: bytes
    alt: str
    """The gist of its numbers, for those who do not see it."""


class Line(NamedTuple):
    """One curve; ``spread`` is drawn as bars above and below."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    spread: Sequence[float] | None = None
    is_dashed: bool = False


def can_draw() -> bool:
    """Is matplotlib there?"""
    return find_spec("matplotlib") is not None


def write_picture(picture: Picture, path: Path) -> None:
    """Write PNG or SVG, as the ending of ``path`` says."""
    if path.suffix not in (".png", ".svg"):
        raise InputError(f"{path}: a picture must end in .png or .svg")
    with replacing_file(path) as aside:
        if path.suffix == ".png":
            aside.write_bytes(picture.png)
        else:
            aside.write_text(picture.svg, encoding="utf-8")


def write_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Write each as PNG and SVG."""
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
    """A row each, first on top, a dot a series; ``line`` is a value to compare all with.

    Dots rather than bars, so that the axis may begin where the numbers do.
    """
    pyplot = _pyplot()
    size = (7.0, 1.2 + 0.34 * len(rows))
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    places = np.arange(len(rows))[::-1]
    for number, (label, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        axes.scatter(values, places, color=colour, label=label, s=36, zorder=3)
        above = 5 if number % 2 == 0 else -11  # points: numbers of two series may be close
        for value, place in zip(values, places, strict=True):
            axes.annotate(
                _short(value), (value, place), xytext=(0, above), textcoords="offset points",
                fontsize=7, ha="center",
            )  # fmt: skip
    if line is not None:
        axes.axvline(line[1], color="black", linewidth=1, linestyle=":", label=line[0])
    axes.set_yticks(places, rows)
    axes.set_ylim(-0.6, len(rows) - 0.3)
    axes.set_xlabel(x_label)
    axes.grid(axis="y", color="#e5e5e5")
    if len(series) > 1 or line is not None:
        axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    ranges = [f"{label} {_range(rows, values)}" for label, values in series.items()]
    if line is not None:
        ranges.append(f"{line[0]} {_short(line[1])}")
    return _finish(figure, name, caption, ranges)


def panels(
    name: str,
    caption: str,
    titles: Sequence[str],
    groups: Sequence[str],
    series: Sequence[Mapping[str, Sequence[float]]],
    y_label: str,
) -> Picture:
    """Curves over the same ordered groups (layers), a panel a title."""
    pyplot = _pyplot()
    size = (4.8 * len(titles), 4.0)
    figure, row = pyplot.subplots(
        1, len(titles), figsize=size, layout="constrained", sharey=True, squeeze=False
    )
    places = np.arange(len(groups))
    for axes, title, curves in zip(row[0], titles, series, strict=True):
        for number, (label, values) in enumerate(curves.items()):
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(places, values, marker="o", label=label, color=colour)
        axes.set_xticks(places, groups)
        axes.set_title(title, fontsize=10)
        axes.grid(axis="y", color="#e5e5e5")
        axes.legend(fontsize=8, frameon=False, loc="lower left")
    row[0][0].set_ylabel(y_label)
    gist = [
        f"{title}, {label}: {_from_to(groups, values)}"
        for title, curves in zip(titles, series, strict=True)
        for label, values in curves.items()
    ]
    return _finish(figure, name, caption, gist)


def curves(
    name: str,
    caption: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    is_log_x: bool = False,
) -> Picture:
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(5.5, 3.8), layout="constrained")
    for number, line in enumerate(lines):
        style = {"color": COLOURS[number % len(COLOURS)], "marker": "o", "markersize": 4}
        style["linestyle"] = "--" if line.is_dashed else "-"
        axes.errorbar(line.x, line.y, yerr=line.spread, label=line.label, capsize=2, **style)
    if is_log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.grid(color="#e5e5e5")
    axes.legend(fontsize=8, frameon=False)
    gist = [f"{ln.label}: {_from_to([f'{x:g}' for x in ln.x], ln.y)}" for ln in lines]
    return _finish(figure, name, caption, [f"{y_label} against {x_label}", *gist])


def heat_map(
    name: str,
    caption: str,
    row_names: Sequence[str],
    column_names: Sequence[str],
    values: npt.NDArray[np.float64],
) -> Picture:
    """Numbers between 0 and 1 as squares, NaN as nothing; each says its number."""
    pyplot = _pyplot()
    size = (1.8 + 0.85 * len(column_names), 1.0 + 0.5 * len(row_names))
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
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
        f"{column_name}: most on {row_names[int(np.nanargmax(column))]} ({np.nanmax(column):.2f})"
        for column_name, column in zip(column_names, values.T, strict=True)
    ]
    return _finish(figure, name, caption, [part.replace("\n", ", ") for part in gist])


def scatter(
    name: str,
    caption: str,
    points: npt.NDArray[np.float64],
    labels: Sequence[str],
    grey_label: str = "",
) -> Picture:
    """(N, 2) points; the six commonest labels have a colour, the others share one.

    ``grey_label`` stands behind them all.
    """
    pyplot = _pyplot()
    figure, axes = pyplot.subplots(figsize=(7.5, 5), layout="constrained")
    counts = Counter(label for label in labels if label != grey_label)
    coloured = [label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    colour_of = dict(zip(coloured, COLOURS[:-1], strict=False))
    shown = np.array([x if x in colour_of or x == grey_label else "others" for x in labels])
    gist = []
    for label in (grey_label, "others", *colour_of):
        chosen = points[shown == label]
        if len(chosen):
            colour = GREY if label == grey_label else colour_of.get(label, COLOURS[-1])
            marker = "x" if label == "others" else "o"
            text = f"{label} ({len(chosen)})"
            gist.append(text)
            axes.scatter(
                chosen[:, 0], chosen[:, 1], s=18, color=colour, marker=marker, label=text, alpha=0.8
            )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return _finish(figure, name, caption, gist)


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


def _pyplot() -> Any:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise missing_extra("matplotlib", "plot", "drawing a figure") from None
    pyplot.rcParams.update(
        {
            "svg.hashsalt": "elmokit",
            "svg.fonttype": "none",
            "axes.spines.right": False,
            "axes.spines.top": False,
        }
    )
    return pyplot


def _finish(figure: Any, name: str, caption: str, gist: Sequence[str]) -> Picture:
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    _pyplot().close(figure)
    alt = f"{caption}: {'; '.join(gist)}" if gist else caption
    return Picture(name, caption, svg.getvalue(), png.getvalue(), alt)
