"""Held to torch's own LSTM and GRU, outputs and gradients, and to finite differences."""

from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmokit.tasks.layers.rnn import GruDirection, LstmDirection, PackedBiRnn

LENGTHS = torch.tensor([3, 6, 1, 4])


def torch_twin(rnn: PackedBiRnn, cell: Literal["lstm", "gru"]) -> nn.Module:
    """torch's module with the same weights."""
    input_dim, hidden_dim = rnn.forward_rnn.input_weight.shape[0], rnn.output_dim // 2
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    twin = kind(input_dim, hidden_dim, batch_first=True, bidirectional=True)
    for side, suffix in ((rnn.forward_rnn, ""), (rnn.backward_rnn, "_reverse")):
        inner = torch.zeros_like(side.bias)
        if isinstance(side, GruDirection):
            inner = torch.cat([torch.zeros(2 * hidden_dim), side.inner_bias])
            order = range(3)
        else:
            order = (0, 1, 3, 2)  # torch keeps i, f, j, o
        for name, weight in (
            ("weight_ih", side.input_weight),
            ("weight_hh", side.hidden_weight),
            ("bias_ih", side.bias),
            ("bias_hh", inner),
        ):
            gates = weight.detach().split(hidden_dim, dim=-1)
            joined = torch.cat([gates[gate] for gate in order], dim=-1)
            getattr(twin, f"{name}_l0{suffix}").data.copy_(joined.T if joined.ndim == 2 else joined)
    return twin


def shaken(rnn: PackedBiRnn) -> PackedBiRnn:
    with torch.no_grad():
        for weight in rnn.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return rnn


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_it_equals_torchs_own(cell: Literal["lstm", "gru"]) -> None:
    rnn = shaken(PackedBiRnn(5, 4, cell=cell))
    twin = torch_twin(rnn, cell)
    inputs = torch.randn(4, 7, 5, requires_grad=True)
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True, total_length=7)
    found = rnn(inputs, LENGTHS)
    torch.testing.assert_close(found, expected)
    weights = torch.randn_like(found)
    (gradient,) = torch.autograd.grad((found * weights).sum(), inputs)
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), inputs)
    torch.testing.assert_close(gradient, expected_gradient)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_its_gradients_are_right(cell: Literal["lstm", "gru"]) -> None:
    rnn = shaken(PackedBiRnn(3, 2, cell=cell)).double()
    inputs = torch.randn(3, 4, 3, dtype=torch.double, requires_grad=True)

    def run(inputs: Tensor, *_: nn.Parameter) -> Tensor:
        result: Tensor = rnn(inputs, torch.tensor([2, 0, 4]))
        return result

    assert torch.autograd.gradcheck(run, (inputs, *rnn.parameters()))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_nothing_but_empty_sentences_gives_zeros(cell: Literal["lstm", "gru"]) -> None:
    outputs = PackedBiRnn(3, 2, cell=cell)(torch.randn(2, 1, 3), torch.tensor([0, 0]))
    assert outputs.shape == (2, 1, 4)
    assert not outputs.any()


def test_the_directions_have_their_own_weights() -> None:
    rnn = PackedBiRnn(3, 2)
    assert isinstance(rnn.forward_rnn, LstmDirection)
    assert not torch.equal(rnn.forward_rnn.input_weight, rnn.backward_rnn.input_weight)
