"""Plots the curves of a run from its log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmokit.errors import InputError, missing_extra
from elmokit.files import replacing_file
from elmokit.pretrain.training.run_folder import read_log

_COLOURS = {"forward": "#4477aa", "backward": "#ee6677"}
"""Paul Tol's bright palette, which colour-blind readers can tell apart."""
_GREY = "#777777"
_STYLE: Any = {"axes.grid": True, "grid.alpha": 0.3, "legend.framealpha": 0.9}


def plot_runs(runs: Sequence[Path], out: Path) -> None:
    """Draw held-out perplexity, training loss and learning rate against tokens.

    Args:
        runs: Folders of runs or their logs; each continued from the weights of the previous one.
        out: The picture to write; the suffix gives the format (.png, .svg, .pdf).
    """
    events = joined_logs(runs)
    training = [event for event in events if event["event"] == "train"]
    heldout = [event for event in events if event["event"] == "heldout"]
    if not training and not heldout:
        names = ", ".join(map(str, runs))
        raise InputError(f"{names}: there is nothing to draw yet; the log has no measurements")
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", "plot", "drawing a run") from None
    # Neither pyplot nor rcParams: a user's own figures are left alone.
    with rc_context(_STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        _draw_perplexity(left, heldout)
        _draw_loss(right, training)
        with replacing_file(out) as aside:
            figure.savefig(aside, format=_format(out, figure), dpi=140)


def _format(out: Path, figure: Any) -> str:
    format = out.suffix.lstrip(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if format not in known:
        raise InputError(f"{out}: cannot draw a .{format}; choose one of {', '.join(known)}")
    return format


def _draw_perplexity(axes: Any, heldout: Sequence[dict[str, Any]]) -> None:
    """Curves for the measurements during training, stars for those on more text."""
    from matplotlib import ticker

    during, more = by_text(heldout)
    for name, colour in _COLOURS.items():
        values = [event[f"{name}_perplexity"] for event in during]
        axes.plot(
            _million_tokens(during), values, marker="o", markersize=3, color=colour, label=name
        )
        if more:
            values = [event[f"{name}_perplexity"] for event in more]
            axes.plot(_million_tokens(more), values, "*", markersize=11, color=colour)
    if more:
        axes.plot([], [], "k*", markersize=11, label="at the end, on more text")
    axes.set(title="held-out perplexity (full softmax)", xlabel="million tokens", yscale="log")
    axes.yaxis.set_major_locator(ticker.MaxNLocator(8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.legend(loc="upper right", frameon=False)


def _draw_loss(axes: Any, training: Sequence[dict[str, Any]]) -> None:
    for name, colour in _COLOURS.items():
        values = [event[f"{name}_loss"] for event in training]
        axes.plot(_million_tokens(training), values, color=colour, label=f"{name} loss")
    title = "training loss (not comparable with perplexity)"
    axes.set(title=title, xlabel="million tokens")
    rates = axes.twinx()
    rates.plot(
        _million_tokens(training),
        [event["learning_rate"] for event in training],
        color=_GREY, linestyle=":", label="learning rate",
    )  # fmt: skip
    rates.set_ylabel("learning rate", color=_GREY)
    rates.set_ylim(bottom=0)
    rates.grid(visible=False)
    lines = [*axes.get_lines(), *rates.get_lines()]
    rates.legend(lines, [str(line.get_label()) for line in lines], loc="center")


def _million_tokens(events: Sequence[dict[str, Any]]) -> list[float]:
    return [event["tokens"] / 1e6 for event in events]


def by_text(
    heldout: Sequence[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measurements on the sample used during training, and on more text; they are not joined."""
    least = min((event["predictions"] for event in heldout), default=0)
    during = [event for event in heldout if event["predictions"] == least]
    return during, [event for event in heldout if event["predictions"] != least]


def joined_logs(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """The events of all logs, with tokens counted from the start of the first."""
    events: list[dict[str, Any]] = []
    before = 0
    for run in runs:
        log = read_log(run / "log.jsonl" if run.is_dir() else run)
        measured = [event for event in log if "tokens" in event]
        events += [{**event, "tokens": before + event["tokens"]} for event in measured]
        before = max((event["tokens"] for event in events), default=0)
    return events
