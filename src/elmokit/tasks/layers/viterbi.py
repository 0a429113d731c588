"""The best sequence of tags by Viterbi's algorithm; and BIO tags, where I-X follows B-X or I-X."""

from collections.abc import Sequence

import torch
from torch import Tensor


def viterbi(
    emissions: Tensor,
    lengths: Sequence[int],
    start: Tensor,
    transitions: Tensor,
    end: Tensor | None = None,
) -> list[list[int]]:
    """The best tags of each sentence: K tags, B sentences of at most T tokens (T is at least 1).

    ``emissions`` (B, T, K), ``start`` (K,), ``transitions`` (K, K) from row to column, ``end``
    (K,): the score of a sequence is the sum of what it passes. -inf forbids.
    """
    best = start + emissions[:, 0]  # (B, K): of the best path to each tag
    sizes = torch.tensor(lengths, device=emissions.device)
    came_from: list[Tensor] = []
    for step in range(1, emissions.shape[1]):
        reached, previous = (best[:, :, None] + transitions).max(dim=1)  # (B, K) from (B, K, K)
        best = torch.where((sizes > step)[:, None], reached + emissions[:, step], best)
        came_from.append(previous)
    last = (best if end is None else best + end).argmax(dim=1).tolist()
    back = torch.stack(came_from, dim=1).tolist() if came_from else [[] for _ in lengths]
    return [
        _trace(tag, arrows[: length - 1]) if length else []
        for tag, arrows, length in zip(last, back, lengths, strict=True)
    ]


def _trace(tag: int, arrows: Sequence[Sequence[int]]) -> list[int]:
    """Follow the arrows back from the last tag."""
    path = [tag]
    for arrow in reversed(arrows):
        path.append(arrow[path[-1]])
    return path[::-1]


def allowed_transitions(tags: Sequence[str]) -> tuple[Tensor, Tensor]:
    """BIO: (K, K) may the column's tag follow the row's; (K,) may a sentence start with it."""
    after = torch.ones(len(tags), len(tags), dtype=torch.bool)
    first = torch.ones(len(tags), dtype=torch.bool)
    for column, tag in enumerate(tags):
        if tag.startswith("I-"):
            label = tag[2:]
            first[column] = False
            for row, before in enumerate(tags):
                after[row, column] = before in (f"B-{label}", f"I-{label}")
    return after, first


class BioViterbi:
    """The best well-formed BIO sequence; ``tags`` in the order of the scores' last dimension."""

    def __init__(self, tags: Sequence[str]) -> None:
        if not any(not tag.startswith("I-") for tag in tags):
            raise ValueError("no tag can start a sentence: all of them are I-")
        after, first = allowed_transitions(tags)
        never = float("-inf")
        self._transitions = torch.zeros(after.shape).masked_fill(~after, never)  # (K, K)
        self._start = torch.zeros(first.shape).masked_fill(~first, never)  # (K,)

    def decode(self, scores: Tensor, lengths: Sequence[int]) -> list[list[int]]:
        """``scores`` (B, T, K) -> for each sentence, the best allowed sequence of tag numbers."""
        scores = scores.detach().float().cpu()
        return viterbi(scores, lengths, self._start, self._transitions)
