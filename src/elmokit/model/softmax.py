"""Top layer -> next (previous) word: one softmax, shared by the two directions.

Everything is computed a block at a time, so that the whole (N, V) or (N, K) matrix of logits never
exists; the loss and its gradient together.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmokit.model.kernels.products import add_product, product
from elmokit.text.vocabulary import Vocabulary

ROWS_AT_ONCE = 256
WORDS_AT_ONCE = 1024
"""In the full softmax without a gradient: logits of 1 MB, which a core's cache holds."""


class Softmax(nn.Module):
    """Rows of W (V, P) and b (V): logits = h W^T + b."""

    def __init__(self, num_words: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_words, projection_dim))
        self.bias = nn.Parameter(torch.zeros(num_words))
        nn.init.normal_(self.weight, std=projection_dim**-0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        """(N, P) -> (N, V) logits."""
        return torch.addmm(self.bias, hidden, self.weight.t())

    @torch.no_grad()
    def negative_log_likelihoods(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """(N,) negative log-likelihoods in nats, by the full softmax, in float64.

        Sums over many words are computed in float64: in float32 they are too small by a millionth.
        """
        blocks = [hidden.new_zeros(0, dtype=torch.float64)]
        buffer = hidden.new_empty(ROWS_AT_ONCE * WORDS_AT_ONCE)
        for rows, wanted in zip(
            torch.split(hidden, ROWS_AT_ONCE), torch.split(targets, ROWS_AT_ONCE), strict=True
        ):
            target_logits = (rows * self.weight[wanted]).sum(dim=1) + self.bias[wanted]
            highest = torch.full_like(target_logits, -torch.inf)
            total = torch.zeros_like(target_logits, dtype=torch.float64)  # of exp(logit - highest)
            for weight, bias in zip(
                torch.split(self.weight, WORDS_AT_ONCE),
                torch.split(self.bias, WORDS_AT_ONCE),
                strict=True,
            ):
                logits = buffer[: len(rows) * len(bias)].view(len(rows), len(bias))
                torch.addmm(bias, rows, weight.t(), out=logits)
                higher = torch.maximum(highest, logits.amax(dim=1))
                total *= (highest - higher).double().exp()
                total += logits.sub_(higher[:, None]).exp_().sum(dim=1)
                highest = higher
            blocks.append(total.log() + (highest - target_logits))
        return torch.cat(blocks)


class OutputWords(NamedTuple):
    """A softmax and the words of its rows."""

    softmax: Softmax
    vocabulary: Vocabulary


class Negatives(NamedTuple):
    """K words drawn without replacement, and the log of each word's expected count."""

    words: npt.NDArray[np.int64]  # (K,), sorted
    log_expected: npt.NDArray[np.float32]  # (V,)


class LogUniformSampler:
    """Draws word k with probability log((k + 2) / (k + 1)) / log(V + 1), close to Zipf's law.

    Words are drawn until K distinct ones are found; after ``tries`` draws a word is among them with
    probability 1 - (1 - p)^tries, whose log the sampled softmax subtracts from its logit.
    """

    def __init__(self, num_words: int, num_negatives: int) -> None:
        self.num_words = num_words
        self.num_negatives = min(num_negatives, num_words)
        rank = np.arange(num_words, dtype=np.float64)
        probability = np.log((rank + 2) / (rank + 1)) / np.log(num_words + 1)
        self.log_miss = np.log1p(-probability)

    def draw(self, random: np.random.Generator) -> Negatives:
        """Draw K distinct words; also return the log probability of each word to be among them."""
        drawn = np.empty(0, dtype=np.int64)
        while True:
            uniform = random.random(4 * self.num_negatives)
            more = np.exp(uniform * np.log(self.num_words + 1)).astype(np.int64) - 1
            drawn = np.concatenate([drawn, np.minimum(more, self.num_words - 1)])
            words, first_seen = np.unique(drawn, return_index=True)
            if len(words) >= self.num_negatives:
                break
        last = np.partition(first_seen, self.num_negatives - 1)[self.num_negatives - 1]
        log_expected = np.log(-np.expm1((last + 1) * self.log_miss))
        return Negatives(words[first_seen <= last], log_expected.astype(np.float32))


def sampled_softmax_loss(
    hidden: Tensor,
    rows: Tensor,
    bias: Tensor,
    targets: Tensor,
    candidates: "SampledCandidates",
    gradient_dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Mean loss of (N, P) hidden vectors against their targets and the drawn negatives.

    ``rows`` (R, P) and ``bias`` (R) are the softmax rows in play; ``targets`` (N,) and
    ``candidates.negatives`` (K,) point into them. ``gradient_dtype``: dtype of the gradient's
    matrix products; the predictions themselves are not rounded.
    """
    result: Tensor = _SampledSoftmax.apply(hidden, rows, bias, targets, candidates, gradient_dtype)  # type: ignore[no-untyped-call]
    return result


def full_softmax_loss(hidden: Tensor, rows: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Mean loss of (N, P) hidden vectors against all V words."""
    result: Tensor = _FullSoftmax.apply(hidden, rows, bias, targets)  # type: ignore[no-untyped-call]
    return result


class SampledCandidates(NamedTuple):
    """The negatives of one batch, as the loss reads them."""

    negatives: Tensor  # (K,): rows
    negative_offset: Tensor  # (K,): -log expected count
    target_offset: Tensor  # (N,)
    hit_row: Tensor  # tokens whose target was drawn as a negative ...
    hit_column: Tensor  # ... and where: it must not count against itself


class _SampledSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        rows: Tensor,
        bias: Tensor,
        targets: Tensor,
        given: SampledCandidates,
        gradient_dtype: torch.dtype,
    ) -> Tensor:
        negative_rows = rows[given.negatives]  # (K, P)
        negative_bias = bias[given.negatives] + given.negative_offset
        target_rows = rows[targets]  # (N, P)
        target_logits = (hidden * target_rows).sum(1) + bias[targets] + given.target_offset
        narrow_rows, narrow_hidden = negative_rows.to(gradient_dtype), hidden.to(gradient_dtype)
        to_hidden = torch.empty_like(hidden)
        to_negatives = torch.zeros_like(negative_rows)
        to_negative_bias = torch.zeros_like(negative_bias)
        log_norm = torch.empty_like(target_logits)
        buffer = hidden.new_empty(min(len(hidden), ROWS_AT_ONCE), len(negative_rows))
        bounds = torch.searchsorted(
            given.hit_row,
            torch.arange(0, len(hidden) + ROWS_AT_ONCE, ROWS_AT_ONCE, device=hidden.device),
        ).tolist()
        for number, start in enumerate(range(0, len(hidden), ROWS_AT_ONCE)):
            block = slice(start, min(start + ROWS_AT_ONCE, len(hidden)))
            logits = buffer[: block.stop - start]
            torch.addmm(negative_bias, hidden[block], negative_rows.t(), out=logits)  # (n, K)
            hits = slice(bounds[number], bounds[number + 1])
            logits[given.hit_row[hits] - start, given.hit_column[hits]] = -torch.inf
            highest = torch.maximum(logits.amax(dim=1), target_logits[block])
            shares = logits.sub_(highest[:, None]).exp_()
            sums = shares.sum(dim=1).add_((target_logits[block] - highest).exp_())
            shares.div_(sums[:, None])  # the probabilities of the negatives
            torch.add(sums.log_(), highest, out=log_norm[block])
            to_negative_bias += shares.sum(dim=0)
            shares = shares.to(gradient_dtype)
            product(shares, narrow_rows, out=to_hidden[block])
            add_product(shares.t(), narrow_hidden[block], out=to_negatives)
        losses = log_norm - target_logits  # (N,): -log p(target)
        to_target = torch.expm1(-losses)  # p(target) - 1
        to_hidden.addcmul_(target_rows, to_target[:, None])
        to_rows = torch.zeros_like(rows)
        to_bias = torch.zeros_like(bias)
        to_rows.index_add_(0, given.negatives, to_negatives)
        to_rows.index_add_(0, targets, hidden * to_target[:, None])
        to_bias.index_add_(0, given.negatives, to_negative_bias)
        to_bias.index_add_(0, targets, to_target)
        total = losses.sum(dtype=torch.float64)
        return _mean_with_gradients(ctx, total, (to_hidden, to_rows, to_bias), len(hidden))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return *_scaled_gradients(ctx, gradient), None, None, None


class _FullSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, rows: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        to_hidden = torch.empty_like(hidden)
        to_rows, to_bias = torch.zeros_like(rows), torch.zeros_like(bias)
        total = hidden.new_zeros((), dtype=torch.float64)
        for start in range(0, len(hidden), ROWS_AT_ONCE):
            block = slice(start, min(start + ROWS_AT_ONCE, len(hidden)))
            scores = torch.log_softmax(torch.addmm(bias, hidden[block], rows.t()), dim=1)
            wanted = targets[block, None]
            total -= scores.gather(1, wanted).sum()
            share = scores.exp_()
            share.scatter_add_(1, wanted, share.new_full((), -1.0).expand_as(wanted))
            torch.mm(share, rows, out=to_hidden[block])
            to_rows.addmm_(share.t(), hidden[block])
            to_bias += share.sum(dim=0)
        return _mean_with_gradients(ctx, total, (to_hidden, to_rows, to_bias), len(hidden))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return *_scaled_gradients(ctx, gradient), None


def _mean_with_gradients(
    ctx: Any, total: Tensor, gradients: tuple[Tensor, ...], count: int
) -> Tensor:
    ctx.count = count
    ctx.save_for_backward(*gradients)
    return (total / count).to(gradients[0].dtype)


def _scaled_gradients(ctx: Any, gradient: Tensor) -> list[Tensor]:
    scale = gradient / ctx.count
    return [tensor * scale for tensor in ctx.saved_tensors]
