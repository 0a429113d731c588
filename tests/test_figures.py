"""Figures leave the user's matplotlib as it was."""

import subprocess
import sys

import pytest

from elmokit.errors import InputError
from elmokit.figures import as_png, as_svg, new_figure

matplotlib = pytest.importorskip("matplotlib")


def draw() -> tuple[str, bytes]:
    with new_figure(3, 2) as figure:
        figure.subplots().plot([1, 2], [3, 4])
        return as_svg(figure), as_png(figure)


def test_settings_of_matplotlib_are_not_changed() -> None:
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"svg.hashsalt": "the user's", "axes.spines.top": True}):
        theirs = dict(matplotlib.rcParams)
        draw()
        assert dict(matplotlib.rcParams) == theirs
    assert dict(matplotlib.rcParams) == before


def test_drawing_chooses_no_backend_and_imports_no_pyplot() -> None:
    program = (
        "import sys, matplotlib\n"
        "before = matplotlib.rcParams._get('backend')\n"
        "from elmokit.figures import as_png, new_figure\n"
        "with new_figure(3, 2) as figure: as_png(figure)\n"
        "assert matplotlib.rcParams._get('backend') is before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_settings_come_back_when_drawing_fails() -> None:
    before = dict(matplotlib.rcParams)
    with pytest.raises(ZeroDivisionError), new_figure(3, 2):
        raise ZeroDivisionError
    assert dict(matplotlib.rcParams) == before


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert draw() == draw()
    svg, png = draw()
    assert svg.rstrip().endswith("</svg>")
    assert png.startswith(b"\x89PNG")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    complaint = r"drawing a run needs matplotlib.*elmokit\[plot\]"
    with pytest.raises(InputError, match=complaint), new_figure(3, 2, "drawing a run"):
        pass
