"""One word in a sentence: finding it, and its vectors at every layer."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks
from elmokit.errors import InputError
from elmokit.text.tokenize import tokenize

_MARKED = re.compile(r"\*(\S(?:[^*]*\S)?)\*")


class Occurrence(NamedTuple):
    """A token and the sentence around it."""

    tokens: list[str]
    place: int

    @property
    def word(self) -> str:
        """The token itself."""
        return self.tokens[self.place]

    def text(self) -> str:
        """The sentence with the word marked."""
        marked = [f"*{t}*" if n == self.place else t for n, t in enumerate(self.tokens)]
        return " ".join(marked)


def find_marked(sentence: str) -> Occurrence:
    """The word between asterisks: "made a spectacular *play* on ..."."""
    marks = list(_MARKED.finditer(sentence))
    if not marks:
        raise InputError(f"mark one word with asterisks, as in  a *play*  (in: {sentence!r})")
    if len(marks) > 1:
        words = ", ".join(mark[1] for mark in marks)
        raise InputError(f"only one word can be marked, found {words} (in: {sentence!r})")
    (mark,) = marks
    plain = sentence[: mark.start()] + mark[1] + sentence[mark.end() :]
    start, end = mark.start(), mark.start() + len(mark[1])
    tokens = tokenize(plain)
    places = [n for n, token in enumerate(tokens) if token.start < end and token.end > start]
    if len(places) != 1:
        pieces = in_tokens(mark[1], [tokens[place].text for place in places])
        raise InputError(f"{pieces}; mark one of them")
    return Occurrence([token.text for token in tokens], places[0])


def in_tokens(word: str, tokens: Sequence[str]) -> str:
    """The clause that tells a user how a word is split.

    >>> print(in_tokens("end.", ["end", "."]))
    'end.' is 2 tokens (end + .)
    """
    return f"{word!r} is {len(tokens)} tokens ({' + '.join(tokens)})"


def find_word(word: str, sentence: str) -> Occurrence:
    """The occurrence of ``word`` in a sentence, ignoring case; the marked one if there are several.

    >>> find_word("apple", "I like Apple.").place
    2
    """
    if _MARKED.search(sentence):
        occurrence = find_marked(sentence)
        if occurrence.word.casefold() != word.casefold():
            raise InputError(f"{occurrence.word!r} is marked, not {word!r} (in: {sentence!r})")
        return occurrence
    tokens = [token.text for token in tokenize(sentence)]
    places = [n for n, token in enumerate(tokens) if token.casefold() == word.casefold()]
    if not places:
        raise InputError(f"{word!r} is not a token of: {' '.join(tokens)}")
    if len(places) > 1:
        raise InputError(
            f"{word!r} occurs {len(places)} times in {sentence!r}; mark one, as in  *{word}*"
        )
    return Occurrence(tokens, places[0])


def occurrence_vectors(encoder: Encoder, occurrences: list[Occurrence]) -> Floats:
    """(N, num_layers, D): each occurrence at every layer."""
    layers = encoder.layers([occurrence.tokens for occurrence in occurrences])
    return np.stack(
        [array[:, occurrence.place] for array, occurrence in zip(layers, occurrences, strict=True)]
    )


LSTM_LAYERS, ALL_LAYERS = "lstm", "all"


def parse_layer(text: str, encoder: Encoder) -> int | str:
    """A layer's number, ``lstm`` (the mean of all but the token layer) or ``all`` (of all)."""
    if text in (LSTM_LAYERS, ALL_LAYERS):
        return text
    number = len(encoder.layer_names)
    if not text.removeprefix("-").isdigit() or not -number <= int(text) < number:
        raise InputError(
            f"{encoder.name} has layers 0 to {number - 1}; name one of them, {LSTM_LAYERS} or "
            f"{ALL_LAYERS}, not {text!r}"
        )
    return int(text) % number


def layer_name(layer: int | str, encoder: Encoder) -> str:
    """The layer's name in tables."""
    if isinstance(layer, int):
        return encoder.layer_names[layer]
    return "mean of the LSTM layers" if layer == LSTM_LAYERS else "mean of all layers"


def one_layer(layers: Floats, layer: int | str) -> Floats:
    """(..., D) of (..., num_layers, D); see ``parse_layer``."""
    if isinstance(layer, int):
        return np.asarray(layers[..., layer, :])
    first = 1 if layer == LSTM_LAYERS and layers.shape[-2] > 1 else 0
    return np.asarray(layers[..., first:, :].mean(axis=-2))


def vectors_at(encoder: Encoder, occurrences: Sequence[Occurrence], layer: int | str) -> Floats:
    """(N, D): each occurrence at one layer or mean of layers, computed in batches."""
    parts = [one_layer(occurrence_vectors(encoder, some), layer) for some in chunks(occurrences)]
    return np.concatenate(parts)


def cosine(one: Floats, other: Floats) -> Floats:
    """Cosine similarity over the last axis; 0 if either vector is zero."""
    norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    products = (one * other).sum(axis=-1)
    return np.asarray(np.divide(products, norms, out=np.zeros_like(products), where=norms > 0))
