"""Both optimisers: the arithmetic of Adam, and states written by earlier versions."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.training.objective import SoftmaxGradient
from elmokit.pretrain.training.optimizers import Optimizers

NUM_WORDS, WIDTH = 11, 5


def parts() -> tuple[list[nn.Parameter], Softmax]:
    return [nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(7))], Softmax(
        NUM_WORDS, WIDTH
    )


def gradients(step: int) -> tuple[list[Tensor], SoftmaxGradient]:
    random = torch.Generator().manual_seed(step)
    rows = torch.randperm(NUM_WORDS, generator=random)[:4].sort().values
    dense = [torch.randn(4, 3, generator=random), torch.randn(7, generator=random)]
    weight, bias = torch.randn(4, WIDTH, generator=random), torch.randn(4, generator=random)
    return dense, SoftmaxGradient(rows, weight, bias)


def take_step(optimizers: Optimizers, step: int, rate: float = 0.01) -> float:
    dense, softmax = gradients(step)
    for weight, gradient in zip(optimizers.parameters, dense, strict=True):
        weight.grad = gradient
    return optimizers.step(softmax, rate)


def plain_adam(weight: Tensor, state: dict[str, Any], gradient: Tensor, rate: float) -> None:
    """The formulas of the paper, in double precision."""
    state["step"] += 1
    state["m"] = 0.9 * state["m"] + 0.1 * gradient
    state["v"] = 0.999 * state["v"] + 0.001 * gradient**2
    mean = state["m"] / (1 - 0.9 ** state["step"])
    square = state["v"] / (1 - 0.999 ** state["step"])
    weight -= rate * mean / (square.sqrt() + 1e-8)


def test_dense_weights_follow_the_formulas_of_adam() -> None:
    parameters, softmax = parts()
    weights = [weight.detach().double() for weight in parameters]
    states: list[dict[str, Any]] = [{"step": 0, "m": 0.0, "v": 0.0} for _ in weights]
    optimizers = Optimizers(parameters, softmax, TrainConfig(clip_norm=1e9), is_sampled=True)
    for step in range(4):
        take_step(optimizers, step)
        for weight, state, gradient in zip(weights, states, gradients(step)[0], strict=True):
            plain_adam(weight, state, gradient.double(), rate=0.01)
    for found, expected in zip(parameters, weights, strict=True):
        torch.testing.assert_close(found.detach().double(), expected, atol=1e-6, rtol=1e-6)


def test_only_the_softmax_rows_in_play_change() -> None:
    parameters, softmax = parts()
    before = softmax.weight.detach().clone()
    optimizers = Optimizers(parameters, softmax, TrainConfig(), is_sampled=True)
    take_step(optimizers, 0)
    changed = (softmax.weight != before).any(dim=1).nonzero().flatten()
    assert changed.tolist() == gradients(0)[1].rows.tolist()  # type: ignore[union-attr]


def test_large_gradients_are_scaled_to_the_norm_that_is_allowed() -> None:
    found = []
    for clip_norm in (1e9, 0.5):
        torch.manual_seed(1)
        parameters, softmax = parts()
        train = TrainConfig(optimizer="adagrad", clip_norm=clip_norm)
        optimizers = Optimizers(parameters, softmax, train, is_sampled=True)
        dense, sparse = gradients(0)
        norm = take_step(optimizers, 0)
        every = torch.cat([part.flatten() for part in (*dense, sparse.weight, sparse.bias)])
        assert norm == pytest.approx(every.norm().item(), rel=1e-5)
        assert optimizers.dense is not None
        found.append(optimizers.dense.state[parameters[0]]["sum"] - train.adagrad_start)
    torch.testing.assert_close(found[0] * (0.5 / norm) ** 2, found[1], atol=1e-6, rtol=1e-3)


def test_a_state_written_with_the_looping_adam_continues_as_it_would_have() -> None:
    """Until edition two the state came from Adam(foreach=False); a run may have begun with it."""
    parameters, softmax = parts()
    old_dense = torch.optim.Adam(parameters, lr=0.01, foreach=False)
    for step in range(3):
        for weight, gradient in zip(parameters, gradients(step)[0], strict=True):
            weight.grad = gradient
        old_dense.step()
    old_sparse = torch.optim.SparseAdam(list(softmax.parameters()), lr=0.01)
    state = copy.deepcopy({"dense": old_dense.state_dict(), "sparse": old_sparse.state_dict()})
    assert state["dense"]["param_groups"][0]["foreach"] is False

    resumed = [nn.Parameter(weight.detach().clone()) for weight in parameters]
    optimizers = Optimizers(resumed, softmax, TrainConfig(clip_norm=1e9), is_sampled=True)
    optimizers.load_state_dict(state)
    assert optimizers.dense is not None
    assert optimizers.dense.param_groups[0]["fused"]
    take_step(optimizers, 3)
    for weight, gradient in zip(parameters, gradients(3)[0], strict=True):
        weight.grad = gradient
    old_dense.step()
    for found, expected in zip(resumed, parameters, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-6)
