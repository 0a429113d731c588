"""BiLMs as encoders: sentence by sentence, document by document, or with random weights."""

from collections.abc import Sequence

import torch

from elmokit.analysis.encoders.encoder import Floats, Sentences, chunks
from elmokit.config import ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel


class BiLmEncoder:
    """All layers of a biLM; a sentence's vectors depend on that sentence alone."""

    def __init__(self, embedder: Embedder, name: str | None = None) -> None:
        self.embedder = embedder
        self.name = name or embedder.name

    @property
    def layer_names(self) -> tuple[str, ...]:
        """The token layer, then the LSTM layers from 1."""
        numbers = range(1, self.embedder.num_layers)
        return ("token layer", *(f"layer {number}" for number in numbers))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model's weights."""
        return self.embedder.fingerprint

    def covers(self, token: str) -> bool:
        """Always true for character models; for others, whether the vocabulary has the token."""
        indexer = self.embedder.indexer
        if indexer.characters is not None or indexer.word_ids is None:
            return True
        return token in indexer.word_ids

    def layers(self, sentences: Sentences) -> list[Floats]:
        """One array (L + 1, T, D) per sentence."""
        return self.embedder.layers(sentences)


def states_name(model: str) -> str:
    """The name, in tables, of a model whose states are compared as the LSTMs computed them."""
    return f"{model}, states"


def carried_name(model: str) -> str:
    """The name, in tables, of a model that reads documents with carried state."""
    return f"{model}, carried"


class CarriedEncoder:
    """A biLM that reads documents as running text: each sentence starts from the state before it.

    The biLM was trained this way, and the paper's programs read text this way. Every document
    starts from a fresh state; without documents, every ``STRETCH`` sentences count as one.
    """

    STRETCH = 32

    def __init__(self, fresh: BiLmEncoder) -> None:
        self.embedder = fresh.embedder
        self.name = carried_name(fresh.name)
        self.layer_names = fresh.layer_names
        self.fingerprint = f"{fresh.fingerprint}-carried"
        self.covers = fresh.covers

    def layers(self, sentences: Sentences) -> list[Floats]:
        """One array (L + 1, T, D) per sentence; every ``STRETCH`` sentences count as a document."""
        stretches = list(chunks(sentences, self.STRETCH))
        return [vectors for found in self.document_layers(stretches) for vectors in found]

    def document_layers(self, documents: Sequence[Sentences]) -> list[list[Floats]]:
        """For each document, one array (L + 1, T, D) per sentence."""
        # The documents run in parallel, the longest first, so that finished ones drop out.
        order = sorted(range(len(documents)), key=lambda number: -len(documents[number]))
        found: list[list[Floats]] = [[] for _ in documents]
        state = None
        for place in range(max(map(len, documents), default=0)):
            active = [number for number in order if place < len(documents[number])]
            layers, state = self.embedder.carry([documents[n][place] for n in active], state)
            for number, vectors in zip(active, layers, strict=True):
                found[number].append(vectors)
        return found


def untrained(
    config: ModelConfig,
    indexer: TokenIndexer,
    seed: int = 1,
    precision: PrecisionName = "float32",
) -> BiLmEncoder:
    """A biLM of the same architecture with random weights, as a baseline."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        bilm = BiLm(config)
    source = f"untrained (seed {seed})"
    pretrained = PretrainedModel(bilm, indexer, "native", source)
    return BiLmEncoder(Embedder(pretrained, precision=precision))
