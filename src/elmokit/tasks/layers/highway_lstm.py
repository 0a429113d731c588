"""Interleaved highway LSTMs (He et al. 2017): layers that read in turn forward and backward.

    i, f, o, r, j = x_t W_x + h_{t-1} W_h + b
    c_t = sigmoid(f) * c_{t-1} + sigmoid(i) * tanh(j)
    h_t = z * ( sigmoid(r) * sigmoid(o) * tanh(c_t) + (1 - sigmoid(r)) * x_t W_c )

r lets a layer's input through, so that eight layers train; z is one dropout mask per sentence
and layer, the same at every step (variational dropout). Rows are packed as in
``model/kernels/lstm_inference``: step 0 of every sentence, then step 1, ..., so padding is never
computed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elmokit.model.packing import Packing

aten = torch.ops.aten


class HighwayLstmLayer(nn.Module):
    """One layer in one direction over packed rows: (S, input) -> (S, H)."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.input_weight = nn.Parameter(torch.empty(input_dim, 5 * hidden_dim))
        self.hidden_weight = nn.Parameter(torch.empty(hidden_dim, 5 * hidden_dim))
        self.bias = nn.Parameter(torch.zeros(5 * hidden_dim))
        self.carry_weight = nn.Parameter(torch.empty(input_dim, hidden_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal gates; a forget bias of 1."""
        hidden_dim = self.hidden_weight.shape[0]
        for weight in (self.input_weight, self.hidden_weight, self.carry_weight):
            for gate in torch.split(weight.detach(), hidden_dim, dim=1):
                nn.init.orthogonal_(gate)
        with torch.no_grad():
            self.bias[hidden_dim : 2 * hidden_dim] = 1.0  # at first, remember

    def forward(self, inputs: Tensor, batch_sizes: Sequence[int], mask: Tensor) -> Tensor:
        """``mask`` (B, H), rows in packed order: z above, already scaled."""
        outputs: Tensor = HighwayLstmFunction.apply(
            inputs, mask, batch_sizes,
            self.input_weight, self.hidden_weight, self.bias, self.carry_weight,
        )  # type: ignore[no-untyped-call]  # fmt: skip
        return outputs


class InterleavedLstm(nn.Module):
    """``num_layers`` layers, the first forward, the second backward, and so on."""

    def __init__(self, input_dim: int, hidden_dim: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.hidden_dim = hidden_dim
        self.dropout = dropout
        widths = [input_dim] + [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(HighwayLstmLayer(width, hidden_dim) for width in widths)

    def forward(self, inputs: Tensor, packing: Packing) -> Tensor:
        """(B, T, input) -> (B, T, H), zero where there is no token."""
        rows = inputs.reshape(-1, inputs.shape[-1])[packing.forward]  # (S, input)
        # Each row's mirror image: as far from its sentence's end as the row is from the start.
        row_of = packing.forward.new_zeros(inputs.shape[0] * inputs.shape[1])
        row_of[packing.forward] = torch.arange(len(rows), device=rows.device)
        mirrored = row_of[packing.backward]  # (S,)
        for number, layer in enumerate(self.layers):
            mask = self._mask(rows, len(packing.order))
            if number % 2 == 0:
                rows = layer(rows, packing.batch_sizes, mask)
            else:
                rows = layer(rows[mirrored], packing.batch_sizes, mask)[mirrored]
        hidden = rows.new_zeros(inputs.shape[0] * inputs.shape[1], self.hidden_dim)
        hidden = hidden.index_copy(0, packing.forward, rows)
        return hidden.view(inputs.shape[0], inputs.shape[1], self.hidden_dim)

    def _mask(self, like: Tensor, num_sentences: int) -> Tensor:
        ones = like.new_ones(num_sentences, self.hidden_dim)
        return nn.functional.dropout(ones, self.dropout, training=self.training)


class HighwayLstmFunction(torch.autograd.Function):
    """The recurrence with a hand-written gradient: autograd would record ten nodes per step."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        mask: Tensor,
        batch_sizes: Sequence[int],
        input_weight: Tensor,
        hidden_weight: Tensor,
        bias: Tensor,
        carry_weight: Tensor,
    ) -> Tensor:
        """``inputs`` (S, input), ``mask`` (B, H) -> (S, H)"""
        width = hidden_weight.shape[0]
        gates = torch.addmm(bias, inputs, input_weight)  # (S, 5H), becomes the activations
        carry = inputs @ carry_weight  # (S, H)
        cells = torch.empty_like(carry)
        squashed = torch.empty_like(carry)  # tanh(c)
        outputs = torch.empty_like(carry)
        before_hidden = torch.empty_like(carry)
        before_cell = torch.empty_like(carry)
        hidden = carry.new_zeros(len(mask), width)
        cell = carry.new_zeros(len(mask), width)
        start = 0
        for size in batch_sizes:
            step = slice(start, start + size)
            before_hidden[step] = hidden[:size]
            before_cell[step] = cell[:size]
            now = gates[step].addmm_(hidden[:size], hidden_weight)
            in_forget_out_through = now[:, : 4 * width].sigmoid_()
            candidate = now[:, 4 * width :].tanh_()
            in_, forget, out, through = torch.split(in_forget_out_through, width, dim=1)
            new_cell = torch.mul(before_cell[step], forget, out=cells[step])
            new_cell.addcmul_(in_, candidate)
            torch.tanh(new_cell, out=squashed[step])
            full = torch.mul(squashed[step], out, out=outputs[step])
            torch.lerp(carry[step], full, through, out=full)
            full.mul_(mask[:size])
            hidden, cell = full, new_cell
            start += size
        ctx.batch_sizes = batch_sizes
        ctx.save_for_backward(
            inputs, mask, input_weight, hidden_weight, carry_weight,
            gates, carry, squashed, before_hidden, before_cell,
        )  # fmt: skip
        return outputs

    @staticmethod
    def backward(ctx: Any, grad_outputs: Tensor) -> tuple[Any, ...]:
        """Gradients of all tensors, from that of the outputs (S, H)."""
        (
            inputs, mask, input_weight, hidden_weight, carry_weight,
            gates, carry, squashed, before_hidden, before_cell,
        ) = ctx.saved_tensors  # fmt: skip
        width = hidden_weight.shape[0]
        to_gates = torch.empty_like(gates)  # before sigmoid and tanh
        to_carry = torch.empty_like(carry)
        to_hidden = carry.new_zeros(len(mask), width)  # of h_t, from step t + 1
        to_cell = carry.new_zeros(len(mask), width)
        in_, forget, out, through, candidate = torch.split(gates, width, dim=1)
        full = out * squashed  # (S, H): h before the highway
        hidden_weight_t = hidden_weight.t()
        start = len(carry)
        for size in reversed(ctx.batch_sizes):
            start -= size
            step = slice(start, start + size)
            now, later_cell = to_gates[step], to_cell[:size]
            to_in, to_forget, to_out, to_through, to_candidate = torch.split(now, width, dim=1)
            output_grad = to_hidden[:size].add_(grad_outputs[step]).mul_(mask[:size])
            torch.mul(output_grad, full[step] - carry[step], out=to_through)
            to_full = output_grad * through[step]
            torch.sub(output_grad, to_full, out=to_carry[step])
            torch.mul(to_full, squashed[step], out=to_out)
            to_full.mul_(out[step])
            aten.tanh_backward.grad_input(to_full, squashed[step], grad_input=to_full)
            later_cell.add_(to_full)
            torch.mul(later_cell, candidate[step], out=to_in)
            torch.mul(later_cell, before_cell[step], out=to_forget)
            torch.mul(later_cell, in_[step], out=to_candidate)
            sigmoids = now[:, : 4 * width], gates[step][:, : 4 * width]
            aten.sigmoid_backward.grad_input(*sigmoids, grad_input=sigmoids[0])
            aten.tanh_backward.grad_input(to_candidate, candidate[step], grad_input=to_candidate)
            later_cell.mul_(forget[step])
            torch.mm(now, hidden_weight_t, out=to_hidden[:size])
        return (
            (to_gates @ input_weight.t()).addmm_(to_carry, carry_weight.t())
            if ctx.needs_input_grad[0]
            else None,
            None,
            None,
            inputs.t() @ to_gates,
            before_hidden.t() @ to_gates,
            to_gates.sum(dim=0),
            inputs.t() @ to_carry,
        )
