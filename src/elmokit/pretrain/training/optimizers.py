"""Optimizers: dense for the biLM, row by row for the softmax, and their learning rate."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.training.objective import SoftmaxGradient


class Optimizers:
    """Both optimizers as one. Adam is lazy for the softmax: only rows in play are updated."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        softmax: Softmax,
        train: TrainConfig,
        is_sampled: bool,
    ) -> None:
        self.train = train
        self.softmax = softmax
        self.parameters = [weight for weight in parameters if weight.requires_grad]
        rows = [weight for weight in softmax.parameters() if weight.requires_grad]
        rate = train.learning_rate
        if train.optimizer == "adagrad":
            start = train.adagrad_start
            self.dense = _optimizer(torch.optim.Adagrad, self.parameters, rate, start)
            self.sparse = _optimizer(torch.optim.Adagrad, rows, rate, start)
        else:
            self.dense = _optimizer(torch.optim.Adam, self.parameters, rate)
            kind = torch.optim.SparseAdam if is_sampled else torch.optim.Adam
            self.sparse = _optimizer(kind, rows, rate)

    def step(self, gradient: SoftmaxGradient, rate: float) -> float:
        """Clip, update and clear the gradients; return the gradient norm before clipping."""
        dense = [weight.grad for weight in self.parameters if weight.grad is not None]
        parts = [*dense, gradient.weight, gradient.bias]
        norm = torch.linalg.vector_norm(
            torch.stack([torch.linalg.vector_norm(part) for part in parts])
        )
        size = float(norm)
        if not math.isfinite(size):
            raise FloatingPointError(f"the gradient is {size}")
        if size > self.train.clip_norm:
            for part in parts:
                part.mul_(self.train.clip_norm / size)
        for parameter, values in (
            (self.softmax.weight, gradient.weight),
            (self.softmax.bias, gradient.bias),
        ):
            if parameter.requires_grad:
                parameter.grad = _rows_gradient(parameter, gradient.rows, values)
        for optimizer in (self.dense, self.sparse):
            if optimizer is None:
                continue
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return size

    def state_dict(self) -> dict[str, Any]:
        """Return the state of both optimizers, for a checkpoint."""
        return {
            name: optimizer.state_dict()
            for name, optimizer in (("dense", self.dense), ("sparse", self.sparse))
            if optimizer is not None
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what ``state_dict`` returned; implementation options are not restored."""
        for name, optimizer in (("dense", self.dense), ("sparse", self.sparse)):
            if optimizer is not None:
                own = [_implementation(group) for group in optimizer.param_groups]
                optimizer.load_state_dict(state[name])
                for group, ours in zip(optimizer.param_groups, own, strict=True):
                    group.update(ours)  # keep this run's implementation options


def learning_rate(train: TrainConfig, done: float) -> float:
    """The learning rate after a share ``done`` of the budget."""
    if done < train.warmup_share:
        return train.learning_rate * done / train.warmup_share
    share = min(train.decay_share, 1.0 - train.warmup_share)
    left = min(1.0, (1.0 - done) / share) if share > 0 else 1.0
    factor = {
        "constant": 1.0,
        "linear": left,
        "cosine": 0.5 - 0.5 * math.cos(math.pi * left),
    }[train.schedule]
    return train.learning_rate * factor


def _optimizer(
    kind: Any, parameters: list[nn.Parameter], rate: float, adagrad_start: float | None = None
) -> torch.optim.Optimizer | None:
    if not parameters:
        return None
    extra: dict[str, Any] = {}
    if adagrad_start is not None:
        extra["initial_accumulator_value"] = adagrad_start
    if kind is torch.optim.Adam:
        extra["fused"] = True  # one pass over each weight: a third of the time of a loop
    result: torch.optim.Optimizer = kind(parameters, lr=rate, **extra)
    return result


def _implementation(group: dict[str, Any]) -> dict[str, Any]:
    return {name: group[name] for name in ("foreach", "fused") if name in group}


def _rows_gradient(parameter: nn.Parameter, rows: Tensor | None, values: Tensor) -> Tensor:
    if rows is None:
        return values
    return torch.sparse_coo_tensor(
        rows[None], values, parameter.shape, is_coalesced=True, check_invariants=False
    )
