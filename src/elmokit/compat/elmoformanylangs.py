"""ELMoForManyLangs' name: ``from elmokit.compat.elmoformanylangs import Embedder``."""

from collections.abc import Sequence
from pathlib import Path

from elmokit.embed.embedder import Embedder as ElmokitEmbedder
from elmokit.embed.sentences import Vectors
from elmokit.weights.load import load_pretrained

AVERAGE, ALL_LAYERS = -1, -2


class Embedder:
    """ELMoForManyLangs' ``Embedder``; reads its models, and any other that elmokit reads."""

    def __init__(self, model_dir: str | Path, batch_size: int = 64) -> None:
        """``batch_size`` is accepted but has no effect: sentences are grouped by length."""
        self.model_dir = model_dir
        self.batch_size = batch_size
        self.embedder = ElmokitEmbedder(load_pretrained(model_dir, need_softmax=False))

    def sents2elmo(
        self, sents: Sequence[Sequence[str]], output_layer: int = AVERAGE
    ) -> list[Vectors]:
        """Return one array per sentence, in order: (T, D), or (L + 1, T, D) for all layers.

        ``output_layer``: 0 for the token layer, 1 and 2 for the LSTMs, -1 for the average, -2 for
        all layers.
        """
        if output_layer == ALL_LAYERS:
            return self.embedder.layers(sents)
        return self.embedder.embed(sents, "average" if output_layer == AVERAGE else output_layer)
