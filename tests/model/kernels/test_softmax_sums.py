"""Sums over a block of logits: the compiled kernel and its plain twin say the same."""

import pytest
import torch
from torch import Tensor

from elmokit.model.kernels.compiled import build
from elmokit.model.kernels.compiled.softmax_sums import compiled_sums
from elmokit.model.kernels.softmax_sums import SoftmaxSums, Sums, torch_sums

ROWS, WORDS = 5, 1003  # 1003: vectors of 4, 8 or 16, and a rest


def compiled() -> SoftmaxSums:
    found = compiled_sums()
    if found is None:
        assert build.find_compiler() is None, "there is a compiler, but it fails"
        pytest.skip("no C compiler")
    return found


def sums_of(add_sums: SoftmaxSums, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(3)
    bias = torch.randn(logits.shape[2], generator=random)
    shift = logits.amax(dim=2) + torch.rand(logits.shape[:2], generator=random)
    threshold = -8 * torch.rand(3, logits.shape[1], generator=random)
    total, weighted = (torch.ones(3, logits.shape[1], dtype=torch.float64) for _ in range(2))
    better = torch.full((3, logits.shape[1]), 7)
    add_sums(logits.clone(), bias, shift, threshold, Sums(total, weighted, better))
    return total, weighted, better


def drawn_logits(scale: float) -> Tensor:
    return scale * torch.randn(2, ROWS, WORDS, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("scale", [0.1, 4.0, 60.0])
def test_both_add_the_same_to_what_is_there(scale: float) -> None:
    for ours, plain in zip(
        sums_of(compiled(), drawn_logits(scale)),
        sums_of(torch_sums, drawn_logits(scale)),
        strict=True,
    ):
        torch.testing.assert_close(ours, plain, rtol=2e-6, atol=1e-6)


def test_a_share_too_small_for_float32_counts_nothing() -> None:
    logits = drawn_logits(1.0)
    logits[:, :, 1:] -= 1000
    total, weighted, _ = sums_of(compiled(), logits)
    assert total.isfinite().all() and weighted.isfinite().all()
    assert ((total - 1 > 0) & (total - 1 <= 16)).all()


def test_nan_and_a_power_beyond_float32_are_seen_in_the_sum() -> None:
    """The caller computes such rows again, in float64."""
    logits = drawn_logits(1.0)
    total = torch.zeros(3, ROWS, dtype=torch.float64)
    sums = Sums(total, torch.zeros_like(total), torch.zeros(3, ROWS, dtype=torch.long))
    logits[0, 1, 3] = float("nan")
    logits[:, 2, 5] = 400.0
    zeros = torch.zeros(2, ROWS)
    compiled()(logits, torch.zeros(WORDS), zeros, torch.zeros(3, ROWS), sums)
    assert total[0, 1].isnan() and total[2, 1].isnan() and total[1, 1].isfinite()
    assert (~(total[:, 2].log2().abs() < 64)).all()
    assert total[:, [0, 3, 4]].isfinite().all()
