"""Products of factors rounded to 16-bit integers: PyTorch, the compiled kernel, exact products."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from elmokit.model.kernels.compiled.int16_products import compiled_int16_products
from elmokit.model.kernels.int16_products import LARGEST, PLAIN, STRETCH, rounded
from elmokit.model.kernels.lstm_training import Workspace
from elmokit.model.kernels.products import TORCH, Products

needs_compiled = pytest.mark.skipif(
    compiled_int16_products() is None, reason="no C compiler, or neither AVX2 nor AVX-512 VNNI"
)
IMPLEMENTATIONS = [
    pytest.param(PLAIN, id="plain"),
    pytest.param(compiled_int16_products(), id="compiled", marks=needs_compiled),
]


def random_matrix(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def products_of(
    products: Products, left: Tensor, right: Tensor, upright: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """left right, 3 + left right, upright^T right."""
    factor = products(right, Workspace().take, "right")
    out = left.new_full((len(left), right.shape[1]), torch.nan)
    factor.product(left, out)
    added = left.new_full(out.shape, 3.0)
    factor.product(left, added, adds=True)
    return out, added, factor.product_of_transposed(upright)


@needs_compiled
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(1, 2 * STRETCH + 5), st.integers(1, 300), st.integers(1, 40))
def test_the_compiled_kernel_equals_pytorch(
    count: int, depth: int, width: int, num_columns: int
) -> None:
    left, right = random_matrix(1, count, depth), random_matrix(2, depth, width)
    upright = random_matrix(3, depth, num_columns)
    found = products_of(compiled_int16_products(), left, right, upright)
    for mine, plain in zip(found, products_of(PLAIN, left, right, upright), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-5, atol=2e-6 * depth**0.5 + 1e-6)


@pytest.mark.parametrize("products", IMPLEMENTATIONS)
def test_products_are_several_times_closer_to_exact_ones_than_those_of_bfloat16(
    products: Products,
) -> None:
    left, right = random_matrix(1, 259, 517), random_matrix(2, 517, 130)
    upright = random_matrix(3, 517, 19)
    exact = products_of(TORCH, left.double(), right.double(), upright.double())
    coarse = products_of(TORCH, left.bfloat16(), right.bfloat16(), upright.bfloat16())
    for mine, wanted, other in zip(
        products_of(products, left, right, upright), exact, coarse, strict=True
    ):
        assert (mine - wanted).norm() < 0.2 * (other - wanted).norm()


@pytest.mark.parametrize("products", IMPLEMENTATIONS)
def test_rows_and_columns_of_any_size_keep_their_precision(products: Products) -> None:
    left, right = random_matrix(1, 5, 300), random_matrix(2, 300, 70)
    rows, columns = torch.logspace(-20, 10, 5)[:, None], torch.logspace(-10, 15, 70)
    found, _, _ = products_of(products, left * rows, right * columns, right)
    exact = (left.double() @ right.double()) * rows * columns  # numbers of about 17 times the size
    assert ((found - exact).abs() < 0.1 * rows.double() * columns).all()


@pytest.mark.parametrize("products", IMPLEMENTATIONS)
def test_the_largest_possible_sum_does_not_overflow(products: Products) -> None:
    ones = torch.ones(3, STRETCH)
    found, _, _ = products_of(products, ones, -torch.ones(STRETCH, 65), torch.ones(STRETCH, 2))
    torch.testing.assert_close(found, torch.full((3, 65), -float(STRETCH)), rtol=1e-6, atol=0)
    assert STRETCH * LARGEST**2 < 2**31 <= STRETCH * (LARGEST + 1) ** 2


@pytest.mark.parametrize("products", IMPLEMENTATIONS)
def test_zeros_stay_zero_and_what_is_not_finite_is_not_hidden(products: Products) -> None:
    left, right = torch.zeros(3, 10), random_matrix(2, 10, 5)
    assert not products_of(products, left, right, right)[0].any()
    for bad in (torch.nan, torch.inf):
        left[1, 4] = bad
        found = products_of(products, left, right, right)[0]
        assert found[1].isnan().all() and not found[0].any() and not found[2].any()


def test_rounding_keeps_the_largest_number_of_every_stretch() -> None:
    matrix = random_matrix(5, 4, 2 * STRETCH + 3)
    found = rounded(matrix, dim=1)
    for stretch, kept in zip(matrix.split(STRETCH, 1), found.split(STRETCH, 1), strict=True):
        largest = stretch.abs().amax(1, keepdim=True)
        assert ((kept - stretch).abs() <= 0.501 * largest / LARGEST).all()
        torch.testing.assert_close(kept.abs().amax(1, keepdim=True), largest)
