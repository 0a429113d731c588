"""SENTENCES -> VECTORS: what ``elmokit.load`` returns.

A sentence's vectors depend on that sentence alone: not on its batch, its place or what ran before.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from elmokit.device import usable_device
from elmokit.embed.chunks import chunks_of, windows_of
from elmokit.embed.fingerprint import fingerprint
from elmokit.embed.mix import AnyMix, checked_mix, mix_layers, mixed_dim
from elmokit.embed.sentences import (
    EmbeddedText,
    Sentence,
    Vectors,
    all_tokens,
    several,
    split_text,
    tokens_of,
)
from elmokit.embed.warm_start import settle
from elmokit.embed.word_cache import DEFAULT_BYTES, WordCache
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.packing import find_places
from elmokit.progress import meter
from elmokit.text.token_ids import TokenIndexer
from elmokit.text.tokenize import Token, tokenize
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import short_name
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensor_files import StorageType

Start = Literal["fresh", "settled"] | BiLmState
"""What every sentence starts from: zeros, the model's warm start (made from built-in English
sentences where its files have none), or a state of one row."""
Pooling = Literal["mean", "max", "ends"]

BATCH_TOKENS = 8192
WINDOW_TOKENS = 32768
"""Sentences of a stream are sorted among this many tokens; also what a stream holds in memory."""

_NAMED_ELSEWHERE = {
    "encode": "embed (one vector per token) or pool (one vector per sentence)",
    "similarity": "pool, then cosine similarities of its rows; or `elmokit compare` for two words",
    "transform": "pool (one vector per sentence)",
    "embed_sentence": "layers([tokens])[0], or elmokit.compat.allennlp.ElmoEmbedder",
    "embed_batch": "layers, or elmokit.compat.allennlp.ElmoEmbedder",
    "get_elmo_vectors": "embed, or elmokit.compat.simple_elmo.ElmoModel",
    "sents2elmo": "embed, or elmokit.compat.elmoformanylangs.Embedder",
    "eval": "nothing: a loaded model is always in evaluation mode",
}
"""Calls that users of other libraries try first, and what they are called here."""


class CarriedLayers(NamedTuple):
    """Layers of sentences that continued from a state, and the state in which they end."""

    layers: list[Vectors]  # each (L + 1, T, D)
    state: BiLmState  # for the next call


class Embedder:
    """A loaded model.

    >>> elmo = elmokit.load("en-small")                          # doctest: +SKIP
    >>> elmo.embed(["I like apples."])[0].shape                  # doctest: +SKIP
    (4, 512)

    Can be pickled and copied; the copy starts with an empty word cache.
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
    def device(self) -> torch.device:
        """Where the model runs; vectors come back as NumPy arrays wherever it is."""
        return self.bilm.device

    @property
    def source(self) -> str:
        """Where the model was read from."""
        return self.pretrained.source

    @property
    def name(self) -> str:
        """The last part of ``source``; the id of a model of the Hugging Face Hub."""
        return short_name(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """Names the weights and how tokens are spelled: equal only for models with equal vectors.

        Made once; a model that is trained further needs a new Embedder.
        """
        return fingerprint(self.pretrained)

    def __repr__(self) -> str:
        return f"Embedder({self.source!r}, layers={self.num_layers}, dim={self.dim})"

    def __getattr__(self, name: str) -> NoReturn:
        ours = _NAMED_ELSEWHERE.get(name)
        hint = f"; here it is {ours}" if ours else ""
        raise AttributeError(f"an elmokit Embedder has no {name!r}{hint}")

    def __call__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refused with the names of what to call: one method has one kind of result."""
        raise InputError(
            "an Embedder is not called: use embed (one vector per token), layers (all layers) or "
            "pool (one vector per sentence); inside a PyTorch model use elmokit.Elmo"
        )

    def to(self, device: str | torch.device) -> "Embedder":
        """Move the model to a device (``"auto"``: a GPU where there is one)."""
        self.bilm.to(usable_device(device))
        self.__dict__.pop("_settled", None)
        return self

    def save(self, folder: str | Path, *, dtype: StorageType = "float32") -> None:
        """Write the model as a folder that ``elmokit.load`` reads, with its softmax if it has one.

        Args:
            folder: replaced if all it holds is a model.
            dtype: ``"float16"`` halves the files and rounds the weights to three digits.
        """
        if self.pretrained.output_words is None and Path(self.source).exists():
            self.pretrained.output_words = load_pretrained(self.source).output_words
        write_native(self.pretrained, Path(folder), dtype)

    def tokenize(self, text: str) -> list[Token]:
        """Our tokens of raw text, with their character offsets."""
        return tokenize(text)

    def tokens_of(self, sentence: Sentence) -> list[str]:
        """The tokens that a sentence's vectors stand for."""
        return tokens_of(sentence)

    def settle(self, sentences: Iterable[Sentence]) -> None:
        """Make ``start="settled"`` the state that a few dozen sentences of yours leave behind."""
        self.pretrained.settled = settle(self, list(all_tokens(sentences)))
        self.__dict__.pop("_settled", None)

    def cache_words(self, words: Iterable[str]) -> None:
        """Encode a vocabulary now and keep it; words outside it still work."""
        self._cache.keep(tokens_of(list(words)))

    def embed(
        self,
        sentences: Iterable[Sentence],
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        show_progress: bool = False,
    ) -> list[Vectors]:
        """One array (T, D) per sentence; (T, (L + 1) D) for ``mix="concat"``.

        Args:
            sentences: strings, tokenised by elmokit, or lists of tokens, taken as they are.
            mix: ``"average"``, ``"sum"``, ``"top"``, ``"concat"``, a layer's number (-1 is the
                last), or ``Mix(weights, gamma)``.
            start: what every sentence starts from, ``"fresh"`` or ``"settled"``.
            batch_tokens: tokens computed at once; bounds the memory.
            show_progress: a progress bar on a terminal, plain lines elsewhere.
        """
        mix = checked_mix(mix, self.num_layers)
        return self._compute(list(all_tokens(sentences)), mix, start, batch_tokens, show_progress)

    def layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        show_progress: bool = False,
    ) -> list[Vectors]:
        """One array (L + 1, T, D) per sentence: token layer first, top LSTM last."""
        return self._compute(list(all_tokens(sentences)), None, start, batch_tokens, show_progress)

    def embed_text(
        self,
        texts: Iterable[Sentence],
        mix: AnyMix = "average",
        *,
        split_sentences: bool = False,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        show_progress: bool = False,
    ) -> list[EmbeddedText]:
        """Tokens, their character offsets and their vectors together, one result per text.

        Args:
            split_sentences: read each sentence of a paragraph on its own, as the model was
                trained; otherwise a text is one sentence.

        The other arguments are those of ``embed``.
        """
        mix = checked_mix(mix, self.num_layers)
        pieces = [
            split_text(text, split_sentences, number) for number, text in enumerate(several(texts))
        ]
        sentences = [sentence for text in pieces for sentence in text.sentences]
        vectors = iter(self._compute(sentences, mix, start, batch_tokens, show_progress))
        empty = np.zeros((0, mixed_dim(mix, self.num_layers, self.dim)), dtype=np.float32)
        results = []
        for text in pieces:
            ends = np.cumsum([len(sentence) for sentence in text.sentences]).tolist()
            results.append(
                EmbeddedText(
                    [token for sentence in text.sentences for token in sentence],
                    text.offsets,
                    list(zip([0, *ends], ends, strict=False)),
                    np.concatenate([empty, *(next(vectors) for _ in text.sentences)]),
                )
            )
        return results

    def padded_layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
    ) -> Tensor:
        """One tensor (B, L + 1, T, D) on the model's device, as a PyTorch model reads it.

        Zero beyond each sentence's length; no gradient.
        """
        tokens = list(all_tokens(sentences))
        longest = max(map(len, tokens), default=0)
        shape = (len(tokens), self.num_layers, longest, self.dim)
        padded = torch.zeros(shape, device=self.bilm.device)
        for chunk, layers in self._run(tokens, start, batch_tokens):
            padded[chunk, :, : layers.shape[2]] = layers
        return padded

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
        mix = checked_mix(mix, self.num_layers)
        return self._stream(sentences, mix, start, batch_tokens, window_tokens)

    def stream_layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        window_tokens: int = WINDOW_TOKENS,
    ) -> Iterator[Vectors]:
        """``layers`` for any amount of input."""
        return self._stream(sentences, None, start, batch_tokens, window_tokens)

    def pool(
        self,
        sentences: Iterable[Sentence],
        how: Pooling = "mean",
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
    ) -> Vectors:
        """(N, D): one vector per sentence, zeros for an empty one.

        ``"mean"`` and ``"max"`` run over its tokens. ``"ends"`` joins where each direction has
        read it all: the forward half of the last token and the backward half of the first.
        """
        require_pooling(how)
        dim = mixed_dim(mix, self.num_layers, self.dim)
        pooled = [
            pool_tokens(vectors, how, self.dim)
            for vectors in self.stream(sentences, mix, start=start)
        ]
        return np.stack(pooled) if pooled else np.zeros((0, dim), dtype=np.float32)

    def carry(self, sentences: Sequence[Sentence], state: BiLmState | None = None) -> CarriedLayers:
        """Layers of sentences that continue from a state, as the old programs did.

        Row i of the state belongs to sentence i of every call. Further sentences start from
        zeros, and rows without a sentence stay as they are.
        """
        tokens = list(all_tokens(sentences))
        if not tokens:
            return CarriedLayers([], self.bilm.zero_state(0) if state is None else state)
        state = self.bilm.zero_state(len(tokens)) if state is None else state
        if state.num_rows < len(tokens):
            state = state.join(self.bilm.zero_state(len(tokens) - state.num_rows))
        table, rows, lengths = self._tensors(tokens)
        with torch.no_grad():
            output = self.bilm.carry(table, rows, lengths, state.rows(0, len(tokens)))
        layers = [
            np.ascontiguousarray(array[:, :length])
            for array, length in zip(output.layers.cpu().numpy(), lengths, strict=True)
        ]
        return CarriedLayers(layers, output.state.join(state.rows(len(tokens), state.num_rows)))

    def _stream(
        self,
        sentences: Iterable[Sentence],
        mix: AnyMix | None,
        start: Start,
        batch_tokens: int,
        window_tokens: int,
    ) -> Iterator[Vectors]:
        for window in windows_of(all_tokens(sentences), window_tokens):
            yield from self._compute(window, mix, start, batch_tokens)

    def _compute(
        self,
        sentences: list[list[str]],
        mix: AnyMix | None,
        start: Start,
        batch_tokens: int,
        show_progress: bool = False,
    ) -> list[Vectors]:
        """All of these sentences: sorted into chunks, back in their order. No mix: all layers."""
        results: dict[int, Vectors] = {}
        num_tokens = sum(map(len, sentences))
        with meter("embed", "tokens", num_tokens, quiet=not show_progress) as progress:
            for chunk, layers in self._run(sentences, start, batch_tokens):
                vectors = layers if mix is None else mix_layers(layers, mix)
                arrays = vectors.cpu().numpy()  # (B, L + 1, T, D) or (B, T, D)
                for number, array in zip(chunk, arrays, strict=True):
                    results[number] = array[..., : len(sentences[number]), :].copy()
                progress.advance(sum(len(sentences[number]) for number in chunk))
        return [results[number] for number in range(len(sentences))]

    def _run(
        self, sentences: list[list[str]], start: Start, batch_tokens: int
    ) -> Iterator[tuple[list[int], Tensor]]:
        """Numbers of the sentences that run together, and their layers (B, L + 1, T, D)."""
        if batch_tokens < 1:
            raise InputError(f"batch_tokens must be at least 1, got {batch_tokens}")
        begin = self._start(start)
        for chunk in chunks_of([len(sentence) for sentence in sentences], batch_tokens):
            table, rows, lengths = self._tensors([sentences[number] for number in chunk])
            with torch.no_grad():
                layers = self.bilm.layers(table, rows, lengths, begin)
            yield chunk, layers

    def _tensors(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, list[int]]:
        """Vectors of the distinct tokens (N, P), each token's row of them (B, T), lengths."""
        tokens, rows, lengths = find_places(sentences, self.indexer)
        table = self._cache.vectors(tokens)
        return table, rows.to(table.device), lengths

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
        return (self.pretrained.settled or settle(self)).to(self.bilm.device)


def require_start(start: str) -> None:
    """Refuse a start that is neither fresh nor settled."""
    if start not in ("fresh", "settled"):
        raise InputError(f"start must be fresh, settled or a state of one row, got {start!r}")


def require_pooling(how: str) -> None:
    """Refuse an unknown way of pooling."""
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
