"""ELMo_k = gamma * sum_j softmax(s)_j * h_{k,j}: one vector from the layers, learned by a task."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm as normalise

from elmokit.errors import InputError
from elmokit.model.dropout import Dropout


class ScalarMix(nn.Module):
    """(B, L + 1, T, D) -> (B, T, D).

    Everything that a task learns about the layers: the weights, their penalty, layer norm and
    dropout. ``layer_norm`` normalises the D values of each token in each layer, without parameters,
    so the result never depends on the rest of the batch. ``dropout`` applies to the mixed vector.
    """

    def __init__(
        self,
        num_layers: int,
        *,
        layer_norm: bool = False,
        dropout: float = 0.0,
        initial_weights: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        if initial_weights is not None and len(initial_weights) != num_layers:
            raise ValueError(
                f"initial_weights must have {num_layers} values, got {len(initial_weights)}"
            )
        if not 0 <= dropout < 1:
            raise InputError(f"dropout must be at least 0 and less than 1, got {dropout}")
        self.layer_norm = layer_norm
        self.dropout = Dropout(dropout)
        values = torch.tensor(initial_weights or [0.0] * num_layers, dtype=torch.float32)
        self.raw_weights = nn.Parameter(values, requires_grad=trainable)
        self.gamma = nn.Parameter(torch.ones(()), requires_grad=trainable)

    @property
    def weights(self) -> Tensor:
        """(L + 1): the softmax-normalised s_j."""
        return self.raw_weights.softmax(dim=0)

    def forward(self, layers: Tensor) -> Tensor:
        """Mix layers (B, L + 1, T, D) into one vector per token (B, T, D)."""
        if layers.shape[1] != len(self.raw_weights):
            raise ValueError(f"expected {len(self.raw_weights)} layers, got {layers.shape[1]}")
        if self.layer_norm:
            layers = normalise(layers, layers.shape[-1:])
        mixed: Tensor = self.dropout(self.gamma * weighted_sum(self.weights, layers))
        return mixed

    def penalty(self) -> Tensor:
        """||s||^2 of the raw weights (not of gamma): a task adds lambda times this to its loss."""
        return self.raw_weights.square().sum()


def total_penalty(mixes: Iterable[ScalarMix]) -> Tensor:
    """The sum of the penalties of at least one mix."""
    return torch.stack([mix.penalty() for mix in mixes]).sum()


def weighted_sum(weights: Tensor, layers: Tensor) -> Tensor:
    """(L + 1), (B, L + 1, T, D) -> (B, T, D). einsum would copy the layers into another order."""
    rows = weights.expand(len(layers), 1, -1)  # (B, 1, L + 1)
    return torch.bmm(rows, layers.flatten(2)).view(len(layers), *layers.shape[2:])
