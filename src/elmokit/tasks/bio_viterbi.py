"""The best BIO sequence: Viterbi over tag scores, where I-X may only follow B-X or I-X."""

from collections.abc import Sequence

import torch
from torch import Tensor


def allowed_transitions(tags: Sequence[str]) -> tuple[Tensor, Tensor]:
    """(N, N) may the column's tag follow the row's; (N,) may a sentence start with it."""
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
    """Decodes batches; ``tags`` in the order of the scores' last dimension."""

    def __init__(self, tags: Sequence[str]) -> None:
        if not any(not tag.startswith("I-") for tag in tags):
            raise ValueError("no tag can start a sentence: all of them are I-")
        after, first = allowed_transitions(tags)
        never = float("-inf")
        self._after = torch.zeros(after.shape).masked_fill(~after, never)  # (N, N)
        self._first = torch.zeros(first.shape).masked_fill(~first, never)  # (N,)

    def decode(self, scores: Tensor, lengths: Sequence[int]) -> list[list[int]]:
        """``scores`` (B, T, N) -> for each sentence, the best allowed sequence of tag numbers."""
        scores = scores.detach().float().cpu()
        num_sentences, longest, num_tags = scores.shape
        best = scores[:, 0] + self._first  # (B, N): score of the best way to end in each tag here
        came_from = torch.zeros(longest, num_sentences, num_tags, dtype=torch.long)
        finals = best.clone()
        sizes = torch.tensor(lengths)
        for step in range(1, longest):
            ways = best[:, :, None] + self._after  # (B, N before, N now)
            best, came_from[step] = ways.max(dim=1)
            best = best + scores[:, step]
            is_last = sizes == step + 1
            finals[is_last] = best[is_last]
        ends = finals.argmax(dim=-1).tolist()
        return [
            _trace(came_from[:, number], length, end)
            for number, (length, end) in enumerate(zip(lengths, ends, strict=True))
        ]


def _trace(came_from: Tensor, length: int, end: int) -> list[int]:
    if length == 0:
        return []
    path = [end]
    for step in range(length - 1, 0, -1):
        path.append(int(came_from[step, path[-1]]))
    return path[::-1]
