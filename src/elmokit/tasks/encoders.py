"""Small pieces that several task models share: a packed bidirectional RNN, dropouts."""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class BiRnn(nn.Module):
    """(B, T, input_dim) -> (B, T, 2 * hidden_dim): LSTM or GRU in both directions, packed.

    Zero beyond each length, and what stands there in the input has no influence. A sentence of no
    tokens is all zeros.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, *, cell: Literal["lstm", "gru"] = "lstm"
    ) -> None:
        super().__init__()
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.rnn = kind(input_dim, hidden_dim, batch_first=True, bidirectional=True)
        self.output_dim = 2 * hidden_dim
        for name, weight in self.rnn.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(weight)
            elif name.startswith("weight_hh"):
                for gate in torch.split(weight.data, hidden_dim):
                    nn.init.orthogonal_(gate)
            else:
                nn.init.zeros_(weight)
                if cell == "lstm" and name.startswith("bias_ih"):
                    weight.data[hidden_dim : 2 * hidden_dim] = 1.0  # remember at first

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """``lengths`` (B,) on the CPU."""
        packed = pack_padded_sequence(
            inputs, lengths.clamp(min=1), batch_first=True, enforce_sorted=False
        )
        outputs, _ = pad_packed_sequence(
            self.rnn(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )
        if bool((lengths == 0).any()):
            outputs = outputs * (lengths > 0).to(outputs)[:, None, None]
        return outputs


class VariationalDropout(nn.Module):
    """Drops the same features at every token of a sentence: one mask (B, 1, E) for (B, T, E)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return inputs
        mask = torch.empty_like(inputs[:, :1]).bernoulli_(1 - self.rate)
        return inputs * mask.div_(1 - self.rate)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension where ``mask`` holds; all zeros where it never does."""
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights * mask


def masked_max(inputs: Tensor, mask: Tensor) -> Tensor:
    """(B, T, E), (B, T) -> (B, E): the greatest value at any token; zeros where there is none."""
    lowest = torch.finfo(inputs.dtype).min
    best = inputs.masked_fill(~mask[:, :, None], lowest).amax(dim=1)
    return best * mask.any(dim=1, keepdim=True)


def masked_mean(inputs: Tensor, mask: Tensor) -> Tensor:
    """(B, T, E), (B, T) -> (B, E); zeros where there is no token."""
    weights = mask.to(inputs.dtype)
    total = torch.einsum("bte,bt->be", inputs, weights)
    return total / weights.sum(dim=1, keepdim=True).clamp(min=1)
