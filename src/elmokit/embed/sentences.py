"""Turns the sentences that users pass into lists of tokens, or raises a helpful error."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import Token, tokenize, tokenize_sentence

Vectors = npt.NDArray[np.float32]
Sentence = str | Sequence[str]
"""Raw text, which elmokit tokenises, or a list of tokens, used as given."""

_SHOWN_CHARACTERS = 40


class EmbeddedText(NamedTuple):
    """The tokens of a text, their offsets and their vectors."""

    tokens: list[str]
    offsets: list[tuple[int, int]] | None
    """(start, end) of each token in the text; None if tokens were given."""
    sentences: list[tuple[int, int]]
    """(first, last + 1) token of each sentence that was read on its own."""
    vectors: Vectors
    """(T, D)"""


class SplitText(NamedTuple):
    """A text cut into sentences of tokens."""

    sentences: list[list[str]]
    offsets: list[tuple[int, int]] | None


def checked_sentences(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences; raises if they are a single string, a table or a dictionary."""
    kind = type(sentences).__name__
    if isinstance(sentences, str):
        shown = sentences[:_SHOWN_CHARACTERS]
        raise InputError(f"expected a list of sentences, got one string: use [{shown!r}]")
    if kind in ("DataFrame", "Table", "LazyFrame"):
        raise InputError(f"expected a list of sentences, got a {kind}: give one of its columns")
    if isinstance(sentences, Mapping):
        raise InputError("expected a list of sentences, got a dictionary: use its .values()")
    if kind == "Doc" and hasattr(sentences, "sents"):
        raise InputError(
            "expected a list of sentences, got a spaCy Doc: use "
            "[[token.text for token in sentence] for sentence in doc.sents]"
        )
    if kind in ("bytes", "bytearray"):
        raise InputError("expected a list of sentences, got bytes: use [text.decode()]")
    if not isinstance(sentences, Iterable):
        raise InputError(f"expected a list of sentences, got {sentences!r}")
    return iter(sentences)


def tokens_of(sentence: Sentence, number: int | None = None) -> list[str]:
    """The tokens of a sentence, one per vector; ``number`` names it in errors."""
    if isinstance(sentence, str):
        return [token.text for token in tokenize(sentence)]
    return _checked_tokens(sentence, number)


def all_tokens(sentences: Iterable[Sentence]) -> Iterator[list[str]]:
    """The tokens of each of several sentences."""
    for number, sentence in enumerate(checked_sentences(sentences)):
        yield tokens_of(sentence, number)


def split_texts(texts: Iterable[Sentence], split_sentences: bool) -> list[SplitText]:
    """Each text as one sentence or split into sentences."""
    return [
        split_text(text, split_sentences, number)
        for number, text in enumerate(checked_sentences(texts))
    ]


def join_texts(
    pieces: Sequence[SplitText], vectors: Iterable[Vectors], dim: int
) -> list[EmbeddedText]:
    """Put texts together again, given the vectors (T, dim) of all their sentences in order."""
    following = iter(vectors)
    empty = np.zeros((0, dim), dtype=np.float32)
    return [
        EmbeddedText(
            [token for sentence in text.sentences for token in sentence],
            text.offsets,
            token_spans(text.sentences),
            np.concatenate([empty, *(next(following) for _ in text.sentences)]),
        )
        for text in pieces
    ]


def split_text(text: Sentence, split_sentences: bool, number: int) -> SplitText:
    """Tokens of one text with their offsets, as one sentence or split into sentences."""
    if not isinstance(text, str):
        return SplitText([_checked_tokens(text, number)], None)
    if not split_sentences:
        pieces = [tokenize(text)]
    else:
        pieces = [
            [
                Token(token.text, sentence.start + token.start, sentence.start + token.end)
                for token in tokenize_sentence(sentence.text)
            ]
            for sentence in SentenceSplitter.default().split(text)
        ]
    return SplitText(
        [[token.text for token in piece] for piece in pieces],
        [(token.start, token.end) for piece in pieces for token in piece],
    )


def _checked_tokens(sentence: object, number: int | None) -> list[str]:
    where = "" if number is None else f" (sentence {number}, counted from 0)"
    where += _cure(sentence)
    kind = type(sentence).__name__
    if kind in ("Doc", "Span") and hasattr(sentence, "vocab"):
        raise InputError(
            f"a sentence must be a string or a list of strings, got a spaCy {kind}{where}; use "
            f"[token.text for token in {kind.lower()}]"
        )
    if isinstance(sentence, (bytes, Mapping)) or not isinstance(sentence, Iterable):
        raise InputError(
            f"a sentence must be a string or a list of strings, got {sentence!r}{where}"
        )
    try:
        tokens = list(sentence)
    except TypeError:  # a tensor or an array of no dimensions
        raise InputError(
            f"a sentence must be a string or a list of strings, got {sentence!r}{where}"
        ) from None
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(
                f"a sentence must be a string or a list of strings, got {token!r}{where}"
            )
    return tokens


def _cure(sentence: object) -> str:
    """What to do about a value of a table's column that is not a string."""
    is_nan = isinstance(sentence, (float, np.floating)) and math.isnan(sentence)
    if sentence is None or is_nan or type(sentence).__name__ in ("NAType", "NaTType"):  # pandas
        return "; fill in what is missing, or leave it out"
    if hasattr(sentence, "as_py"):
        return "; give the .to_pylist() of a pyarrow column"
    return ""


def token_spans(sentences: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """(first, last + 1) token of each sentence, counted over all sentences."""
    spans, begin = [], 0
    for sentence in sentences:
        spans.append((begin, begin + len(sentence)))
        begin += len(sentence)
    return spans
