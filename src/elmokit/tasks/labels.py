"""One label an example: what the classifiers answer, and how it is shown."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from torch import Tensor

from elmokit.tasks.show import colour_of


class Label(NamedTuple):
    """The likeliest label and the probability of each."""

    label: str
    probabilities: dict[str, float]


def likeliest(logits: Tensor, labels: Sequence[str]) -> list[Label]:
    """(B, K) scores of K labels -> an answer a row."""
    rows = logits.softmax(dim=-1).tolist()
    return [Label(labels[row.index(max(row))], dict(zip(labels, row, strict=True))) for row in rows]


def with_label(found: Label, text: str) -> Text:
    """``label 93%  text``, the label in its colour."""
    shown = Text(found.label, style=f"bold {colour_of(found.label)}")
    shown.append(f" {found.probabilities[found.label]:.0%}", style="not bold")
    return shown.append(f"  {text}", style="default not bold")
