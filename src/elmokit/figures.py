"""Matplotlib figures that leave the user's matplotlib alone: no pyplot, no backend, no rcParams.

    with new_figure(7, 4) as figure:
        axes = figure.subplots()
        ...
        path.write_bytes(as_png(figure))

Figures are drawn and saved inside the ``with`` block: outside of it the style is the user's again.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from elmokit.errors import missing_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888")
"""Paul Tol's bright palette, which colour-blind readers can tell apart."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One per colour, so that no line depends on its colour alone."""
STYLE: Any = {
    "svg.hashsalt": "elmokit",  # the same figure always gives the same bytes
    "svg.fonttype": "none",
    "axes.spines.right": False,
    "axes.spines.top": False,
}


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


@contextmanager
def new_figure(
    width: float, height: float, purpose: str = "drawing a figure"
) -> "Iterator[Figure]":
    """An empty figure in elmokit's style, ``width`` by ``height`` inches.

    ``purpose`` says what needs matplotlib, in the error raised if it is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot", purpose) from None
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def as_svg(figure: "Figure") -> str:
    """The figure as the text of an SVG file."""
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


def as_png(figure: "Figure") -> bytes:
    """The figure as the bytes of a PNG file."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return png.getvalue()
