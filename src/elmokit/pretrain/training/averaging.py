"""AVERAGED WEIGHTS: an exponential moving average of a run's weights, for whoever uses them.

At a constant learning rate the weights of single steps fluctuate; their average over the last
thousand steps does not. The average is evaluated and exported, so any checkpoint can be used
without lowering the rate first.
"""

import copy
from typing import Any

import torch
from torch import nn

from elmokit.model.bilm import BiLm
from elmokit.model.softmax import Softmax


class AveragedWeights:
    """Copies of a biLM and its softmax that follow them, ``num_steps`` steps behind on average."""

    def __init__(self, bilm: BiLm, softmax: Softmax, num_steps: int) -> None:
        self.num_steps = num_steps
        self.bilm = copy.deepcopy(bilm).requires_grad_(False)
        self.softmax = copy.deepcopy(softmax).requires_grad_(False)
        self._pairs = [*_pairs(self.bilm, bilm), *_pairs(self.softmax, softmax)]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the average with the weights after ``step`` steps; early weights decay quickly."""
        share = max(1 / self.num_steps, 9 / (10 + step))
        for average, weight in self._pairs:
            average.lerp_(weight, share)

    def state_dict(self) -> dict[str, Any]:
        """The averaged weights, as a checkpoint keeps them."""
        return {"bilm": self.bilm.state_dict(), "softmax": self.softmax.state_dict()}


def _pairs(average: nn.Module, module: nn.Module) -> list[tuple[nn.Parameter, nn.Parameter]]:
    return list(zip(average.parameters(), module.parameters(), strict=True))
