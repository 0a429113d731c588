"""The settled state: a fixed, warmed start for models that hardly met zeros in training.

In training a sentence nearly always followed another one. Starting every sentence from the mean
of the states that sentences leave behind is closer to that than zeros, and just as repeatable.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState
from elmokit.weights.build import require_finite
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.run import carried_layers
from elmokit.weights.sample import SAMPLE_SENTENCES
from elmokit.weights.tensor_files import read_tensors, write_tensors

WARM_UP_SENTENCES = 2
"""The states after these still remember the zeros they came from."""


def settle(
    model: PretrainedModel, sentences: Sequence[Sequence[str]] = SAMPLE_SENTENCES
) -> BiLmState:
    """One row: the mean state over ``sentences`` carried on one after the other.

    The built-in sentences are English; give a few dozen of your own for another language.
    """
    if len(sentences) <= WARM_UP_SENTENCES:
        raise InputError(
            f"settling needs more than {WARM_UP_SENTENCES} sentences, got {len(sentences)}"
        )
    state = model.bilm.zero_state(1)
    states: list[BiLmState] = []
    for sentence in sentences:
        state = carried_layers(model, [sentence], state).state
        states.append(state)
    return _mean(states[WARM_UP_SENTENCES:])


def _mean(states: Sequence[BiLmState]) -> BiLmState:
    def side(stacks: Sequence[LstmState]) -> LstmState:
        return LstmState(
            torch.cat([stack.hidden for stack in stacks], dim=1).mean(dim=1, keepdim=True),
            torch.cat([stack.cell for stack in stacks], dim=1).mean(dim=1, keepdim=True),
        )

    return BiLmState(side([s.forward for s in states]), side([s.backward for s in states]))


def read_settled(folder: Path, config: ModelConfig) -> BiLmState | None:
    path = folder / "settled.safetensors"
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


def write_settled(state: BiLmState, folder: Path) -> None:
    tensors = {
        f"{side}.{part}": tensor
        for side, one in (("forward", state.forward), ("backward", state.backward))
        for part, tensor in zip(one._fields, one, strict=True)
    }
    write_tensors(folder / "settled.safetensors", tensors, "float32")
