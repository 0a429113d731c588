"""Accuracy, for tasks with one label per example."""

from collections.abc import Sequence

from elmokit.tasks.task import Scores


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> Scores:
    """Percent right, and of each gold class the percent found."""
    right = [g == p for g, p in zip(gold, predicted, strict=True)]
    every = {"accuracy": _percent(sum(right), len(right))}
    for label in sorted(set(gold)):
        found = [is_right for is_right, g in zip(right, gold, strict=True) if g == label]
        every[f"recall {label}"] = _percent(sum(found), len(found))
    return Scores(every["accuracy"], every)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
