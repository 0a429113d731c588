"""A WIDER MODEL, THE SAME FUNCTION: a small model as the beginning of a larger one.

Cells, after Net2Net (Chen, Goodfellow and Shlens 2016): every cell of every LSTM is copied; the
copies have the same gates and therefore the same activations, and the cell's row of the projection
is divided between them. The division is uneven and random, so that their gradients differ and they
diverge in training.

Character filters: new ones are random, and nothing reads them yet.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from elmokit.config import CharCnnConfig
from elmokit.model.bilm import BiLm
from elmokit.model.char_cnn import CharCnn, Highway
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


def has_more_filters(wanted: CharCnnConfig, given: CharCnnConfig | None) -> bool:
    """Whether ``widen_characters`` can make ``wanted`` of ``given``, and they differ."""
    if given is None or wanted.filters == given.filters:
        return False
    numbers = dict(wanted.filters)
    return replace(wanted, filters=given.filters) == given and all(
        numbers.get(width, 0) >= number for width, number in given.filters
    )


@torch.no_grad()
def widen_characters(bilm: BiLm, char_cnn: CharCnnConfig) -> BiLm:
    """A biLM with the filters of ``char_cnn``, more than ``bilm`` has, and the same token vectors.

    Draws from torch's generator.
    """
    wide = BiLm(replace(bilm.config, char_cnn=char_cnn))
    wide.forward_lstm.load_state_dict(bilm.forward_lstm.state_dict())
    wide.backward_lstm.load_state_dict(bilm.backward_lstm.state_dict())
    old, new = bilm.encoder.char_cnn, wide.encoder.char_cnn
    assert old is not None and new is not None
    kept = _copy_filters(old, new)  # (F,): where each old feature is now
    for old_highway, new_highway in zip(old.highways, new.highways, strict=True):
        assert isinstance(old_highway, Highway) and isinstance(new_highway, Highway)
        _copy_rows(old_highway.transform, new_highway.transform, kept)
        _copy_rows(old_highway.carry, new_highway.carry, kept)
    old_projection, new_projection = bilm.encoder.projection, wide.encoder.projection
    assert old_projection is not None and new_projection is not None
    new_projection.weight.zero_()
    new_projection.weight[:, kept] = old_projection.weight
    new_projection.bias.copy_(old_projection.bias)
    return wide


def _copy_filters(old: CharCnn, new: CharCnn) -> Tensor:
    """Copy the filters, and return which of the new ones they are."""
    new.embedding.load_state_dict(old.embedding.state_dict())
    of_width = {
        width: convolution
        for (width, _), convolution in zip(old.config.filters, old.convolutions, strict=True)
        if isinstance(convolution, nn.Conv1d)
    }
    size = torch.cat([known.weight.flatten() for known in of_width.values()]).std().item()
    kept, first = [], 0
    for (width, number), convolution in zip(new.config.filters, new.convolutions, strict=True):
        assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
        nn.init.normal_(convolution.weight, std=size)  # as large as the trained ones
        known = of_width.get(width)
        if known is not None:
            assert known.bias is not None
            convolution.weight[: len(known.weight)] = known.weight
            convolution.bias[: len(known.weight)] = known.bias
            kept.append(torch.arange(first, first + len(known.weight)))
        first += number
    return torch.cat(kept)


def _copy_rows(old: nn.Linear, new: nn.Linear, kept: Tensor) -> None:
    """The rows of old features read old features only."""
    new.weight[kept] = 0.0
    new.weight[kept[:, None], kept] = old.weight
    new.bias[kept] = old.bias
