"""Matrices in fewer bits: rounded once, and equal to what they stand for."""

import pytest
import torch

from elmokit.model.kernels.lstm_weights import Precision, narrow

LARGEST_ERROR: dict[Precision, float] = {"float32": 0.0, "bfloat16": 2**-8, "int8": 0.5 / 127}
"""Of a number, as a share of itself (bfloat16) or of the largest in its column (int8)."""


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("depth", [1, 6, 8])  # 1 and 6 end within a word
def test_what_a_narrow_matrix_stands_for_is_near_the_matrix(
    precision: Precision, depth: int
) -> None:
    matrix = torch.randn(depth, 5, generator=torch.Generator().manual_seed(1))
    widened = narrow(matrix, precision).widened()
    assert widened.shape == matrix.shape and widened.dtype == torch.float32
    size = matrix.abs().amax(dim=0) if precision == "int8" else matrix.abs()
    assert ((widened - matrix).abs() <= LARGEST_ERROR[precision] * size * (1 + 1e-5)).all()


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_rounding_twice_is_rounding_once(precision: Precision) -> None:
    once = narrow(torch.randn(8, 5), precision).widened()
    assert torch.allclose(narrow(once, precision).widened(), once, rtol=1e-6, atol=0.0)


def test_bfloat16_is_rounded_as_pytorch_rounds_it() -> None:
    matrix = torch.randn(6, 5)
    assert torch.equal(narrow(matrix, "bfloat16").widened(), matrix.bfloat16().float())


def test_a_column_of_zeros_stays_zero() -> None:
    matrix = torch.randn(6, 3)
    matrix[:, 1] = 0.0
    assert (narrow(matrix, "int8").widened()[:, 1] == 0.0).all()


def test_float32_shares_its_memory() -> None:
    matrix = torch.randn(6, 3)
    assert narrow(matrix, "float32").words.data_ptr() == matrix.data_ptr()


@pytest.mark.parametrize(("precision", "share"), [("bfloat16", 2), ("int8", 4)])
def test_narrow_matrices_take_less_memory(precision: Precision, share: int) -> None:
    matrix = torch.randn(8, 5)
    assert narrow(matrix, precision).words.nbytes * share == matrix.nbytes
