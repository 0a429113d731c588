"""The curves of a run, drawn from its log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmokit.errors import InputError, missing_extra
from elmokit.files import replacing_file
from elmokit.pretrain.run_log import read_log


def plot_runs(runs: Sequence[Path], out: Path) -> None:
    """Held-out perplexity, training loss and learning rate against tokens, as a PNG (or SVG).

    ``runs``: folders or their logs; each began with the weights of the one before it.
    """
    events = one_after_the_other(runs)
    training = [event for event in events if event["event"] == "train"]
    heldout = [event for event in events if event["event"] == "heldout"]
    if not training and not heldout:
        names = ", ".join(map(str, runs))
        raise InputError(f"{names}: there is nothing to draw yet; the log has no measurements")
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot, ticker
    except ImportError:
        raise missing_extra("matplotlib", "plot", "drawing a run") from None
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4), layout="constrained")
    during, whole = by_text(heldout)
    for name, style in (("forward", "-"), ("backward", "--")):
        (line,) = left.plot(
            [event["tokens"] / 1e6 for event in during],
            [event[f"{name}_perplexity"] for event in during],
            style, marker="o", markersize=3, label=name,
        )  # fmt: skip
        left.plot(
            [event["tokens"] / 1e6 for event in whole],
            [event[f"{name}_perplexity"] for event in whole],
            "*", color=line.get_color(), label=f"{name}, more text",
        )  # fmt: skip
        right.plot(
            [event["tokens"] / 1e6 for event in training],
            [event[f"{name}_loss"] for event in training],
            style, label=name,
        )  # fmt: skip
    left.set(title="held-out perplexity (full softmax)", xlabel="million tokens", yscale="log")
    for axis_part in ("major", "minor"):  # 120 rather than 1.2 x 10^2
        getattr(left.yaxis, f"set_{axis_part}_formatter")(ticker.ScalarFormatter())
    right.set(title="training loss (not comparable with it)", xlabel="million tokens")
    rates = right.twinx()
    rates.plot(
        [event["tokens"] / 1e6 for event in training],
        [event["learning_rate"] for event in training],
        color="grey", linewidth=0.8,
    )  # fmt: skip
    rates.set_ylabel("learning rate", color="grey")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    with replacing_file(out) as aside:
        figure.savefig(aside, format=out.suffix.lstrip(".") or "png", dpi=140)
    pyplot.close(figure)


def by_text(
    heldout: Sequence[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measurements on the little text used during training, and on more: no curve joins them."""
    least = min((event["predictions"] for event in heldout), default=0)
    during = [event for event in heldout if event["predictions"] == least]
    return during, [event for event in heldout if event["predictions"] != least]


def one_after_the_other(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """The events of all logs, their tokens counted from the beginning of the first."""
    events: list[dict[str, Any]] = []
    before = 0
    for run in runs:
        log = read_log(run / "log.jsonl" if run.is_dir() else run)
        measured = [event for event in log if "tokens" in event]
        events += [{**event, "tokens": before + event["tokens"]} for event in measured]
        before = max((event["tokens"] for event in events), default=0)
    return events
