"""The files of a task run, of this version and of earlier ones."""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from elmokit.tasks.run_folder import load_weights, save_weights


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_logit = nn.Linear(3, 1)


def test_weights_under_their_old_names_are_read(tmp_path: Path) -> None:
    first, second = Attending(), Attending()
    weights = {
        name.replace("attention_logit", "heed"): value for name, value in first.state_dict().items()
    }
    save_file(weights, tmp_path / "old.safetensors")
    load_weights(second, tmp_path / "old.safetensors")
    assert torch.equal(first.attention_logit.weight, second.attention_logit.weight)


def test_saved_weights_are_read_again(tmp_path: Path) -> None:
    first, second = Attending(), Attending()
    save_weights(first, tmp_path / "best.safetensors")
    load_weights(second, tmp_path / "best.safetensors")
    assert torch.equal(first.attention_logit.weight, second.attention_logit.weight)
