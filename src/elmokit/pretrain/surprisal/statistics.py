"""The full softmax at many positions: surprisal, entropy and rank, by both directions.

Logits are computed in blocks of (rows, words), small enough for a core's cache, and summed up at
once; the (N, V) matrix never exists. Logits are in bits (the states and the bias are scaled by
log2 e), because ``exp2`` takes half the time of ``exp``.

The combined prediction is the geometric mean of the two directions' probabilities, normalised
again (see ``elmokit.pretrain.predict``). As both directions share one softmax, its logits are the
means of theirs.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.softmax_sums import compiled_sums
from elmokit.model.kernels.softmax_sums import SoftmaxSums, Sums, torch_sums
from elmokit.model.softmax import Softmax
from elmokit.model.two_directions import ROWS_WORTH_A_THREAD, run_both

ROWS_AT_ONCE, WORDS_AT_ONCE = 512, 512
LOG2_E = math.log2(math.e)
COMMON_WORDS = 512
"""Vocabularies begin with the most common words, which nearly always have the highest logit."""
MOST_BITS = 64.0
"""How far, in bits, the sum of a row may be from 1 before it is recomputed exactly."""
ROUNDING = 1e-5
"""Words whose logits differ by less have the same rank."""


class Statistics(NamedTuple):
    """Statistics of N predictions, forward, backward and combined: each (3, N)."""

    bits: Tensor  # -log2 p(target), float64
    entropy: Tensor  # of the whole prediction, in bits, float64
    rank: Tensor  # of the target among all words, from 1, int64


def prediction_statistics(
    softmax: Softmax, forward: Tensor, backward: Tensor, targets: Tensor
) -> Statistics:
    """Compute the statistics of N predictions by the full softmax.

    Args:
        softmax: shared by both directions.
        forward: (N, P), the forward states that predict the targets.
        backward: (N, P), the backward ones.
        targets: (2, N) word ids, forward and backward. If they differ, the combined prediction is
            meaningless.
    """
    half = -(-len(forward) // 2)
    parts = slice(0, half), slice(half, None)

    def run(part: slice) -> Statistics:
        return _statistics(softmax, forward[part], backward[part], targets[:, part])

    is_short = len(forward) < ROWS_WORTH_A_THREAD
    both = run_both(lambda: run(parts[0]), lambda: run(parts[1]), targets.device, is_short)
    return Statistics(*(torch.cat(pair, dim=1) for pair in zip(*both, strict=True)))


@torch.no_grad()
def _statistics(softmax: Softmax, forward: Tensor, backward: Tensor, targets: Tensor) -> Statistics:
    bias = softmax.bias * LOG2_E
    blocks = [
        _block(softmax.weight, bias, torch.stack([one, other]) * LOG2_E, wanted)
        for one, other, wanted in zip(
            torch.split(forward, ROWS_AT_ONCE),
            torch.split(backward, ROWS_AT_ONCE),
            torch.split(targets, ROWS_AT_ONCE, dim=1),
            strict=True,
        )
    ]
    return Statistics(*(torch.cat(parts, dim=1) for parts in zip(*blocks, strict=True)))


def _block(weight: Tensor, bias: Tensor, states: Tensor, targets: Tensor) -> Statistics:
    """The statistics of n rows; ``states`` (2, n, P) and ``bias`` give logits in bits."""
    count, num_words = targets.shape[1], len(weight)
    wanted = (states * weight[targets]).sum(dim=2) + bias[targets]  # (2, n)
    rows = states.flatten(0, 1)
    common = slice(0, min(COMMON_WORDS, num_words))
    highest = torch.addmm(bias[common], rows, weight[common].t()).amax(dim=1).view(2, count)
    # Near the highest logit, so that no power of two overflows.
    shift = torch.maximum(wanted, highest)
    wanted, moved = (torch.cat([each, each.mean(dim=0, keepdim=True)]) for each in (wanted, shift))
    # More than the rounding error of the matrix product, so that a target cannot outrank itself.
    threshold = wanted - moved + ROUNDING * (1 + wanted.abs())
    total, weighted = (rows.new_zeros(3, count, dtype=torch.float64) for _ in range(2))
    better = targets.new_zeros(3, count)
    add_sums = _sums(rows)
    size = min(WORDS_AT_ONCE, num_words)
    buffer = rows.new_empty(2 * count * size)
    for start in range(0, num_words, size):
        words = slice(start, min(start + size, num_words))
        shape = (2, count, words.stop - start)
        logits = buffer[: math.prod(shape)].view(shape)
        torch.mm(rows, weight[words].t(), out=logits.flatten(0, 1))
        add_sums(logits, bias[words], shift, threshold, Sums(total, weighted, better))
    log_total = total.log2()
    found = Statistics(
        moved.double() + log_total - wanted, log_total - weighted / total, better + 1
    )
    # If a rare word is far above all common ones, or if the directions disagree completely.
    is_lost = ~(log_total.abs() < MOST_BITS).all(dim=0)
    if bool(is_lost.any()):
        exact = _exactly(weight, bias, states[:, is_lost], targets[:, is_lost])
        for mine, right in zip(found, exact, strict=True):
            mine[:, is_lost] = right
    return found


def _sums(rows: Tensor) -> SoftmaxSums:
    """The compiled sums if available, otherwise PyTorch's."""
    is_float = rows.device.type == "cpu" and rows.dtype == torch.float32
    return (compiled_sums() if is_float else None) or torch_sums


def _exactly(weight: Tensor, bias: Tensor, states: Tensor, targets: Tensor) -> Statistics:
    """The same for a few rows, in float64 and without overflow."""
    parts = []
    for number, (target, other) in enumerate(targets.t().tolist()):
        both = states[:, number].double() @ weight.double().t() + bias.double()  # (2, V)
        logits = torch.cat([both, both.mean(dim=0, keepdim=True)])
        log_shares = (logits / LOG2_E).log_softmax(dim=1) * LOG2_E
        wanted = log_shares[range(3), [target, other, target]][:, None]
        entropy = -(log_shares.exp2() * log_shares).nan_to_num().sum(dim=1, keepdim=True)
        rank = 1 + (log_shares > wanted + ROUNDING).sum(dim=1, keepdim=True)
        parts.append(Statistics(-wanted, entropy, rank))
    return Statistics(*(torch.cat(each, dim=1) for each in zip(*parts, strict=True)))
