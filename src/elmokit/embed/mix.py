"""Fixed ways to combine a token's L + 1 layers into one vector, without a task to learn it."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import Tensor

from elmokit.errors import InputError
from elmokit.model.scalar_mix import ScalarMix, weighted_sum


@dataclass(frozen=True)
class Mix:
    """Fixed weights for the layers: gamma * sum_j weights_j * h_j, without a softmax.

    Args:
        weights: one per layer, the token layer first.
        gamma: the factor of the sum.

    >>> Mix((0.2, 0.5, 0.3), gamma=1.5).gamma
    1.5
    """

    weights: tuple[float, ...]
    gamma: float = 1.0

    def __post_init__(self) -> None:
        try:
            is_finite = all(math.isfinite(number) for number in (*self.weights, self.gamma))
        except TypeError:
            raise InputError(f"a mix needs one number per layer and a gamma, got {self}") from None
        if not is_finite:
            raise InputError(f"the weights and gamma of a mix must be finite, got {self}")

    @classmethod
    def learned(cls, mix: ScalarMix) -> "Mix":
        """The weights and gamma of a trained ``ScalarMix``, without its layer norm."""
        return cls(tuple(mix.weights.tolist()), float(mix.gamma))


MixName = Literal["average", "sum", "top", "concat"]
AnyMix = MixName | int | Mix
"""A name, the number of a layer (0 is the token layer, -1 the last), or fixed weights."""


def checked_mix(mix: AnyMix, num_layers: int) -> AnyMix:
    """The mix, with layers counted from 0; raises if this model does not support it."""
    given: object = mix
    if isinstance(given, np.integer):
        mix = int(given)
    if isinstance(mix, bool) or not isinstance(mix, (str, int, Mix)):
        raise InputError(f"mix must be a name, a layer's number or a Mix, got {mix!r}")
    if isinstance(mix, str) and mix not in ("average", "sum", "top", "concat"):
        raise InputError(
            f"mix must be average, sum, top, concat, a layer's number or a Mix, got {mix!r}"
        )
    if isinstance(mix, int):
        if not -num_layers <= mix < num_layers:
            raise InputError(
                f"the model has layers 0 to {num_layers - 1}, but mix asks for layer {mix}"
            )
        return mix % num_layers
    if isinstance(mix, Mix) and len(mix.weights) != num_layers:
        raise InputError(
            f"the model has {num_layers} layers, but the mix has {len(mix.weights)} weights"
        )
    return mix


def mixed_dim(mix: AnyMix, num_layers: int, dim: int) -> int:
    """Width of what ``mix_layers`` returns."""
    return num_layers * dim if mix == "concat" else dim


def mix_layers(layers: Tensor, mix: AnyMix) -> Tensor:
    """(B, L + 1, T, D) -> (B, T, D), or (B, T, (L + 1) D) for "concat"."""
    if mix == "concat":
        return layers.transpose(1, 2).flatten(2)
    if mix == "top":
        return layers[:, -1]
    if mix == "average":
        return layers.mean(dim=1)
    if mix == "sum":
        return layers.sum(dim=1)
    if isinstance(mix, Mix):
        return weighted_sum(layers.new_tensor(mix.weights) * mix.gamma, layers)
    return layers[:, mix]
