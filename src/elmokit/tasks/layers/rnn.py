"""Bidirectional LSTM and GRU over packed rows, with hand-written gradients.

torch's own RNNs, given packed sequences on a CPU, slice the rows of every step out of one tensor,
and each slice's gradient is a tensor as large as the whole: their backward pass is quadratic in
the length. This is 1.4 times as fast at 25 tokens, and 5 times at 250.

    r, z = sigmoid(x W_x + h W_h + b)       n = tanh(x W_n + b_n + r * (h W_hn + b_hn))
    h' = (1 - z) * n + z * h                                        (the GRU)
"""

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from elmokit.model.kernels.lstm_training import LstmFunction
from elmokit.model.packing import pack

aten = torch.ops.aten


class PackedBiRnn(nn.Module):
    """(B, T, input_dim) -> (B, T, 2 * hidden_dim): LSTM or GRU in both directions.

    Zero beyond each length, and what the input holds there has no influence. A sentence of no
    tokens is all zeros.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, *, cell: Literal["lstm", "gru"] = "lstm"
    ) -> None:
        super().__init__()
        layer = LstmDirection if cell == "lstm" else GruDirection
        self.output_dim = 2 * hidden_dim
        self.forward_rnn = layer(input_dim, hidden_dim)
        self.backward_rnn = layer(input_dim, hidden_dim)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """``lengths`` (B,) on the CPU."""
        packing = pack(lengths.tolist(), inputs.shape[1], inputs.device)
        flat = inputs.reshape(-1, inputs.shape[-1])  # (B * T, input)
        sides = []
        for rnn, places in (
            (self.forward_rnn, packing.forward),
            (self.backward_rnn, packing.backward),
        ):
            outputs = rnn(flat[places], packing.batch_sizes)  # (S, H)
            empty = outputs.new_zeros(len(flat), outputs.shape[1])
            sides.append(empty.index_copy(0, places, outputs))
        return torch.cat(sides, dim=-1).view(*inputs.shape[:2], self.output_dim)


class LstmDirection(nn.Module):
    """(S, input) packed rows -> (S, H). Gates i, f, o, j."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.input_weight = nn.Parameter(torch.empty(input_dim, 4 * hidden_dim))
        self.hidden_weight = nn.Parameter(torch.empty(hidden_dim, 4 * hidden_dim))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_dim))
        _reset(self.input_weight, self.hidden_weight)
        with torch.no_grad():
            self.bias[hidden_dim : 2 * hidden_dim] = 1.0  # remember at first

    def forward(self, inputs: Tensor, batch_sizes: Sequence[int]) -> Tensor:
        """``batch_sizes``: how many sentences have each step, as ``pack`` gives them."""
        start = inputs.new_zeros(batch_sizes[0] if batch_sizes else 0, self.hidden_dim)
        outputs: Tensor = LstmFunction.apply(
            inputs, start, start, None, batch_sizes,
            self.input_weight, self.hidden_weight, self.bias, None, None, None,
        )[0]  # type: ignore[no-untyped-call]  # fmt: skip
        return outputs


