"""The hand-written recurrence against a twin written from the equations, and its gradient."""

import torch
from torch import Tensor, nn

from elmokit.model.packing import pack
from elmokit.tasks.layers.highway_lstm import HighwayLstmLayer, InterleavedLstm

CPU = torch.device("cpu")


def twin_layer(layer: HighwayLstmLayer, sentence: Tensor) -> Tensor:
    """One sentence (T, input), one step at a time."""
    width = layer.hidden_weight.shape[0]
    hidden = cell = sentence.new_zeros(width)
    outputs = []
    for token in sentence:
        gates = token @ layer.input_weight + hidden @ layer.hidden_weight + layer.bias
        i, f, o, r, j = gates.split(width)
        cell = f.sigmoid() * cell + i.sigmoid() * j.tanh()
        through = r.sigmoid()
        hidden = through * o.sigmoid() * cell.tanh() + (1 - through) * (token @ layer.carry_weight)
        outputs.append(hidden)
    return torch.stack(outputs)


def twin_stack(stack: InterleavedLstm, sentence: Tensor) -> Tensor:
    for number, layer in enumerate(stack.layers):
        assert isinstance(layer, HighwayLstmLayer)
        turned = sentence.flip(0) if number % 2 else sentence
        result = twin_layer(layer, turned)
        sentence = result.flip(0) if number % 2 else result
    return sentence


def shaken(stack: InterleavedLstm) -> InterleavedLstm:
    with torch.no_grad():
        for weight in stack.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
    return stack


def test_it_equals_the_equations() -> None:
    torch.manual_seed(3)
    stack = shaken(InterleavedLstm(5, 4, num_layers=3, dropout=0.4)).eval()
    lengths = [2, 6, 0, 3]
    inputs = torch.randn(4, 7, 5)
    outputs = stack(inputs, pack(lengths, 7, CPU))
    assert outputs.shape == (4, 7, 4)
    for row, length in enumerate(lengths):
        if length:
            expected = twin_stack(stack, inputs[row, :length])
            torch.testing.assert_close(outputs[row, :length], expected)
        assert not outputs[row, length:].any()


def test_its_gradient_is_right() -> None:
    torch.manual_seed(4)
    stack = shaken(InterleavedLstm(3, 2, num_layers=2, dropout=0.3)).double().train()
    packing = pack([2, 0, 4], 4, CPU)
    inputs = torch.randn(3, 4, 3, dtype=torch.double, requires_grad=True)

    def run(inputs: Tensor, *_: nn.Parameter) -> Tensor:
        torch.manual_seed(5)  # the same dropout masks every time
        result: Tensor = stack(inputs, packing)
        return result

    assert torch.autograd.gradcheck(run, (inputs, *stack.parameters()))


def test_dropout_masks_the_same_cells_at_every_step() -> None:
    torch.manual_seed(6)
    stack = InterleavedLstm(3, 50, num_layers=1, dropout=0.5).train()
    outputs = stack(torch.randn(2, 8, 3), pack([8, 8], 8, CPU))
    is_dropped = outputs == 0  # (B, T, H)
    assert (is_dropped.any(dim=1) == is_dropped.all(dim=1)).all()
    assert 10 < int(is_dropped[0, 0].sum()) < 40
    assert not torch.equal(is_dropped[0, 0], is_dropped[1, 0])


def test_the_first_layer_sees_no_later_token() -> None:
    torch.manual_seed(7)
    stack = InterleavedLstm(3, 4, num_layers=1, dropout=0.0).eval()
    inputs = torch.randn(1, 6, 3)
    changed = inputs.clone()
    changed[0, 4] += 1
    packing = pack([6], 6, CPU)
    same = (stack(inputs, packing) == stack(changed, packing)).all(dim=-1)[0]
    assert same.tolist() == [True] * 4 + [False] * 2
