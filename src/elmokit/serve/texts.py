"""Parses requests: sentences of tokens within the limits, and the requested output."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from elmokit.embed.embedder import require_start
from elmokit.embed.mix import AnyMix, Mix, checked_mix, mix_layers, mixed_dim
from elmokit.embed.pooling import Pooling, pool_tokens, require_pooling
from elmokit.embed.sentences import Sentence, SplitText, Vectors, checked_sentences, split_text
from elmokit.errors import InputError
from elmokit.serve.batcher import Finish, FixedStart, cost_of
from elmokit.serve.gate import Refusal
from elmokit.serve.limits import Limits
from elmokit.serve.models import ServedModel

LARGEST_WEIGHT = 1e9
"""The largest weight of a mix; beyond it, vectors would overflow."""


class EmbedQuery(NamedTuple):
    """The requested output for every text, checked against the model."""

    model: ServedModel
    mix: AnyMix
    layers: list[int] | None
    """If given, return these layers instead of the mix."""
    pooling: Pooling | None
    start: FixedStart

    def finish(self) -> Finish:
        """What the model thread makes of a sentence's layers (L + 1, T, D)."""
        if self.layers is not None:
            chosen = self.layers
            return lambda layers: layers[chosen]
        mix = self.mix
        return lambda layers: mix_layers(torch.from_numpy(layers)[None], mix)[0].numpy()

    def join(self, sentences: Sequence[Vectors]) -> Vectors:
        """The vectors of a text: those of its sentences, one after the other, or pooled."""
        vectors = sentences[0] if len(sentences) == 1 else self._concatenate(sentences)
        if self.pooling is None:
            return vectors
        dim = self.model.embedder.dim
        if self.layers is None:
            return pool_tokens(vectors, self.pooling, dim)
        return np.stack([pool_tokens(layer, self.pooling, dim) for layer in vectors])

    def _concatenate(self, sentences: Sequence[Vectors]) -> Vectors:
        elmo = self.model.embedder
        shape = (0, mixed_dim(self.mix, elmo.num_layers, elmo.dim))
        if self.layers is not None:
            shape = (len(self.layers), 0, elmo.dim)  # type: ignore[assignment]
        empty = np.zeros(shape, dtype=np.float32)
        return np.concatenate([empty, *sentences], axis=-2)


def read_query(
    model: ServedModel,
    mix: Any = None,
    layers: Any = None,
    pooling: Any = None,
    start: Any = "fresh",
) -> EmbedQuery:
    """Parse the requested output; errors are those of the library."""
    if mix is not None and layers is not None:
        raise InputError("ask for a mix or for layers, not for both")
    require_start(start)
    if pooling is not None:
        require_pooling(pooling)
    num_layers = model.embedder.num_layers
    checked = checked_mix(_read_mix(mix), num_layers)
    return EmbedQuery(model, checked, _read_layers(layers, num_layers), pooling, start)


def _read_mix(mix: Any) -> AnyMix:
    if mix is None:
        return "average"
    if not isinstance(mix, Mapping):
        return mix  # type: ignore[no-any-return]  # checked_mix refuses what is not one
    weights, gamma = mix.get("weights"), mix.get("gamma", 1.0)
    if not isinstance(weights, list) or not all(map(_is_weight, [*weights, gamma])):
        raise InputError(
            "a mix is {weights: one number per layer, gamma: a number}, none of them beyond "
            f"{LARGEST_WEIGHT:g}; got {_shown(mix)}"
        )
    return Mix(tuple(map(float, weights)), float(gamma))


def _is_weight(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(value) <= LARGEST_WEIGHT


def _read_layers(layers: Any, num_layers: int) -> list[int] | None:
    if layers is None:
        return None
    if layers == "all":
        return list(range(num_layers))
    if not isinstance(layers, list) or not layers or len(layers) > num_layers:
        raise InputError(
            f'layers must be "all" or a list of 1 to {num_layers} numbers, got {_shown(layers)}'
        )
    chosen = []
    for layer in layers:
        if isinstance(layer, bool) or not isinstance(layer, int):
            raise InputError(f"a layer must be a whole number, got {_shown(layer)}")
        if not -num_layers <= layer < num_layers:
            raise InputError(f"the model has layers 0 to {num_layers - 1}, not {_shown(layer)}")
        chosen.append(layer % num_layers)
    return chosen


def read_input(value: Any) -> list[Sentence]:
    """A text or several, as a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise InputError(f"input must be a text or a list of texts, got {_shown(value)}")
    if value and _is_id(value[0] if not isinstance(value[0], list) else (value[0] or [""])[0]):
        raise InputError(
            "input must be text, got numbers: ids of another model's tokens mean nothing here "
            "(in LangChain set check_embedding_ctx_length=False)"
        )
    return list(checked_sentences(value))


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def split_texts(
    texts: Sequence[Sentence], split_sentences: bool, limits: Limits
) -> list[SplitText]:
    """Tokens of all texts; stops as soon as they are too many for one request."""
    if len(texts) > limits.request_tokens:  # before any work
        raise _too_many(f"{len(texts)} texts", limits)
    found = []
    room = limits.request_tokens
    for number, text in enumerate(texts):
        found.append(split_within_limits(text, split_sentences, number, limits))
        room -= sum(map(cost_of, found[-1].sentences))
        if room < 0:
            raise _too_many(f"more, by text {number} (counted from 0)", limits)
    return found


def _too_many(what: str, limits: Limits) -> Refusal:
    return Refusal(
        413,
        f"a request may have at most {limits.request_tokens} tokens, this one has {what}: send "
        "fewer texts at a time, or accept application/x-ndjson",
    )


def split_within_limits(
    text: Sentence, split_sentences: bool, number: int, limits: Limits
) -> SplitText:
    """Tokens of one text, none of whose sentences is too long."""
    found = split_text(text, split_sentences, number)
    for sentence in found.sentences:
        if len(sentence) > limits.text_tokens:
            raise Refusal(
                413,
                f"a sentence may have at most {limits.text_tokens} tokens, text {number} (counted "
                f"from 0) has one of {len(sentence)}: split it, or set split_sentences",
            )
    for part in [text] if isinstance(text, str) else text:
        require_unicode(part, number)
    return found


def require_unicode(text: str, number: int = 0) -> None:
    """Reject lone surrogates, which JSON can contain but which are not text."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"text {number} (counted from 0) is not valid Unicode: character {error.start} is "
            f"half of a surrogate pair"
        ) from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
