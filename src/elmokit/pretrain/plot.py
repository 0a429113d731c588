"""Plots the curves of a run from its log."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError
from elmokit.figures import COLOURS, new_figure
from elmokit.files import replacing_file
from elmokit.pretrain.training.run_folder import read_log

_COLOURS = {"forward": COLOURS[0], "backward": COLOURS[1]}
_GREY = COLOURS[-1]
_MOST_TICKS = 6


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
    with new_figure(11, 4.2, "drawing a run") as figure:
        left, right = figure.subplots(1, 2)
        unit = token_unit(events)
        _draw_perplexity(left, heldout, unit)
        _draw_loss(right, training, unit)
        with replacing_file(out) as aside:
            figure.savefig(aside, format=_format(out, figure), dpi=140)


def _format(out: Path, figure: Any) -> str:
    format = out.suffix.lstrip(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if format not in known:
        raise InputError(f"{out}: cannot draw a .{format}; choose one of {', '.join(known)}")
    return format


class TokenUnit(NamedTuple):
    """What tokens are counted in on the horizontal axis."""

    name: str
    size: int

    def of(self, events: Sequence[dict[str, Any]]) -> list[float]:
        """The tokens before each event, in this unit."""
        return [event["tokens"] / self.size for event in events]


def token_unit(events: Sequence[dict[str, Any]]) -> TokenUnit:
    """Millions of tokens, or thousands for a run of less than a million."""
    most = max((event["tokens"] for event in events), default=0)
    is_long = most >= 10**6
    return TokenUnit("million tokens", 10**6) if is_long else TokenUnit("thousand tokens", 10**3)


def _finish(axes: Any, lines: Sequence[Any], title: str, unit: TokenUnit) -> None:
    """Title, tokens, grid, and the legend below the axes, where there are no curves."""
    from matplotlib import ticker

    axes.set(title=title, xlabel=unit.name)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(_MOST_TICKS - 1, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.grid(alpha=0.3)
    labels = [str(line.get_label()) for line in lines]
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": len(lines)}
    axes.legend(lines, labels, frameon=False, **place)


def _draw_perplexity(axes: Any, heldout: Sequence[dict[str, Any]], unit: TokenUnit) -> None:
    """Curves for the measurements during training, stars for those on other text."""
    from matplotlib import ticker

    during, others = by_text(heldout)
    lines = []
    for name, colour in _COLOURS.items():
        values = [event[f"{name}_perplexity"] for event in during]
        lines += axes.plot(
            unit.of(during), values, marker="o", markersize=3, color=colour, label=name
        )
        if others:
            values = [event[f"{name}_perplexity"] for event in others]
            axes.plot(unit.of(others), values, "*", markersize=11, color=colour)
    if others:
        lines += axes.plot([], [], "k*", markersize=11, label="on other held-out text")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.MaxNLocator(8, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    _finish(axes, lines, "held-out perplexity (full softmax)", unit)


def _draw_loss(axes: Any, training: Sequence[dict[str, Any]], unit: TokenUnit) -> None:
    for name, colour in _COLOURS.items():
        values = [event[f"{name}_loss"] for event in training]
        axes.plot(unit.of(training), values, color=colour, label=f"{name} loss")
    rates = axes.twinx()
    rates.plot(
        unit.of(training),
        [event["learning_rate"] for event in training],
        color=_GREY, linestyle=":", label="learning rate",
    )  # fmt: skip
    rates.set_ylabel("learning rate", color=_GREY)
    rates.set_ylim(bottom=0)
    rates.spines["right"].set_visible(True)
    lines = [*axes.get_lines(), *rates.get_lines()]
    _finish(axes, lines, "training loss (not comparable with perplexity)", unit)


def by_text(
    heldout: Sequence[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measurements on the sample that was used most often, and on other text: they are not joined.

    Of two samples that were used equally often, the smaller one is that of the training.
    """
    used = Counter(event["predictions"] for event in heldout)
    usual = min(used, key=lambda size: (-used[size], size), default=0)
    during = [event for event in heldout if event["predictions"] == usual]
    return during, [event for event in heldout if event["predictions"] != usual]


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
