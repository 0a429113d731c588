"""Matrix products whose factors may be narrower than their result, such as bfloat16."""

import torch
from torch import Tensor


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
