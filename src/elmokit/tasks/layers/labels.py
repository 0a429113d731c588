"""One label per example: the answer of a classifier."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor


class Label(NamedTuple):
    """The likeliest label and the probability of each."""

    label: str
    probabilities: dict[str, float]

    @property
    def best(self) -> tuple[str, float]:
        """The label and its probability."""
        return self.label, self.probabilities[self.label]


def likeliest(logits: Tensor, labels: Sequence[str]) -> list[Label]:
    """(B, K) scores of K labels -> one answer per row."""
    rows = logits.softmax(dim=-1).tolist()
    return [Label(labels[row.index(max(row))], dict(zip(labels, row, strict=True))) for row in rows]
