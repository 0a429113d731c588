"""SENTENCES -> VECTORS: what ``elmokit.load`` returns.

A sentence's vectors depend on that sentence alone: not on its batch, its place or what ran before.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.device import usable_device
from elmokit.embed.chunks import chunks_of, windows_of
from elmokit.embed.fingerprint import fingerprint
from elmokit.embed.mix import AnyMix, check_mix, mix_layers, mixed_dim
from elmokit.embed.word_cache import DEFAULT_BYTES, WordCache
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.settled import settle

if TYPE_CHECKING:
    from elmokit.text.tokenize import Token

Vectors = npt.NDArray[np.float32]
Sentence = str | Sequence[str]
"""Raw text, tokenised by us, or tokens, taken as they are."""
Start = Literal["fresh", "settled"] | BiLmState
"""What every sentence starts from: zeros, the model's warmed state (made from built-in English
sentences where its files have none), or one row of your own."""
Pooling = Literal["mean", "max", "ends"]

BATCH_TOKENS = 8192
WINDOW_TOKENS = 32768
"""Sentences of a stream are sorted among this many tokens; also what a stream holds in memory."""


class Carried(NamedTuple):
    layers: list[Vectors]  # each (L + 1, T, D)
    state: BiLmState  # for the next call


class Embedder:
    """A loaded model.

    >>> elmo = elmokit.load()                                   # doctest: +SKIP
    >>> elmo.embed(["I like apples."])[0].shape                 # doctest: +SKIP
    (4, 512)
    """

    def __init__(self, pretrained: PretrainedModel, *, cache_bytes: int = DEFAULT_BYTES) -> None:
        self.pretrained = pretrained
        self.bilm: BiLm = pretrained.bilm.eval()
        self.indexer: TokenIndexer = pretrained.indexer
        self._cache = WordCache(self.bilm.encoder, self.indexer, cache_bytes)

    @property
    def num_layers(self) -> int:
        """L + 1: the token layer counts."""
        return self.bilm.num_layers

    @property
    def dim(self) -> int:
        """D, the width of one layer."""
        return self.bilm.config.vector_dim

    @property
    def source(self) -> str:
        """Where the model was read from."""
        return self.pretrained.source

    @property
    def name(self) -> str:
        """The last part of ``source``."""
        return self.source.rstrip("/").rsplit("/", 1)[-1]

    @cached_property
    def fingerprint(self) -> str:
        """Names the weights and how tokens are spelled: equal only for models with equal vectors.

        Made once; a model that is trained further needs a new Embedder.
        """
        return fingerprint(self.pretrained)

    def __repr__(self) -> str:
        return f"Embedder({self.source!r}, layers={self.num_layers}, dim={self.dim})"

    def to(self, device: str | torch.device) -> "Embedder":
        """Move the model; vectors still come back as NumPy arrays."""
        self.bilm.to(usable_device(device))
        self.__dict__.pop("_settled", None)
        return self

    def tokenize(self, text: str) -> "list[Token]":
        """Our tokens of raw text, with their character offsets."""
        from elmokit.text.tokenize import tokenize

        return tokenize(text)

    def settle(self, sentences: Iterable[Sentence]) -> None:
        """Make ``start="settled"`` the state that a few dozen sentences of yours leave behind."""
        tokens = [self.tokens_of(sentence) for sentence in _several(sentences)]
        self.pretrained.settled = settle(self.pretrained, tokens)
        self.__dict__.pop("_settled", None)

    def cache_words(self, words: Iterable[str]) -> None:
        """Encode a vocabulary now and keep it; words outside it still work."""
        self._cache.keep(list(words))

    def embed(
        self,
        sentences: Iterable[Sentence],
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
    ) -> list[Vectors]:
        """One (T, D) array a sentence; (T, (L + 1) D) for ``mix="concat"``.

        ``mix``: "average", "sum", "top", "concat", a layer's number, or ``Mix(weights, gamma)``.
        """
        check_mix(mix, self.num_layers)
        tokens = [self.tokens_of(sentence) for sentence in _several(sentences)]
        return self._window(tokens, mix, start, batch_tokens)

    def layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
    ) -> list[Vectors]:
        """One (L + 1, T, D) array a sentence: token layer first, top LSTM last."""
        tokens = [self.tokens_of(sentence) for sentence in _several(sentences)]
        return self._window(tokens, None, start, batch_tokens)

    def stream(
        self,
        sentences: Iterable[Sentence],
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        window_tokens: int = WINDOW_TOKENS,
    ) -> Iterator[Vectors]:
        """``embed`` for any amount of input: vectors in order, memory bounded by the window."""
        check_mix(mix, self.num_layers)
        tokens = map(self.tokens_of, _several(sentences))
        for window in windows_of(tokens, window_tokens):
            yield from self._window(window, mix, start, batch_tokens)

    def stream_layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        window_tokens: int = WINDOW_TOKENS,
    ) -> Iterator[Vectors]:
        """``layers`` for any amount of input."""
        tokens = map(self.tokens_of, _several(sentences))
        for window in windows_of(tokens, window_tokens):
            yield from self._window(window, None, start, batch_tokens)

    def pool(
        self,
        sentences: Iterable[Sentence],
        how: Pooling = "mean",
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
    ) -> Vectors:
        """(N, D): one vector a sentence, zeros for an empty one.

        "mean" and "max" run over its tokens. "ends" joins where each direction has read it all:
        the forward half of the last token and the backward half of the first.
        """
        require_pooling(how)
        dim = mixed_dim(mix, self.num_layers, self.dim)
        pooled = [
            pool_tokens(vectors, how, self.dim)
            for vectors in self.stream(sentences, mix, start=start)
        ]
        return np.stack(pooled) if pooled else np.zeros((0, dim), dtype=np.float32)

    def carry(self, sentences: Sequence[Sentence], state: BiLmState | None = None) -> Carried:
        """Layers of sentences that go on from a state, as the old programs did.

        Row i of the state belongs to sentence i of every call. Further sentences start from
        zeros, and rows without a sentence stay as they are.
        """
        tokens = [self.tokens_of(sentence) for sentence in _several(sentences)]
        if not tokens:
            return Carried([], self.bilm.zero_state(0) if state is None else state)
        state = self.bilm.zero_state(len(tokens)) if state is None else state
        if state.num_rows < len(tokens):
            state = _joined(state, self.bilm.zero_state(len(tokens) - state.num_rows))
        table, index, lengths = self._tensors(tokens)
        with torch.no_grad():
            output = self.bilm(table, index, lengths, carried=_rows(state, 0, len(tokens)))
        arrays = output.layers.cpu().numpy()
        layers = [
            np.ascontiguousarray(array[:, :length])
            for array, length in zip(arrays, lengths, strict=True)
        ]
        return Carried(layers, _joined(output.state, _rows(state, len(tokens), state.num_rows)))

    def tokens_of(self, sentence: Sentence) -> list[str]:
        """The tokens a sentence's vectors stand for."""
        if isinstance(sentence, str):
            return [token.text for token in self.tokenize(sentence)]
        return _checked_tokens(sentence)

    def _window(
        self, sentences: list[list[str]], mix: AnyMix | None, start: Start, batch_tokens: int
    ) -> list[Vectors]:
        """All of these sentences: sorted into chunks, back in their order. No mix: all layers."""
        begin = self._start(start)
        results: dict[int, Vectors] = {}
        for chunk in chunks_of([len(sentence) for sentence in sentences], batch_tokens):
            table, index, lengths = self._tensors([sentences[number] for number in chunk])
            with torch.no_grad():
                layers = self.bilm(table, index, lengths, start=begin).layers
                vectors = layers if mix is None else mix_layers(layers, mix)
            arrays = vectors.cpu().numpy()  # (B, L + 1, T, D) or (B, T, D)
            for number, array, length in zip(chunk, arrays, lengths, strict=True):
                results[number] = array[..., :length, :].copy()
        return [results[number] for number in range(len(sentences))]

    def _tensors(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, list[int]]:
        """Vectors of the distinct tokens (N, P), each token's row of them (B, T), lengths."""
        rows: dict[str, int] = {self.indexer.begin: 0, self.indexer.end: 1}
        lengths = [len(sentence) for sentence in sentences]
        index = np.zeros((len(sentences), max(lengths)), dtype=np.int64)
        for number, sentence in enumerate(sentences):
            index[number, : len(sentence)] = [
                rows.setdefault(token, len(rows)) for token in sentence
            ]
        table = self._cache.vectors(list(rows))
        return table, torch.from_numpy(index).to(table.device), lengths

    def _start(self, start: Start) -> BiLmState | None:
        if isinstance(start, BiLmState):
            if start.num_rows != 1:
                raise InputError(f"a start must have one row, this state has {start.num_rows}")
            return start
        require_start(start)
        return None if start == "fresh" else self._settled

    @cached_property
    def _settled(self) -> BiLmState:
        """Kept as one object: the biLM remembers the step over the marker by its identity."""
        state = self.pretrained.settled or settle(self.pretrained)
        sides = [type(side)(*(part.to(self.bilm.device) for part in side)) for side in state]
        return BiLmState(*sides)


