"""One line from a model's name to vectors."""

import torch

from elmokit.embed.embedder import Embedder
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import ModelName


def load(model: ModelName = None, *, device: str | torch.device = "cpu") -> Embedder:
    """Load a model of any known format.

    Args:
        model: a name (``"en-small"``, the default: it ships with elmokit), the path of a folder,
            a zip or an .hdf5 file, the id of a model on the Hugging Face Hub (``"user/model"``),
            or a pair of options and weights.
        device: ``"cpu"``, ``"cuda"``, ..., or ``"auto"`` for a GPU where there is one.

    >>> load("en-small").embed(["I like apples."])[0].shape
    (4, 512)
    """
    return Embedder(load_pretrained(model, need_softmax=False)).to(device)
