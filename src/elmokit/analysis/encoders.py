"""What every analysis reads: sentences in, all layers of each token out.

A biLM, an untrained biLM, static vectors and CoVe all stand behind one Protocol, so that any of
them can be a row of any table.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from elmokit.config import ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel

Floats = npt.NDArray[np.float32]
Sentences = Sequence[Sequence[str]]
Item = TypeVar("Item")

CHUNK_SENTENCES = 1024
"""Sentences handed to an encoder at once: enough to sort by length, little enough to hold."""


class Encoder(Protocol):
    """Sentences of tokens -> for each an array (num_layers, T, D)."""

    @property
    def name(self) -> str: ...

    @property
    def layer_names(self) -> tuple[str, ...]: ...

    @property
    def fingerprint(self) -> str:
        """Changes when any vector it gives could change."""

    def layers(self, sentences: Sentences) -> list[Floats]: ...

    def covers(self, token: str) -> bool:
        """Does it have a vector of its own for this token? Character models always do."""


def row_name(encoder: str, layer: str) -> str:
    """What a table calls a layer; rows that are no layer's have none."""
    return f"{encoder}, {layer}" if layer else encoder


class BiLmEncoder:
    """All layers of a biLM; a sentence's vectors depend on that sentence alone."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name = embedder.name

    @property
    def layer_names(self) -> tuple[str, ...]:
        numbers = range(1, self.embedder.num_layers)
        return ("token layer", *(f"layer {number}" for number in numbers))

    @property
    def fingerprint(self) -> str:
        return self.embedder.fingerprint

    def covers(self, token: str) -> bool:
        indexer = self.embedder.indexer
        if indexer.characters is not None or indexer.word_ids is None:
            return True
        return token in indexer.word_ids

    def layers(self, sentences: Sentences) -> list[Floats]:
        return self.embedder.layers(sentences)


def carried_name(model: str) -> str:
    return f"{model}, carried"


class CarriedEncoder:
    """A biLM that reads a document as running text: sentences go on from the state before them.

    So it was trained, and so the paper's own programs read. Every document starts from a fresh
    state; sentences that come without documents are cut into stretches of ``STRETCH``.
    """

    STRETCH = 32

    def __init__(self, fresh: BiLmEncoder) -> None:
        self.embedder = fresh.embedder
        self.name = carried_name(fresh.name)
        self.layer_names = fresh.layer_names
        self.fingerprint = f"{fresh.fingerprint}-carried"
        self.covers = fresh.covers

    def layers(self, sentences: Sentences) -> list[Floats]:
        stretches = list(chunks(sentences, self.STRETCH))
        return [vectors for found in self.document_layers(stretches) for vectors in found]

    def document_layers(self, documents: Sequence[Sentences]) -> list[list[Floats]]:
        """The documents side by side, the longest first, so that those that have ended drop out."""
        order = sorted(range(len(documents)), key=lambda number: -len(documents[number]))
        found: list[list[Floats]] = [[] for _ in documents]
        state = None
        for place in range(max(map(len, documents), default=0)):
            going = [number for number in order if place < len(documents[number])]
            layers, state = self.embedder.carry([documents[n][place] for n in going], state)
            for number, vectors in zip(going, layers, strict=True):
                found[number].append(vectors)
        return found


def document_layers(encoder: Encoder, documents: Sequence[Sentences]) -> Iterator[list[Floats]]:
    """Of each document the layers of its sentences, which only a carried biLM reads as one text."""
    for some in _together(documents):
        if isinstance(encoder, CarriedEncoder):
            yield from encoder.document_layers(some)
            continue
        layers = iter(encoder.layers([sentence for document in some for sentence in document]))
        yield from ([next(layers) for _ in document] for document in some)


def _together(documents: Sequence[Sentences]) -> Iterator[list[Sentences]]:
    """As many documents at once as make CHUNK_SENTENCES sentences."""
    some: list[Sentences] = []
    for document in documents:
        some.append(document)
        if sum(map(len, some)) >= CHUNK_SENTENCES:
            yield some
            some = []
    if some:
        yield some


def untrained(config: ModelConfig, indexer: TokenIndexer, seed: int = 1) -> BiLmEncoder:
    """The same biLM with random weights: what the architecture alone gives."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        bilm = BiLm(config)
    source = f"untrained (seed {seed})"
    return BiLmEncoder(Embedder(PretrainedModel(bilm, indexer, "native", source)))


def open_encoder(name: str) -> Encoder:
    """Whatever a user names on the command line.

    - a path, or the name of a model that ships: a biLM
    - ``carried:MODEL``: the same, reading sentences as running text
    - ``untrained:MODEL`` or ``untrained:MODEL:SEED``: its sizes, random weights
    - ``static:FILE``: GloVe or word2vec (text or binary), or a folder of words.txt + vectors.npy
    - ``cove:STATE_DICT,STATIC``: CoVe over the vectors of STATIC
    """
    kind, _, rest = name.partition(":")
    if kind == "static":
        from elmokit.analysis.static_encoder import StaticEncoder
        from elmokit.text.static_vectors import read_static_vectors

        return StaticEncoder(read_static_vectors(Path(rest)))
    if kind == "cove":
        from elmokit.analysis.cove import open_cove

        state_dict, _, vectors = rest.partition(",")
        if not vectors:
            raise InputError(f"{name}: CoVe needs  cove:STATE_DICT,VECTORS  (GloVe 840B, 300)")
        return open_cove(Path(state_dict), Path(vectors))
    if kind == "carried":
        return CarriedEncoder(_open_bilm(rest))
    if kind == "untrained":
        path, _, seed = rest.partition(":")
        if seed and not seed.isdigit():
            raise InputError(f"{name}: the seed must be a whole number, got {seed!r}")
        trained = _open_bilm(path).embedder
        return untrained(trained.bilm.config, trained.indexer, int(seed or 1))
    return _open_bilm(name)


def _open_bilm(name: str) -> BiLmEncoder:
    """A path, or nothing for the model that ships."""
    return BiLmEncoder(load(name or None))


def evenly(items: Sequence[Item], count: int) -> list[Item]:
    """``count`` of them, evenly spread, the first and the last among them; or all there are."""
    if len(items) <= count:
        return list(items)
    places = np.linspace(0, len(items) - 1, count).round().astype(int)
    return [items[place] for place in places]


def chunks(items: Iterable[Item], size: int = CHUNK_SENTENCES) -> Iterator[list[Item]]:
    """Lists of at most ``size``: what is encoded, used and forgotten before the next."""
    chunk: list[Item] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
