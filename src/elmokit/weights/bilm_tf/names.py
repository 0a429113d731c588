"""Where each dataset of a bilm-tf file belongs in our model, and how it is turned.

One table, used in two directions by reader and writer, so both are exact to the bit.
Files keep the gates i, j, f, o; our columns are i, f, o, j (see model/lstm.py). The +1 of the
forget gate is in neither: it is added at run time.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.config import ModelConfig


class Turn(NamedTuple):
    """How a dataset becomes parameters, and back."""

    to_ours: Callable[[Tensor], tuple[Tensor, ...]]
    to_file: Callable[..., Tensor]


class Place(NamedTuple):
    """A dataset of a bilm-tf file and the parameters of ours that it holds."""

    dataset: str
    parameters: tuple[str, ...]
    turn: Turn


def _join(parts: Sequence[Tensor], dim: int) -> Tensor:
    """``torch.cat``; on the meta device, where shapes are asked for, that imports a compiler."""
    sizes = [part.shape[dim] for part in parts]
    shape = list(parts[0].shape)
    shape[dim] = sum(sizes)
    joined = parts[0].new_empty(shape)
    for place, part in zip(torch.split(joined, sizes, dim), parts, strict=True):
        place.copy_(part)
    return joined


def _file_gates_to_ours(columns: Tensor) -> Tensor:
    i, j, f, o = columns.chunk(4, dim=-1)
    return _join([i, f, o, j], dim=-1)


def _our_gates_to_file(columns: Tensor) -> Tensor:
    i, f, o, j = columns.chunk(4, dim=-1)
    return _join([i, j, f, o], dim=-1)


SAME = Turn(lambda tensor: (tensor,), lambda tensor: tensor)
TRANSPOSED = Turn(lambda tensor: (tensor.t(),), lambda tensor: tensor.t())
CONVOLUTION = Turn(  # (1, width, E, num) <-> (num, E, width)
    lambda tensor: (tensor[0].permute(2, 1, 0),), lambda tensor: tensor.permute(2, 1, 0)[None]
)
MASKED_ROWS = Turn(  # the row of zeros that masks is in no file
    lambda tensor: (torch.cat([torch.zeros_like(tensor[:1]), tensor]),), lambda tensor: tensor[1:]
)
GATE_BIAS = Turn(lambda tensor: (_file_gates_to_ours(tensor),), _our_gates_to_file)
GATE_WEIGHTS = Turn(  # rows [input; previous output]
    lambda tensor: tuple(_file_gates_to_ours(tensor).chunk(2)),
    lambda inputs, hidden: _our_gates_to_file(_join([inputs, hidden], dim=0)),
)


def places(config: ModelConfig, cell_name: Callable[[int, int], str] | None = None) -> list[Place]:
    """Every dataset of a model; ``cell_name`` tells the group of a (direction, layer)."""
    found: list[Place] = []
    if config.words is not None:
        found.append(Place("embedding", ("encoder.words.weight",), MASKED_ROWS))
    if config.char_cnn is not None:
        found += _char_cnn_places(config.char_cnn.num_highway, len(config.char_cnn.filters))
    if config.has_token_projection:
        found.append(Place("CNN_proj/W_proj", ("encoder.projection.weight",), TRANSPOSED))
        found.append(Place("CNN_proj/b_proj", ("encoder.projection.bias",), SAME))
    for direction, stack in enumerate(("forward_lstm", "backward_lstm")):
        for layer in range(config.lstm.num_layers):
            group = (cell_name or full_cell_name)(direction, layer)
            ours = f"{stack}.layers.{layer}"
            weights = (f"{ours}.input_weight", f"{ours}.hidden_weight")
            found.append(Place(f"{group}/W_0", weights, GATE_WEIGHTS))
            found.append(Place(f"{group}/B", (f"{ours}.bias",), GATE_BIAS))
            if config.lstm.has_projection:
                found.append(Place(f"{group}/W_P_0", (f"{ours}.projection",), SAME))
    return found


def _char_cnn_places(num_highway: int, num_groups: int) -> list[Place]:
    ours = "encoder.char_cnn"
    found = [Place("char_embed", (f"{ours}.embedding.weight",), MASKED_ROWS)]
    for number in range(num_groups):
        convolution = f"{ours}.convolutions.{number}"
        found.append(Place(f"CNN/W_cnn_{number}", (f"{convolution}.weight",), CONVOLUTION))
        found.append(Place(f"CNN/b_cnn_{number}", (f"{convolution}.bias",), SAME))
    for number in range(num_highway):
        for part in ("carry", "transform"):
            linear, group = f"{ours}.highways.{number}.{part}", f"CNN_high_{number}"
            found.append(Place(f"{group}/W_{part}", (f"{linear}.weight",), TRANSPOSED))
            found.append(Place(f"{group}/b_{part}", (f"{linear}.bias",), SAME))
    return found


def full_cell_name(direction: int, layer: int) -> str:
    """The HDF5 group of one LSTM cell, as bilm-tf names it."""
    return f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"


def lone_cell_name(direction: int, layer: int) -> str:
    """A model of one layer may have been saved without MultiRNNCell."""
    return f"RNN_{direction}/RNN/LSTMCell"
