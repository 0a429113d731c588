"""The full softmax at many places: the bits of a word, the entropy, the rank, by both directions.

A block of (rows, words) logits is made at a time, small enough for a core's cache, and what is
wanted of it is added up; the (N, V) matrix never exists. Logits are made in bits (the states and
the bias are scaled by log2 e), because ``exp2`` takes half the time of ``exp``.

The combined prediction is the geometric mean of the two directions' probabilities, normalised
again (see ``elmokit.pretrain.predict``). As both directions share one softmax, its logits are the
means of theirs.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.softmax import Softmax
from elmokit.model.two_directions import run_both

ROWS_AT_ONCE, WORDS_AT_ONCE = 128, 1024
LOG2_E = math.log2(math.e)


class Statistics(NamedTuple):
    """Of N predictions, forward, backward and combined: each (3, N)."""

    bits: Tensor  # -log2 p(target), float64
    entropy: Tensor  # of the whole prediction, in bits, float64
    rank: Tensor  # of the target among all words, from 1, int64


def prediction_statistics(
    softmax: Softmax, forward: Tensor, backward: Tensor, targets: Tensor
) -> Statistics:
    """By the full softmax.

    Args:
        softmax: shared by both directions.
        forward: (N, P), the forward states that await the targets.
        backward: (N, P), the backward ones.
        targets: (N,) word ids.
    """
    half = -(-len(targets) // 2)
    parts = slice(0, half), slice(half, None)

    def run(part: slice) -> Statistics:
        return _statistics(softmax, forward[part], backward[part], targets[part])

    both = run_both(lambda: run(parts[0]), lambda: run(parts[1]), targets.device, len(targets))
    return Statistics(*(torch.cat(pair, dim=1) for pair in zip(*both, strict=True)))


@torch.no_grad()
def _statistics(softmax: Softmax, forward: Tensor, backward: Tensor, targets: Tensor) -> Statistics:
    bias = softmax.bias * LOG2_E
    blocks = [
        _block(softmax.weight, bias, torch.stack([one, other]) * LOG2_E, wanted)
        for one, other, wanted in zip(
            *(torch.split(given, ROWS_AT_ONCE) for given in (forward, backward, targets)),
            strict=True,
        )
    ]
    return Statistics(*(torch.cat(parts, dim=1) for parts in zip(*blocks, strict=True)))


def _block(weight: Tensor, bias: Tensor, states: Tensor, targets: Tensor) -> Statistics:
    """Of n rows; ``states`` (2, n, P) and ``bias`` are scaled, so that logits are in bits."""
    count = len(targets)
    wanted = (states * weight[targets]).sum(dim=2) + bias[targets]  # (2, n)
    wanted = torch.cat([wanted, wanted.mean(dim=0, keepdim=True)])  # (3, n)
    rows = states.flatten(0, 1)
    places = torch.arange(count, device=targets.device)
    shape = (3, count, min(WORDS_AT_ONCE, len(weight)))
    logit_buffer, work_buffer = rows.new_empty(shape), rows.new_empty(shape)
    highest = wanted.clone()
    total, weighted, better = (rows.new_zeros(3, count, dtype=torch.float64) for _ in range(3))
    for start in range(0, len(weight), WORDS_AT_ONCE):
        words = slice(start, min(start + WORDS_AT_ONCE, len(weight)))
        logits, work = logit_buffer, work_buffer  # (3, n, words)
        if words.stop - start < shape[2]:
            logits, work = (rows.new_empty(3, count, words.stop - start) for _ in range(2))
        both = logits[:2].flatten(0, 1)
        torch.addmm(bias[words], rows, weight[words].t(), out=both)
        torch.lerp(logits[0], logits[1], 0.5, out=logits[2])
        # The target's own logit as it was computed above: it must not outrank itself.
        is_here = (targets >= start) & (targets < words.stop)
        logits[:, places[is_here], targets[is_here] - start] = wanted[:, is_here]
        better += torch.gt(logits, wanted[:, :, None], out=work).sum(dim=2)
        before, highest = highest, torch.maximum(highest, logits.amax(dim=2))
        shrunk = (before - highest).double().exp2()
        torch.sub(logits, highest[:, :, None], out=logits)
        shares = torch.exp2(logits, out=work)
        mass = shares.sum(dim=2)
        # The sum of share * (logit - highest), moved whenever a higher logit is found.
        weighted = (weighted + (before - highest) * total) * shrunk
        weighted += logits.mul_(shares).sum(dim=2)
        total = total * shrunk + mass
    log_total = total.log2()
    bits = highest.double() + log_total - wanted
    return Statistics(bits, log_total - weighted / total, better.long() + 1)
