"""Figure 2: the weights that each trained task learned for the layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from elmokit.analysis.experiments.runs import TITLES, TaskRun, read_runs
from elmokit.analysis.output.pictures import Picture, heat_map
from elmokit.analysis.output.tables import Table
from elmokit.errors import InputError
from elmokit.recipe import parse_json

PLACES = ("input", "output")
BOTH = "input + output"
"""The variant of ``analyse places`` that learns both mixes."""

GAMMA = "\N{GREEK SMALL LETTER GAMMA}"


class LearnedMix(NamedTuple):
    """The softmax-normalised weights of a task at a place, the token layer first."""

    task: str
    place: str
    by_seed: tuple[tuple[float, ...], ...]
    gamma: float
    """The mean over the seeds."""

    @property
    def weights(self) -> tuple[float, ...]:
        """The mean over the seeds."""
        return tuple(fmean(each) for each in zip(*self.by_seed, strict=True))


@dataclass(frozen=True)
class MixWeights:
    """The learned weights of all tasks and places."""

    mixes: tuple[LearnedMix, ...]

    @property
    def num_layers(self) -> int:
        """The number of layers of the deepest biLM."""
        return max(len(mix.weights) for mix in self.mixes)


Found = dict[tuple[str, str, int], list[tuple[tuple[float, ...], float]]]
"""By task, place and number of layers: weights of biLMs of different depth are not averaged."""


def read_mixes(folders: Sequence[Path], variant: str = BOTH) -> MixWeights:
    """The mean weights in folders of runs of one variant, or of trained tasks (``task train``)."""
    found: Found = {}
    for folder in folders:
        if (folder / "results.jsonl").exists():
            result = read_runs(folder)
            if variant not in result.variants:
                known = ", ".join(result.variants)
                raise InputError(f"{folder}: no runs of the variant {variant!r}; there are {known}")
            runs = [run for run in result.runs if run.variant == variant]
            bilms = {run.elmo for run in runs}
            if len(bilms) > 1:
                raise InputError(
                    f"{folder}: has runs of {len(bilms)} biLMs, whose weights cannot be averaged; "
                    f"give the folders of one biLM's runs, {folder / 'runs'}/..."
                )
            for run in runs:
                _collect(found, run.task, run.mixes)
        else:
            path = folder / "result.json"
            if not path.exists():
                raise InputError(
                    f"{folder}: has neither runs (results.jsonl) nor a finished task (result.json);"
                    " give a folder written by `elmokit analyse` or `elmokit task train`"
                )
            try:
                trained = parse_json(path.read_text(encoding="utf-8"))
                _collect(found, trained["task"], trained["mixes"])
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"{path}: damaged, or not written by `elmokit task train`; train the task again"
                ) from None
    return _mean(found)


def mixes_of_runs(runs: Sequence[TaskRun]) -> MixWeights:
    """The mean weights of each task and place over the seeds of these runs."""
    found: Found = {}
    for run in runs:
        _collect(found, run.task, run.mixes)
    return _mean(found)


def _collect(found: Found, task: str, mixes: dict[str, dict[str, Any]]) -> None:
    """Add the weights of one run; a single layer is not a mix."""
    for place, mix in mixes.items():
        weights = tuple(mix["weights"])
        if len(weights) > 1:
            found.setdefault((task, place, len(weights)), []).append((weights, mix["gamma"]))


def _mean(found: Found) -> MixWeights:
    if not found:
        raise InputError("no run has learned a mix of several layers; train one with ELMo")
    mixes = []
    for (task, place, _), values in sorted(
        found.items(), key=lambda item: PLACES.index(item[0][1])
    ):
        gamma = fmean(gamma for _, gamma in values)
        mixes.append(LearnedMix(task, place, tuple(weights for weights, _ in values), gamma))
    return MixWeights(tuple(mixes))


def _layer_names(number: int) -> list[str]:
    return ["token layer", *(f"layer {layer}" for layer in range(1, number))]


def mix_table(result: MixWeights) -> Table:
    """One row per task and place."""
    names = _layer_names(result.num_layers)
    rows = [
        (
            f"{TITLES.get(mix.task, mix.task)}, {mix.place}",
            *(f"{weight:.2f}" for weight in mix.weights),
            *("" for _ in range(result.num_layers - len(mix.weights))),
            f"{mix.gamma:.2f}",
            str(len(mix.by_seed)),
        )
        for mix in result.mixes
    ]
    return Table(
        "Learned mix weights (Figure 2)",
        ("", *names, "gamma", "seeds"),
        tuple(rows),
        "Softmax-normalised. Paper: at the input most tasks favour layer 1; at the output the "
        "weights are balanced, slightly towards lower layers.",
    )


def mix_picture(result: MixWeights) -> Picture:
    """One column per task and place, one row per layer, the top layer first."""
    names = _layer_names(result.num_layers)[::-1]
    columns = [
        f"{TITLES.get(mix.task, mix.task)}\n{mix.place}\n{GAMMA} {mix.gamma:.2f}"
        for mix in result.mixes
    ]
    values = np.full((len(names), len(columns)), np.nan)
    for column, mix in enumerate(result.mixes):
        values[-len(mix.weights) :, column] = mix.weights[::-1]
    caption = f"Softmax-normalised weights that each task learned for each layer, and its {GAMMA}"
    return heat_map("mix-weights", caption, names, columns, values)
