"""WIDER CELLS, THE SAME FUNCTION: a small model as the beginning of a larger one.

After Net2Net (Chen, Goodfellow and Shlens 2016). Every cell of every LSTM is copied; the copies
have the same gates and therefore the same activations, and the cell's row of the projection is
divided between them. The division is uneven and random, so that their gradients differ and they
diverge in training.
"""

from dataclasses import replace

import torch
from torch import Tensor

from elmokit.model.bilm import BiLm
from elmokit.model.lstm import ProjectedLstm

_LEAST_SHARE, _GREATEST_SHARE = 0.5, 1.5


@torch.no_grad()
def widen_cells(bilm: BiLm, dim: int) -> BiLm:
    """A biLM of ``dim`` cells, a multiple of what ``bilm`` has, with the same layers for any text.

    Draws from torch's generator.
    """
    config = replace(bilm.config, lstm=replace(bilm.config.lstm, dim=dim))
    wide = BiLm(config)
    wide.encoder.load_state_dict(bilm.encoder.state_dict())
    for old_stack, new_stack in (
        (bilm.forward_lstm, wide.forward_lstm),
        (bilm.backward_lstm, wide.backward_lstm),
    ):
        for old, new in zip(old_stack.layers, new_stack.layers, strict=True):
            assert isinstance(old, ProjectedLstm) and isinstance(new, ProjectedLstm)
            _widen_layer(old, new, dim // bilm.config.lstm.dim)
    return wide


def _widen_layer(old: ProjectedLstm, new: ProjectedLstm, factor: int) -> None:
    assert old.projection is not None and new.projection is not None
    new.input_weight.copy_(_copy_gates(old.input_weight, factor))
    new.hidden_weight.copy_(_copy_gates(old.hidden_weight, factor))
    new.bias.copy_(_copy_gates(old.bias, factor))
    shares = torch.empty(factor, *old.projection.shape).uniform_(_LEAST_SHARE, _GREATEST_SHARE)
    shares /= shares.sum(dim=0)
    new.projection.copy_((shares * old.projection).flatten(0, 1))  # (factor * H, P)


def _copy_gates(weight: Tensor, factor: int) -> Tensor:
    """(..., 4H) -> (..., 4 * factor * H): each gate's cells, ``factor`` times."""
    gates = weight.view(*weight.shape[:-1], 4, -1)  # (..., 4, H)
    return torch.cat([gates] * factor, dim=-1).flatten(-2)
