"""CoVe (McCann et al., 2017) from its published state dict: a two-layer biLSTM over GloVe.

The file holds the weights of one ``nn.LSTM(300, 300, num_layers=2, bidirectional=True)``. The two
layers are run one after the other, because the outputs of both are needed.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence

from elmokit.analysis.encoders.static import StaticEncoder
from elmokit.errors import InputError
from elmokit.text.static_vectors import StaticVectors, read_static_vectors
from elmokit.weights.tensors import read_pickled_tensors

Floats = npt.NDArray[np.float32]
PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
BATCH_SENTENCES = 64


class CoveEncoder:
    """Both layers of CoVe, each (T, 2H)."""

    layer_names = ("layer 1", "layer 2")

    def __init__(self, layers: Sequence[nn.LSTM], vectors: StaticVectors, name: str) -> None:
        self.lstms = [layer.eval().requires_grad_(False) for layer in layers]
        self.vectors = vectors
        self.name = name

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the weights and of the input vectors."""
        digest = hashlib.blake2b(StaticEncoder(self.vectors).fingerprint.encode(), digest_size=8)
        for lstm in self.lstms:
            for weight in lstm.parameters():
                digest.update(weight.numpy().tobytes())
        return digest.hexdigest()

    def covers(self, token: str) -> bool:
        """Whether GloVe has a vector for the token."""
        return self.vectors.row(token) is not None

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """One array (2, T, 2H) per sentence."""
        width = 2 * self.lstms[0].hidden_size
        found = [np.zeros((len(self.lstms), len(s), width), dtype=np.float32) for s in sentences]
        # Sorted by length and packed, so that a sentence's vectors do not depend on its batch.
        order = sorted((n for n, s in enumerate(sentences) if s), key=lambda n: -len(sentences[n]))
        for start in range(0, len(order), BATCH_SENTENCES):
            numbers = order[start : start + BATCH_SENTENCES]
            for level, outputs in enumerate(self._run([sentences[n] for n in numbers])):
                for row, number in enumerate(numbers):
                    length = len(sentences[number])
                    found[number][level] = outputs[row, :length].numpy()
        return found

    def _run(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """One (B, T, 2H) per layer, for sentences sorted from long to short."""
        tokens = StaticEncoder(self.vectors).layers(sentences)
        packed: PackedSequence = pack_sequence([torch.from_numpy(array[0]) for array in tokens])
        outputs = []
        with torch.inference_mode():
            for lstm in self.lstms:
                packed, _ = lstm(packed)
                outputs.append(pad_packed_sequence(packed, batch_first=True)[0])
        return outputs


def open_cove(state_dict: Path, vectors: Path) -> CoveEncoder:
    """Read the published weights, and the GloVe vectors they take as input."""
    if not state_dict.exists():
        raise InputError(f"{state_dict}: no such file; give the path of CoVe's state dict")
    weights = read_pickled_tensors(state_dict)
    return build_cove(weights, read_static_vectors(vectors), str(state_dict))


def build_cove(weights: Mapping[str, Tensor], vectors: StaticVectors, where: str) -> CoveEncoder:
    """Split the two-layer LSTM's weights into two LSTMs; names may have a prefix like `rnn.`."""
    plain = {name.rpartition(".")[2]: tensor for name, tensor in weights.items()}
    lstms = []
    for level in range(2):
        names = {
            f"{part}_l0{side}": f"{part}_l{level}{side}"
            for part in PARTS
            for side in ("", "_reverse")
        }
        for name in names.values():
            if name not in plain:
                raise InputError(f"{where}: not CoVe's state dict, because it has no {name}")
        inputs = plain[f"weight_ih_l{level}"].shape[1]
        lstm = nn.LSTM(
            inputs, plain[f"weight_hh_l{level}"].shape[1], bidirectional=True, batch_first=True
        )
        lstm.load_state_dict({ours: plain[theirs] for ours, theirs in names.items()})
        lstms.append(lstm)
    if lstms[0].input_size != vectors.dim:
        raise InputError(
            f"{where}: expects vectors of {lstms[0].input_size} dimensions, but "
            f"{vectors.source} has {vectors.dim}; use GloVe 840B with 300 dimensions"
        )
    return CoveEncoder(lstms, vectors, "CoVe")
