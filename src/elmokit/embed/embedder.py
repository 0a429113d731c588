"""SENTENCES -> VECTORS: the class that ``elmokit.load`` returns.

A sentence's vectors depend only on that sentence, not on its batch, its position or earlier calls.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import torch
from torch import Tensor

from elmokit.device import limited_threads, usable_device
from elmokit.embed.chunks import chunks_of, windows_of
from elmokit.embed.familiar_calls import FAMILIAR_CALLS
from elmokit.embed.fingerprint import fingerprint
from elmokit.embed.mix import AnyMix, checked_mix, mix_layers, mixed_dim
from elmokit.embed.pooling import Pooling, pool_tokens, require_pooling
from elmokit.embed.sentences import (
    EmbeddedText,
    Sentence,
    Vectors,
    all_tokens,
    join_texts,
    split_texts,
    tokens_of,
)
from elmokit.embed.warm_start import settle
from elmokit.embed.word_cache import DEFAULT_BYTES, WordCache
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.kernels.lstm_inference import PrecisionName, usable_precision
from elmokit.model.kernels.lstm_weights import Precision
from elmokit.model.packing import find_places
from elmokit.progress import Meter, meter
from elmokit.text.token_ids import TokenIndexer
from elmokit.text.tokenize import Token, tokenize
from elmokit.weights.load import read_softmax
from elmokit.weights.names import short_name
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import StorageType

Start = Literal["fresh", "settled"] | BiLmState
"""The initial state of every sentence: zeros, the model's warm start (computed from built-in
English sentences if its files have none), or a state with one row."""

BATCH_TOKENS = 8192
WINDOW_TOKENS = 32768
"""A stream reads this many tokens at a time into memory and sorts their sentences by length."""


class CarriedLayers(NamedTuple):
    """Layers of sentences that continue from a state, and their final state."""

    layers: list[Vectors]  # each (L + 1, T, D)
    state: BiLmState  # for the next call


class Embedder:
    """A loaded model, as ``elmokit.load`` returns it.

    >>> import elmokit
    >>> elmo = elmokit.load("en-small")
    >>> elmo.embed(["I like apples."])[0].shape
    (4, 512)

    It can be pickled and copied; a copy starts with an empty word cache.

    Args:
        pretrained: the model, as ``elmokit.weights.load.load_pretrained`` returns it.
        precision: precision of the LSTMs' weights, as in ``elmokit.load``.
        num_threads: the maximum number of threads, as in ``elmokit.load``.
        device: where the model runs, as in ``elmokit.load``; default: where it is.
        cache_bytes: memory for the vectors of distinct words, which are computed once.
    """

    def __init__(
        self,
        pretrained: PretrainedModel,
        *,
        precision: PrecisionName = "float32",
        num_threads: int | None = None,
        device: str | torch.device | None = None,
        cache_bytes: int = DEFAULT_BYTES,
    ) -> None:
        if num_threads is not None and num_threads < 1:
            raise InputError(f"num_threads must be at least 1, got {num_threads}")
        if not isinstance(pretrained, PretrainedModel):
            raise InputError(
                f"an Embedder is made from a model in memory, got {pretrained!r}; use "
                f"elmokit.load, which takes names and paths"
            )
        self.pretrained = pretrained
        self.num_threads = num_threads
        self.source = pretrained.source
        """Where the model was read from."""
        self.bilm: BiLm = pretrained.bilm.eval()
        self.num_layers = self.bilm.num_layers
        """L + 1: the number of layers, including the token layer."""
        self.dim = 2 * self.bilm.encoder.projection_dim
        """D, the width of one layer."""
        self._asked_precision = precision
        self.indexer: TokenIndexer = pretrained.indexer
        self._cache = WordCache(self.bilm.encoder, self.indexer, cache_bytes)
        self.to(self.bilm.device if device is None else device)

    @property
    def device(self) -> torch.device:
        """Where the model runs; vectors are NumPy arrays for any device."""
        return self.bilm.device

    @property
    def precision(self) -> Precision:
        """Precision of the LSTMs' matrices: ``"float32"``, ``"bfloat16"`` or ``"int8"``."""
        return self.bilm.precision

    @property
    def name(self) -> str:
        """The last part of ``source``, or the id of a model on the Hugging Face Hub."""
        return short_name(self.source)

    @cached_property
    def fingerprint(self) -> str:
        """A checksum of the weights, their precision and the token ids.

        Only models with equal vectors have equal fingerprints. It is computed once; a model that
        is trained further needs a new Embedder.
        """
        return fingerprint(self.pretrained, self.precision)

    def __repr__(self) -> str:
        return f"Embedder({self.source!r}, layers={self.num_layers}, dim={self.dim})"

    def __getattr__(self, name: str) -> NoReturn:
        ours = FAMILIAR_CALLS.get(name)
        hint = f"; here it is {ours}" if ours else ""
        raise AttributeError(f"an elmokit Embedder has no {name!r}{hint}")

    def __call__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Not supported; the error names the methods to call instead."""
        raise InputError(
            "an Embedder is not callable: use embed (one vector per token), layers (all layers) or "
            "pool (one vector per sentence); inside a PyTorch model use elmokit.Elmo"
        )

    def to(self, device: str | torch.device) -> "Embedder":
        """Move the model to a device (``"auto"``: a GPU if there is one)."""
        device = usable_device(device)
        self.bilm.to(device).set_precision(usable_precision(self._asked_precision, device))
        self.__dict__.pop("_settled", None)
        self.__dict__.pop("fingerprint", None)
        return self

    def save(self, folder: str | Path, *, dtype: StorageType = "float32") -> None:
        """Write the model as a folder that ``elmokit.load`` reads, with its softmax if it has one.

        Args:
            folder: replaced if it contains nothing but a model.
            dtype: ``"float16"`` halves the files and rounds the weights to three digits.
        """
        read_softmax(self.pretrained)
        write_native(self.pretrained, Path(folder), dtype)

    def tokenize(self, text: str) -> list[Token]:
        """Split raw text into tokens with their character offsets.

        >>> import elmokit
        >>> elmokit.load("en-small").tokenize("Don't!")[0]
        Token(text='Do', start=0, end=2)
        """
        return tokenize(text)

    def tokens_of(self, sentence: Sentence) -> list[str]:
        """The tokens of a sentence, one for each of its vectors."""
        return tokens_of(sentence)

    def settle(self, sentences: Iterable[Sentence]) -> None:
        """Compute the state of ``start="settled"`` from your own text.

        Args:
            sentences: a few dozen consecutive sentences in the language of the model.
        """
        self.pretrained.settled = settle(self, list(all_tokens(sentences)))
        self.__dict__.pop("_settled", None)

    def cache_words(self, words: Iterable[str]) -> None:
        """Encode words in advance and keep them in the word cache; other words can still be used.

        Args:
            words: the words, each a single token.
        """
        if isinstance(words, str):
            raise InputError(f"expected a list of words, got one string: use [{words[:40]!r}]")
        with limited_threads(self.num_threads):
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
        """Compute one array (T, D) per sentence; (T, (L + 1) D) for ``mix="concat"``.

        Args:
            sentences: strings, which elmokit tokenises, or lists of tokens, used as given.
            mix: ``"average"``, ``"sum"``, ``"top"``, ``"concat"``, the number of a layer (-1 is
                the last), or ``Mix(weights, gamma)``.
            start: the initial state of every sentence: ``"fresh"`` (zeros), ``"settled"`` (a fixed,
                warmed-up state), or a state with one row.
            batch_tokens: tokens per batch; limits the memory.
            show_progress: show a progress bar on a terminal, plain lines elsewhere.
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
        """Compute one array (L + 1, T, D) per sentence: the token layer first, the top LSTM last.

        The arguments are those of ``embed``.

        >>> import elmokit
        >>> elmokit.load("en-small").layers(["I like apples."])[0].shape
        (3, 4, 512)
        """
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
        """Compute tokens, character offsets and vectors together, one result per text.

        Args:
            texts: strings, or lists of tokens (which have no offsets).
            split_sentences: split each text into sentences and embed them one by one, as the model
                was trained; otherwise a text is one sentence.

        The other arguments are those of ``embed``.

        >>> import elmokit
        >>> text = elmokit.load("en-small").embed_text(["It rained."])[0]
        >>> text.tokens, text.offsets, text.vectors.shape
        (['It', 'rained', '.'], [(0, 2), (3, 9), (9, 10)], (3, 512))
        """
        mix = checked_mix(mix, self.num_layers)
        pieces = split_texts(texts, split_sentences)
        sentences = [sentence for text in pieces for sentence in text.sentences]
        vectors = self._compute(sentences, mix, start, batch_tokens, show_progress)
        return join_texts(pieces, vectors, mixed_dim(mix, self.num_layers, self.dim))

    def padded_layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
    ) -> Tensor:
        """Compute all layers as one padded tensor (B, L + 1, T, D) on the model's device.

        It is zero beyond each sentence's length and has no gradient. The arguments are those of
        ``embed``.
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
        show_progress: bool = False,
    ) -> Iterator[Vectors]:
        """``embed`` for inputs of any size: yields one array per sentence, in order.

        Args:
            window_tokens: sentences are read, and sorted by length, this many tokens at a time;
                limits the memory.

        The other arguments are those of ``embed``.
        """
        mix = checked_mix(mix, self.num_layers)
        return self._stream(sentences, mix, start, batch_tokens, window_tokens, show_progress)

    def stream_layers(
        self,
        sentences: Iterable[Sentence],
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        window_tokens: int = WINDOW_TOKENS,
        show_progress: bool = False,
    ) -> Iterator[Vectors]:
        """``layers`` for inputs of any size; see ``stream``."""
        return self._stream(sentences, None, start, batch_tokens, window_tokens, show_progress)

    def pool(
        self,
        sentences: Iterable[Sentence],
        how: Pooling = "mean",
        mix: AnyMix = "average",
        *,
        start: Start = "fresh",
        batch_tokens: int = BATCH_TOKENS,
        show_progress: bool = False,
    ) -> Vectors:
        """Compute one vector per sentence, (N, D); zeros for an empty sentence.

        Args:
            sentences: strings or lists of tokens.
            how: ``"mean"`` or ``"max"`` over the tokens; or ``"ends"``: the forward half of the
                last token and the backward half of the first, where each direction has read the
                whole sentence (exactly the directions' own values with ``basis="states"``).

        The other arguments are those of ``embed``.

        >>> import elmokit
        >>> elmokit.load("en-small").pool(["I like apples.", "Yes!"]).shape
        (2, 512)
        """
        require_pooling(how)
        dim = mixed_dim(mix, self.num_layers, self.dim)
        stream = self.stream(
            sentences, mix, start=start, batch_tokens=batch_tokens, show_progress=show_progress
        )
        pooled = [pool_tokens(vectors, how, self.dim) for vectors in stream]
        return np.stack(pooled) if pooled else np.zeros((0, dim), dtype=np.float32)

    def carry(self, sentences: Sequence[Sentence], state: BiLmState | None = None) -> CarriedLayers:
        """Compute the layers of sentences that continue from a state, as the old programs did.

        Args:
            sentences: one batch.
            state: the state that an earlier call returned; row i belongs to sentence i of every
                call. None: zeros. Sentences without a row start from zeros; rows without a
                sentence are kept.

        >>> import elmokit
        >>> elmo = elmokit.load("en-small")
        >>> layers, state = elmo.carry(["It rained.", "He slept."])
        >>> layers, state = elmo.carry(["It stopped.", "He woke up."], state)
        """
        tokens = list(all_tokens(sentences))
        if not tokens:
            return CarriedLayers([], self.bilm.zero_state(0) if state is None else state)
        state = self.bilm.zero_state(len(tokens)) if state is None else state
        if state.num_rows < len(tokens):
            state = state.join(self.bilm.zero_state(len(tokens) - state.num_rows))
        with limited_threads(self.num_threads), torch.no_grad():
            table, rows, lengths = self._tensors(tokens)
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
        show_progress: bool,
    ) -> Iterator[Vectors]:
        with _progress(show_progress) as progress:
            for window in windows_of(all_tokens(sentences), window_tokens):
                yield from self._in_order(window, mix, start, batch_tokens, progress)

    def _compute(
        self,
        sentences: list[list[str]],
        mix: AnyMix | None,
        start: Start,
        batch_tokens: int,
        show_progress: bool,
    ) -> list[Vectors]:
        with _progress(show_progress, sum(map(len, sentences))) as progress:
            return self._in_order(sentences, mix, start, batch_tokens, progress)

    def _in_order(
        self,
        sentences: list[list[str]],
        mix: AnyMix | None,
        start: Start,
        batch_tokens: int,
        progress: Meter | None,
    ) -> list[Vectors]:
        """Compute sentences in chunks and return them in order; without a mix, all layers."""
        results: dict[int, Vectors] = {}
        for chunk, layers in self._run(sentences, start, batch_tokens):
            vectors = layers if mix is None else mix_layers(layers, mix)
            arrays = vectors.cpu().numpy()  # (B, L + 1, T, D) or (B, T, D)
            for number, array in zip(chunk, arrays, strict=True):
                results[number] = array[..., : len(sentences[number]), :].copy()
            if progress is not None:
                progress.advance(sum(len(sentences[number]) for number in chunk))
        return [results[number] for number in range(len(sentences))]

    def _run(
        self, sentences: list[list[str]], start: Start, batch_tokens: int
    ) -> Iterator[tuple[list[int], Tensor]]:
        """Yield the indices of sentences that run together, and their layers (B, L + 1, T, D)."""
        if batch_tokens < 1:
            raise InputError(f"batch_tokens must be at least 1, got {batch_tokens}")
        begin = self._start(start)
        for chunk in chunks_of([len(sentence) for sentence in sentences], batch_tokens):
            with limited_threads(self.num_threads), torch.no_grad():
                table, rows, lengths = self._tensors([sentences[number] for number in chunk])
                layers = self.bilm.layers(table, rows, lengths, begin)
            yield chunk, layers

    def _tensors(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor, list[int]]:
        """Vectors of the distinct tokens (N, P), the row of each token (B, T), lengths."""
        tokens, rows, lengths = find_places(sentences, self.indexer)
        table = self._cache.vectors(tokens)
        return table, rows.to(table.device), lengths

    def warm_cache(self, sentences: list[list[str]], *, batch_tokens: int = BATCH_TOKENS) -> None:
        """Encode the words of sentences whose vectors are known already.

        Rounding may depend on which words are encoded together; after this call, a stream that
        continues is bit-identical to one that computed the sentences.
        """
        for chunk in chunks_of([len(sentence) for sentence in sentences], batch_tokens):
            self._tensors([sentences[number] for number in chunk])

    def _start(self, start: Start) -> BiLmState | None:
        if isinstance(start, BiLmState):
            if start.num_rows != 1:
                raise InputError(f"start must be a state with one row, got {start.num_rows} rows")
            return start
        require_start(start)
        return None if start == "fresh" else self._settled

    @cached_property
    def _settled(self) -> BiLmState:
        """Always the same object, because the biLM caches the next state by identity."""
        return (self.pretrained.settled or settle(self)).to(self.bilm.device)


def _progress(is_shown: bool, total: int | None = None) -> AbstractContextManager[Meter | None]:
    return meter("embed", "tokens", total) if is_shown else nullcontext()


def require_start(start: str) -> None:
    """Reject a start that is neither fresh nor settled."""
    if start not in ("fresh", "settled"):
        raise InputError(f"start must be fresh, settled or a state of one row, got {start!r}")
