"""Matrix products whose factors are rounded to 16-bit integers, in plain PyTorch.

Numbers are rounded to -2896 ... 2896 times a unit. Each stretch of 256 numbers along the dimension
that a product sums over has its own unit, so that the sum of a stretch always fits into 32 bits;
stretches are added in float32. The rounding is about seven times finer than bfloat16's.

``compiled/int16_products.py`` does the same with the instructions for it, twice as fast as float32
products; this is what it has to equal, and what runs where there are no such instructions.
"""

import torch
from torch import Tensor

from elmokit.model.kernels.products import Products, Take

STRETCH = 256
LARGEST = 2896  # 256 times 2896 squared is the largest such sum below 2^31


def rounded(matrix: Tensor, dim: int) -> Tensor:
    """The values of ``matrix`` that its integers represent, for a sum over ``dim``."""
    stretches = torch.split(matrix, STRETCH, dim)
    return torch.cat([_rounded_stretch(each, dim) for each in stretches], dim)


def _rounded_stretch(stretch: Tensor, dim: int) -> Tensor:
    largest = stretch.abs().amax(dim, keepdim=True)
    largest[largest == 0] = 1.0
    most = torch.full_like(largest, LARGEST)  # a Python number would be multiplied by 1 / largest
    return (stretch * (most / largest)).round_() * (largest / most)


class PlainInt16Factor:
    """See Factor."""

    def __init__(self, matrix: Tensor, take: Take, name: str) -> None:
        self.matrix = rounded(matrix, dim=0)

    def product(self, left: Tensor, out: Tensor, adds: bool = False) -> None:
        """See Factor."""
        torch.addmm(out, rounded(left, dim=1), self.matrix, beta=float(adds), out=out)

    def product_of_transposed(self, left: Tensor) -> Tensor:
        """See Factor."""
        return rounded(left, dim=0).t() @ self.matrix


PLAIN: Products = PlainInt16Factor