class GruDirection(nn.Module):
    """(S, input) packed rows -> (S, H). Gates r, z, n."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(input_dim, 3 * hidden_dim))
        self.hidden_weight = nn.Parameter(torch.empty(hidden_dim, 3 * hidden_dim))
        self.bias = nn.Parameter(torch.zeros(3 * hidden_dim))
        self.inner_bias = nn.Parameter(torch.zeros(hidden_dim))
        _reset(self.input_weight, self.hidden_weight)

    def forward(self, inputs: Tensor, batch_sizes: Sequence[int]) -> Tensor:
        """``batch_sizes``: how many sentences have each step, as ``pack`` gives them."""
        outputs: Tensor = GruFunction.apply(
            inputs, batch_sizes, self.input_weight, self.hidden_weight, self.bias, self.inner_bias
        )  # type: ignore[no-untyped-call]
        return outputs


def _reset(input_weight: Tensor, hidden_weight: Tensor) -> None:
    nn.init.xavier_uniform_(input_weight)
    for gate in torch.split(hidden_weight.detach(), len(hidden_weight), dim=1):
        nn.init.orthogonal_(gate)


class GruFunction(torch.autograd.Function):
    """One direction of a GRU over packed rows."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        batch_sizes: Sequence[int],
        input_weight: Tensor,
        hidden_weight: Tensor,
        bias: Tensor,
        inner_bias: Tensor,
    ) -> Tensor:
        """``inputs`` (S, input) -> (S, H)"""
        width = len(inner_bias)
        gates = torch.addmm(bias, inputs, input_weight)  # (S, 3H), becomes r, z, n
        outputs = gates.new_empty(len(gates), width)
        before = torch.empty_like(outputs)  # h_{t-1}
        inner = torch.empty_like(outputs)  # h W_hn + b_hn
        num_sentences = batch_sizes[0] if batch_sizes else 0
        hidden = gates.new_zeros(num_sentences, width)
        recurrent = gates.new_empty(num_sentences, 3 * width)
        start = 0
        for size in batch_sizes:
            step = slice(start, start + size)
            before[step] = hidden[:size]
            torch.mm(before[step], hidden_weight, out=recurrent[:size])
            now = gates[step]
            now[:, : 2 * width].add_(recurrent[:size, : 2 * width]).sigmoid_()
            torch.add(recurrent[:size, 2 * width :], inner_bias, out=inner[step])
            new = now[:, 2 * width :].addcmul_(now[:, :width], inner[step]).tanh_()
            hidden = torch.lerp(new, before[step], now[:, width : 2 * width], out=outputs[step])
            start += size
        ctx.batch_sizes = batch_sizes
        ctx.save_for_backward(inputs, input_weight, hidden_weight, gates, before, inner)
        return outputs

    @staticmethod
    def backward(ctx: Any, grad_outputs: Tensor) -> tuple[Any, ...]:
        """Gradients of all tensors, from that of the outputs (S, H)."""
        inputs, input_weight, hidden_weight, gates, before, inner = ctx.saved_tensors
        width = before.shape[1]
        reset, update, new = torch.split(gates, width, dim=1)
        to_recurrent = torch.empty_like(gates)  # of h W_h: r and z before the sigmoid, inner
        to_new = torch.empty_like(before)  # of n before the tanh
        num_sentences = ctx.batch_sizes[0] if ctx.batch_sizes else 0
        to_hidden = before.new_zeros(num_sentences, width)
        hidden_weight_t = hidden_weight.t()
        start = len(before)
        for size in reversed(ctx.batch_sizes):
            start -= size
            step = slice(start, start + size)
            to_reset, to_update, to_inner = torch.split(to_recurrent[step], width, dim=1)
            output_grad = to_hidden[:size].add_(grad_outputs[step])
            torch.mul(output_grad, before[step] - new[step], out=to_update)
            kept = output_grad * update[step]
            torch.sub(output_grad, kept, out=to_new[step])
            aten.tanh_backward.grad_input(to_new[step], new[step], grad_input=to_new[step])
            torch.mul(to_new[step], inner[step], out=to_reset)
            torch.mul(to_new[step], reset[step], out=to_inner)
            sigmoids = to_recurrent[step][:, : 2 * width], gates[step][:, : 2 * width]
            aten.sigmoid_backward.grad_input(*sigmoids, grad_input=sigmoids[0])
            torch.addmm(kept, to_recurrent[step], hidden_weight_t, out=to_hidden[:size])
        to_hidden_weight = before.t() @ to_recurrent
        to_inner_bias = to_recurrent[:, 2 * width :].sum(dim=0)
        to_gates = to_recurrent  # the same but for n, which inner reaches through r
        to_gates[:, 2 * width :] = to_new
        return (
            to_gates @ input_weight.t() if ctx.needs_input_grad[0] else None,
            None,
            inputs.t() @ to_gates,
            to_hidden_weight,
            to_gates.sum(dim=0),
            to_inner_bias,
        )
