"""Opens encoders by name; every model is read once."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from elmokit.analysis.encoders.bilm import BiLmEncoder, CarriedEncoder, states_name, untrained
from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.encoders.sentence_mean import with_sentence_mean
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.model.kernels.lstm_inference import PrecisionName, require_precision
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import find_model
from elmokit.weights.pretrained import Basis, PretrainedModel


class Models:
    """Opens models by name and keeps them, so that all rows and sections share one copy.

    The models are freed with this object.
    """

    def __init__(
        self, device: str = "cpu", need_softmax: bool = False, precision: str = "float32"
    ) -> None:
        """``need_softmax``: also read the softmax; it is large, and only perplexity needs it."""
        require_precision(precision)
        self.device = device
        self.precision = cast(PrecisionName, precision)
        self.need_softmax = need_softmax
        self._embedders: dict[tuple[Path, Basis], Embedder] = {}
        self._encoders: dict[str, Encoder] = {}

    def pretrained(self, name: str | None) -> PretrainedModel:
        """The model itself, with its softmax if ``need_softmax`` is set."""
        model = self.embedder(name).pretrained
        if model.output_words is not None:
            model.output_words.softmax.to(model.bilm.device)
        return model

    def embedder(self, name: str | None, basis: Basis = "similarity") -> Embedder:
        """The model as an ``Embedder``, on the device."""
        key = find_model(name).path, basis
        if key not in self._embedders:
            model = load_pretrained(key[0], need_softmax=self.need_softmax)
            model.set_basis(basis)
            self._embedders[key] = Embedder(model, precision=self.precision, device=self.device)
        return self._embedders[key]

    def encoder(self, name: str) -> Encoder:
        """Open an encoder by name:

        - a path, or the name of a model that ships with elmokit (``en-small``): a biLM
        - ``states:MODEL``: the same biLM, without its basis for similarity: the LSTMs' states
        - ``carried:MODEL``: the same biLM, reading the sentences of a document as running text;
          also ``carried:states:MODEL``
        - ``untrained:MODEL`` or ``untrained:MODEL:SEED``: the same sizes, random weights
        - ``mean:NAME``: another encoder's vectors, replaced by the mean of their sentence
        - ``plus-mean:NAME``: another encoder's vectors, added to the mean of their sentence
        - ``static:FILE``: GloVe or word2vec (text or binary), or a folder of words.txt and
          vectors.npy
        - ``cove:STATE_DICT,STATIC``: CoVe over the vectors of STATIC

        An empty MODEL is the default, as the commands of older reports write it.
        """
        if name not in self._encoders:
            self._encoders[name] = self._open(name)
        return self._encoders[name]

    def encoders(self, names: Sequence[str]) -> list[Encoder]:
        """Open several encoders by name."""
        return [self.encoder(name) for name in names]

    def _open(self, name: str) -> Encoder:
        kind, _, rest = name.partition(":")
        if kind == "static":
            return _open_static(rest)
        if kind == "cove":
            return _open_cove(rest)
        if kind in ("mean", "plus-mean"):
            return with_sentence_mean(self.encoder(rest), is_added=kind == "plus-mean")
        if kind == "carried":
            fresh = self.encoder(rest)
            if not isinstance(fresh, BiLmEncoder):
                raise InputError(f"{name}: only a biLM carries a state; give carried:MODEL")
            return CarriedEncoder(fresh)
        if kind == "states":
            embedder = self.embedder(rest or None, "states")
            return BiLmEncoder(embedder, states_name(embedder.name))
        if kind == "untrained":
            path, _, seed = rest.partition(":")
            if seed and not seed.isdigit():
                raise InputError(f"{name}: the seed must be a whole number, got {seed!r}")
            trained = self.embedder(path or None)
            encoder = untrained(
                trained.bilm.config, trained.indexer, int(seed or 1), self.precision
            )
            encoder.embedder.to(self.device)
            return encoder
        return BiLmEncoder(self.embedder(name or None))


def open_encoder(name: str, device: str = "cpu", precision: str = "float32") -> Encoder:
    """Open one encoder by name; see ``Models.encoder``."""
    return Models(device, precision=precision).encoder(name)


def _open_static(path: str) -> Encoder:
    from elmokit.analysis.encoders.static import StaticEncoder
    from elmokit.text.static_vectors import read_static_vectors

    return StaticEncoder(read_static_vectors(Path(path)))


def _open_cove(names: str) -> Encoder:
    from elmokit.analysis.encoders.cove import open_cove

    state_dict, _, vectors = names.partition(",")
    if not vectors:
        raise InputError(f"cove:{names}: CoVe needs  cove:STATE_DICT,VECTORS  (GloVe 840B, 300)")
    return open_cove(Path(state_dict), Path(vectors))
