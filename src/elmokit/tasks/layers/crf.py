"""A linear-chain conditional random field: scores of tags and of steps from tag to tag.

    score(y) = start[y_1] + sum_t emission[t, y_t] + sum_t step[y_{t-1}, y_t] + end[y_n]
    log p(y) = score(y) - log sum over all allowed y' of exp(score(y'))

Steps that a tagging scheme forbids (I-PER after B-LOC) have no weight in the sum and are never
decoded. pytorch-crf (latest version 0.7.2, 2019) is not used, because it cannot forbid steps.
"""

import torch
from torch import Tensor, nn

from elmokit.tasks.layers.viterbi import viterbi

FORBIDDEN = -1e4
"""Added to a forbidden step: far below any score, yet finite, so that gradients stay clean."""


class Crf(nn.Module):
    """K tags. Sentences may have any length, 0 included."""

    start_forbidden: Tensor
    step_forbidden: Tensor
    end_forbidden: Tensor

    def __init__(
        self,
        num_tags: int,
        *,
        starts: Tensor | None = None,
        steps: Tensor | None = None,
        ends: Tensor | None = None,
    ) -> None:
        """``starts`` (K,), ``steps`` (K, K) from row to column, ``ends`` (K,): what is allowed."""
        super().__init__()
        self.start = nn.Parameter(torch.zeros(num_tags))
        self.step = nn.Parameter(0.01 * torch.randn(num_tags, num_tags))
        self.end = nn.Parameter(torch.zeros(num_tags))
        for name, allowed in (("start", starts), ("step", steps), ("end", ends)):
            penalty = torch.zeros_like(getattr(self, name).data)
            if allowed is not None:
                penalty = penalty.masked_fill(~allowed, FORBIDDEN)
            self.register_buffer(f"{name}_forbidden", penalty, persistent=False)

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """(B,) log p of ``tags`` (B, T) under ``emissions`` (B, T, K); ``mask`` (B, T)."""
        return self._score(emissions, tags, mask) - self._log_sum(emissions, mask)

    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """The best tags of each sentence, by Viterbi."""
        start, step, end = self._weights()
        return viterbi(emissions, mask.sum(dim=1).tolist(), start, step, end)

    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        return (
            self.start + self.start_forbidden,
            self.step + self.step_forbidden,
            self.end + self.end_forbidden,
        )

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        start, step, end = self._weights()
        inside = mask.to(emissions.dtype)
        chosen = emissions.gather(2, tags[:, :, None])[:, :, 0] * inside  # (B, T)
        steps = step[tags[:, :-1], tags[:, 1:]] * inside[:, 1:]  # (B, T - 1)
        last = tags.gather(1, (mask.sum(dim=1, keepdim=True) - 1).clamp(min=0))[:, 0]
        ends = (start[tags[:, 0]] + end[last]) * inside[:, 0]
        return ends + chosen.sum(dim=1) + steps.sum(dim=1)

    def _log_sum(self, emissions: Tensor, mask: Tensor) -> Tensor:
        start, step, end = self._weights()
        total = start + emissions[:, 0]  # (B, K): log sum over the paths to each tag
        for now in range(1, emissions.shape[1]):
            reached = torch.logsumexp(total[:, :, None] + step, dim=1) + emissions[:, now]
            total = torch.where(mask[:, now, None], reached, total)
        return torch.logsumexp(total + end, dim=1) * mask[:, 0]
