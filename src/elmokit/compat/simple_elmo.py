"""simple_elmo's name: ``from elmokit.compat.simple_elmo import ElmoModel``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np
import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder, Start
from elmokit.embed.sentences import Sentence, Vectors
from elmokit.errors import InputError
from elmokit.model.packing import add_markers, batch_tokens
from elmokit.model.softmax import OutputWords
from elmokit.weights.load import load_pretrained

Layers = Literal["average", "top", "all"]


class Candidates(TypedDict):
    """The words that one direction proposes for one place, best first."""

    candidates: list[int]  # rows of the softmax, best first
    candidate_words: list[str]
    logp: list[float]  # probabilities, despite the name


class Substitutes(TypedDict):
    """One token and what each direction proposes in its place."""

    word: str
    forward: Candidates  # predicted from the words before
    backward: Candidates  # predicted from the words after


class ElmoModel:
    """simple_elmo's ``ElmoModel``: vectors as one array, zero beyond the end of a sentence."""

    def __init__(self) -> None:
        self._embedder: Embedder | None = None

    def load(
        self, directory: str | Path, max_batch_size: int = 32, limit: int = 100, full: bool = False
    ) -> str:
        """Load a folder, a zip or any other model that elmokit reads.

        ``full`` also reads the softmax, which ``get_elmo_substitutes`` needs. ``max_batch_size``
        and ``limit`` are accepted but have no effect.
        """
        self._embedder = Embedder(load_pretrained(directory, need_softmax=full))
        self.batch_size = max_batch_size
        self.vector_size = self._embedder.dim
        self.n_layers = self._embedder.num_layers
        cnn = self._embedder.bilm.config.char_cnn
        self.max_chars = None if cnn is None else cnn.max_characters
        return "The model is now loaded."

    def get_elmo_vectors(
        self, texts: Sequence[Sentence], warmup: bool = True, layers: Layers = "average"
    ) -> Vectors:
        """Return (N, T, D), or (N, L + 1, T, D) for "all".

        ``warmup``: every sentence starts from the settled state that is stored with the model, if
        any (``elmokit convert --settle`` makes one), instead of from zeros.
        """
        arrays = self._vectors(texts, warmup, layers)
        longest = max((array.shape[-2] for array in arrays), default=0)
        depth = (self.n_layers,) if layers == "all" else ()
        result = np.zeros((len(arrays), *depth, longest, self.vector_size), dtype=np.float32)
        for row, array in enumerate(arrays):
            result[row, ..., : array.shape[-2], :] = array
        return result

    def get_elmo_vector_average(
        self, texts: Sequence[Sentence], warmup: bool = True, layers: Layers = "average"
    ) -> Vectors:
        """Return (N, D), or (N, L + 1, D): the mean over the tokens, scaled to length 1."""
        means = [
            array.sum(axis=-2) / max(array.shape[-2], 1)  # zeros for an empty sentence
            for array in self._vectors(texts, warmup, layers)
        ]
        depth = (self.n_layers,) if layers == "all" else ()
        result = np.zeros((len(means), *depth, self.vector_size), dtype=np.float32)
        for row, mean in enumerate(means):
            result[row] = mean / max(float(np.linalg.norm(mean)), 1e-12)
        return result

    def get_elmo_substitutes(
        self, data: Sequence[Sentence], topn: int = 3, nodelimiters: bool = True
    ) -> list[list[Substitutes]]:
        """Return the words that each direction predicts in place of every word, best first.

        ``topn``: the number of words; ``nodelimiters``: leave out the sentence markers.
        """
        embedder = self._loaded()
        words = embedder.pretrained.output_words
        if words is None:
            raise InputError(
                f"{embedder.source}: substitutes need the softmax and its vocabulary; "
                f"load a model that has them with full=True"
            )
        tokens = [embedder.tokens_of(sentence) for sentence in data]
        return [_substitutes(embedder, words, one, topn, nodelimiters) for one in tokens]

    def _vectors(self, texts: Sequence[Sentence], warmup: bool, layers: Layers) -> list[Vectors]:
        embedder = self._loaded()
        start: Start = "settled" if warmup and embedder.pretrained.settled else "fresh"
        if layers == "all":
            return embedder.layers(texts, start=start)
        if layers not in ("average", "top"):
            raise InputError(f"layers must be average, top or all, got {layers!r}")
        return embedder.embed(texts, layers, start=start)

    def _loaded(self) -> Embedder:
        if self._embedder is None:
            raise InputError("no model is loaded; call load(directory) first")
        return self._embedder


@torch.no_grad()
def _substitutes(
    embedder: Embedder, words: OutputWords, tokens: list[str], topn: int, nodelimiters: bool
) -> list[Substitutes]:
    if not tokens:
        return []
    batch = batch_tokens([tokens], embedder.indexer)
    bilm = embedder.bilm
    table = bilm.encoder(batch.ids)
    rows, lengths = add_markers(batch.rows, [len(tokens)])  # (1, T + 2)
    output = bilm(table, rows, lengths, bilm.zero_state(1))
    forward, backward = output.layers[0, -1].chunk(2, dim=-1)  # (T + 2, P) each
    before = _best(words, forward[:-2], topn, nodelimiters)  # of word t, from <S> ... t-1
    after = _best(words, backward[2:], topn, nodelimiters)  # from </S> ... t+1
    return [
        Substitutes(word=word, forward=left, backward=right)
        for word, left, right in zip(tokens, before, after, strict=True)
    ]


def _best(words: OutputWords, hidden: Tensor, topn: int, nodelimiters: bool) -> list[Candidates]:
    probabilities = words.softmax(hidden).softmax(dim=-1)  # (T, V)
    if nodelimiters:
        probabilities[:, [words.vocabulary.begin, words.vocabulary.end]] = 0.0
    values, rows = probabilities.topk(min(topn, probabilities.shape[1]), dim=-1)
    return [
        Candidates(
            candidates=candidates,
            candidate_words=[words.vocabulary.words[row] for row in candidates],
            logp=[round(value, 4) for value in chances],
        )
        for candidates, chances in zip(rows.tolist(), values.tolist(), strict=True)
    ]
