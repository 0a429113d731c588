"""Matrix products, and factors that are prepared once for several of them.

The factors of a product may be narrower than its result, such as bfloat16.
``int16_products.py`` rounds them to integers instead.
"""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

Take = Callable[..., Tensor]
"""name, a tensor with the dtype and device, sizes -> an uninitialised tensor, reused later."""


class Factor(Protocol):
    """The right factor of several products: a matrix (K, N)."""

    def product(self, left: Tensor, out: Tensor, adds: bool = False) -> None:
        """out = left matrix, or with ``adds`` out += left matrix; ``left`` is (M, K)."""

    def product_of_transposed(self, left: Tensor) -> Tensor:
        """left^T matrix, for ``left`` (K, M): a gradient, summed over the rows of both."""


class Products(Protocol):
    """A way to multiply matrices."""

    def __call__(self, matrix: Tensor, take: Take, name: str) -> Factor:
        """Prepare ``matrix`` (K, N) as a factor; buffers are taken under names of their own."""


def product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """out = left right."""
    if left.dtype == out.dtype:
        torch.mm(left, right, out=out)
    else:
        out.copy_(left @ right)


def add_product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """out += left right; ``left`` is rounded to the dtype of ``right``."""
    if right.dtype == out.dtype:
        out.addmm_(left, right)
    else:
        out.add_(left.to(right.dtype) @ right)


class TorchFactor:
    """A matrix multiplied by PyTorch, in its own dtype."""

    def __init__(self, matrix: Tensor, take: Take, name: str) -> None:
        self.matrix = matrix

    def product(self, left: Tensor, out: Tensor, adds: bool = False) -> None:
        """See Factor."""
        left = left.to(self.matrix.dtype)
        (add_product if adds else product)(left, self.matrix, out)

    def product_of_transposed(self, left: Tensor) -> Tensor:
        """See Factor."""
        return left.to(self.matrix.dtype).t() @ self.matrix


TORCH: Products = TorchFactor
