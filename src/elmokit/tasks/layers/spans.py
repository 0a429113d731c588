"""Candidate mentions of a document: enumerated within sentences, pruned to the best."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class CandidateSpans(NamedTuple):
    """Every span of at most W tokens, by first token and width; n is the document's tokens."""

    window: Tensor  # (n, W): the tokens from each token on (clamped to the document)
    is_span: Tensor  # (n, W): do the first token and this last one lie in the same sentence


def candidate_spans(sentence_lengths: Sequence[int], max_width: int) -> CandidateSpans:
    """Spans that cross no sentence's end.

    >>> candidate_spans([2, 1], 2).is_span.tolist()
    [[True, True], [True, False], [True, False]]
    """
    lengths = torch.tensor(sentence_lengths, dtype=torch.long)
    ends = torch.repeat_interleave(lengths.cumsum(0), lengths)  # (n,): where its sentence ends
    window = torch.arange(len(ends))[:, None] + torch.arange(max_width)  # (n, W)
    is_span = window < ends[:, None]
    return CandidateSpans(window.clamp(max=max(len(ends) - 1, 0)), is_span)


def prune(scores: Tensor, is_span: Tensor, num_kept: int) -> tuple[Tensor, Tensor]:
    """The best ``num_kept`` spans of which none crosses another; (first, width - 1), in order.

    Taken greedily from the best down. Two spans cross where each holds a token the other lacks
    and they share one; nesting is fine.
    """
    num_tokens, max_width = is_span.shape
    flat = scores.detach().masked_fill(~is_span, float("-inf")).flatten()
    num_spans = int(is_span.sum())
    order = flat.argsort(descending=True, stable=True)[:num_spans].tolist()
    farthest_end = [-1] * num_tokens  # of the kept spans that start here
    nearest_start = [num_tokens] * num_tokens  # of the kept spans that end here
    kept: list[int] = []
    for place in order:
        if len(kept) >= num_kept:
            break
        first = place // max_width
        last = first + place % max_width
        crosses = any(farthest_end[token] > last for token in range(first + 1, last + 1)) or any(
            nearest_start[token] < first for token in range(first, last)
        )
        if not crosses:
            kept.append(place)
            farthest_end[first] = max(farthest_end[first], last)
            nearest_start[last] = min(nearest_start[last], first)
    places = torch.tensor(sorted(kept), dtype=torch.long, device=is_span.device)
    return places // max_width, places % max_width
