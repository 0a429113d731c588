"""The maximum of a convolution, held to nn.Conv1d and amax."""

import pytest
import torch
from torch import nn

from elmokit.model.char_cnn import PLAIN, ConvMaxFunction, conv_max
from elmokit.model.kernels.compiled.conv_max import compiled_conv_max


def test_it_equals_a_convolution_and_its_maximum() -> None:
    convolution = nn.Conv1d(4, 6, 3)
    characters = torch.randn(5, 9, 4)
    expected = convolution(characters.transpose(1, 2)).amax(dim=-1)
    found = conv_max(characters, convolution.weight, convolution.bias)
    torch.testing.assert_close(found, expected)


def test_its_gradient_is_right() -> None:
    random = torch.Generator().manual_seed(3)
    shapes = (5, 7, 2), (3, 2, 4), (3,)
    inputs = [torch.randn(s, generator=random, dtype=torch.double).requires_grad_() for s in shapes]
    assert torch.autograd.gradcheck(conv_max, inputs)


def test_of_equal_positions_one_gets_the_gradient() -> None:
    characters = torch.ones(2, 5, 3, requires_grad=True)
    conv_max(characters, torch.ones(1, 3, 1), torch.zeros(1)).sum().backward()
    assert characters.grad is not None
    assert characters.grad.sum() == 2 * 3


def test_the_compiled_steps_equal_those_in_pytorch() -> None:
    steps = compiled_conv_max()
    if steps is None:
        pytest.skip("no C compiler")
    random = torch.Generator().manual_seed(3)
    given = torch.randn(40, 12 * 4, generator=random), torch.randn(3 * 4, 9, generator=random)
    upstream = torch.relu(torch.randn(40, 9, generator=random))  # some are zero
    results = []
    for some in (PLAIN, steps):
        flat, kernel = (tensor.clone().requires_grad_() for tensor in given)
        best = ConvMaxFunction.apply(flat, kernel, 4, some)
        best.backward(upstream)
        results.append((best, flat.grad, kernel.grad))
    torch.testing.assert_close(results[1], results[0])
    assert torch.equal(results[1][0], results[0][0])
