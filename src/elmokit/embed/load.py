"""One line from a path to vectors."""

from pathlib import Path

import torch

from elmokit.embed.embedder import Embedder
from elmokit.weights.load import load_pretrained


def load(path: str | Path | None = None, *, device: str | torch.device = "cpu") -> Embedder:
    """Load a model of any known format; without a path, the one that ships with elmokit."""
    return Embedder(load_pretrained(path, need_softmax=False)).to(device)