def _several(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    if isinstance(sentences, str):
        raise InputError(f"expected a list of sentences, got one string: use [{sentences[:40]!r}]")
    if not isinstance(sentences, Iterable):
        raise InputError(f"expected a list of sentences, got {sentences!r}")
    return iter(sentences)


def _checked_tokens(sentence: object) -> list[str]:
    if isinstance(sentence, bytes) or not isinstance(sentence, Iterable):
        raise InputError(f"a sentence must be a string or a list of strings, got {sentence!r}")
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"a sentence must be a string or a list of strings, got {token!r}")
    return tokens


def require_start(start: str) -> None:
    if start not in ("fresh", "settled"):
        raise InputError(f"start must be fresh, settled or a state of one row, got {start!r}")


def require_pooling(how: str) -> None:
    if how not in ("mean", "max", "ends"):
        raise InputError(f"tokens are pooled by mean, max or ends, got {how!r}")


def pool_tokens(vectors: Vectors, how: Pooling, dim: int) -> Vectors:
    """(T, D) -> (D,), zeros where there are no tokens; ``dim`` is the width of one layer."""
    if len(vectors) == 0:
        return np.zeros(vectors.shape[1], dtype=np.float32)
    if how == "mean":
        mean: Vectors = vectors.mean(axis=0)
        return mean
    if how == "max":
        best: Vectors = vectors.max(axis=0)
        return best
    is_forward = np.arange(vectors.shape[1]) % dim < dim // 2  # in every layer of a concatenation
    ends: Vectors = np.where(is_forward, vectors[-1], vectors[0])
    return ends


def _rows(state: BiLmState, start: int, end: int) -> BiLmState:
    rows = torch.arange(start, end, device=state.forward.hidden.device)
    return BiLmState(state.forward.rows(rows), state.backward.rows(rows))


def _joined(first: BiLmState, second: BiLmState) -> BiLmState:
    sides = [
        type(one)(*(torch.cat(pair, dim=1) for pair in zip(one, other, strict=True)))
        for one, other in zip(first, second, strict=True)
    ]
    return BiLmState(*sides)
