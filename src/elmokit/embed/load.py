"""``elmokit.load``: from a model's name to an ``Embedder``."""

import torch

from elmokit.embed.embedder import Embedder
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import ModelName
from elmokit.weights.pretrained import Basis, PretrainedModel

AnyModel = Embedder | PretrainedModel | ModelName
"""A loaded model, or whatever ``elmokit.load`` takes to load one."""


def load(
    model: ModelName = None,
    *,
    device: str | torch.device = "cpu",
    precision: PrecisionName = "float32",
    num_threads: int | None = None,
    basis: Basis = "similarity",
) -> Embedder:
    """Load a model of any known format.

    Args:
        model: a name (``"en-small"``, the default: it ships with elmokit), the path of a folder,
            an archive, an .hdf5 file or a TensorFlow checkpoint, the id of a model on the Hugging
            Face Hub (``"user/model"``), or a pair of options and weights.
        device: ``"cpu"``, ``"cuda"``, ..., or ``"auto"`` for a GPU if there is one.
        precision: precision of the LSTMs' weights: ``"float32"`` (exact), ``"bfloat16"`` or
            ``"int8"`` (both rounded, and faster if memory is the bottleneck), or ``"auto"``, the
            fastest on this processor.
        num_threads: the maximum number of threads; default: as many as PyTorch uses.
        basis: what the vectors are for: ``"similarity"`` to compare them by cosine, or
            ``"features"`` to give them to a model that learns from them; ``"states"`` are the
            LSTMs' own, forward in the first half, backward in the second. All contain the same
            information. They differ for en-small; most models have only their states.

    >>> load("en-small").embed(["I like apples."])[0].shape
    (4, 512)
    """
    pretrained = load_pretrained(model, need_softmax=False)
    pretrained.set_basis(basis)
    return Embedder(pretrained, precision=precision, num_threads=num_threads, device=device)
