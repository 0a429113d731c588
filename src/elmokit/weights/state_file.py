"""A stored biLM state: what ``start="settled"`` starts every sentence from."""

from pathlib import Path

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState
from elmokit.weights.build import require_finite
from elmokit.weights.tensor_files import read_tensors, write_tensors

FILE_NAME = "settled.safetensors"


def read_state(folder: Path, config: ModelConfig) -> BiLmState | None:
    """The state of one row stored beside a model's weights; None if there is none."""
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    tensors = read_tensors(path)
    lstm = config.lstm
    widths = {"hidden": lstm.projection_dim, "cell": lstm.dim}
    for name in (f"{side}.{part}" for side in ("forward", "backward") for part in widths):
        shape = (lstm.num_layers, 1, widths[name.split(".")[1]])
        if name not in tensors or tuple(tensors[name].shape) != shape:
            raise InputError(
                f"{path}: {name} of shape {shape} is missing; the state belongs to another model, "
                f"so delete the file or settle the model again"
            )
        require_finite(tensors[name], name, path)
    return BiLmState(
        LstmState(tensors["forward.hidden"], tensors["forward.cell"]),
        LstmState(tensors["backward.hidden"], tensors["backward.cell"]),
    )


def write_state(state: BiLmState, folder: Path) -> None:
    """Store a state of one row in a model's folder."""
    tensors = {
        f"{side}.{part}": tensor
        for side, one in (("forward", state.forward), ("backward", state.backward))
        for part, tensor in zip(one._fields, one, strict=True)
    }
    write_tensors(folder / FILE_NAME, tensors, "float32")
