"""A BLOCK OF DOCUMENTS -> SENTENCES OF NUMBERED WORDS: the part of ``prepare`` every core runs.

A block is numbered by itself, so that a process needs to know nothing of the others and the
result does not depend on how many there are.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import words
from elmokit.text.vocabulary import MARKERS

SENTENCE_START = 0
"""Type of ``<S>``, which stands before every sentence."""
UNKNOWN_TYPE = 2
FIRST_WORD = len(MARKERS)

_ASCII_WORD = re.compile(r"[^ \t\r\f\v]+")


class BlockSettings(NamedTuple):
    """What a process needs to know; ``splitter`` is None where a line is a sentence."""

    is_tokenized: bool
    splitter: SentenceSplitter | None
    max_sentence_tokens: int
    max_token_characters: int


class Block(NamedTuple):
    """Documents in order, their words numbered from ``FIRST_WORD`` as they first occur."""

    words: list[bytes]
    ids: npt.NDArray[np.uint32]  # every sentence preceded by SENTENCE_START
    document_lengths: npt.NDArray[np.int64]  # in ids
    document_hashes: npt.NDArray[np.uint64]
    counts: Counter[str]


class _Numbers(dict[str, int]):
    """Gives each new word the next number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self) - len(MARKERS) + FIRST_WORD
        return number


def read_block(documents: Sequence[bytes], settings: BlockSettings) -> Block:
    """Split and number the words of some documents."""
    numbers = _Numbers(dict.fromkeys(MARKERS, UNKNOWN_TYPE))  # spelt in text, they are no markers
    number_of = numbers.__getitem__
    counts: Counter[str] = Counter()
    ids: list[int] = []
    lengths, hashes = [], []
    for document in documents:
        before = len(ids)
        for sentence in _sentences(_decode(document, counts), settings, counts):
            ids.append(SENTENCE_START)
            ids.extend(map(number_of, sentence))
        lengths.append(len(ids) - before)
        hashes.append(int.from_bytes(hashlib.blake2b(document, digest_size=8).digest(), "big"))
    array = np.array(ids, dtype=np.uint32)
    counts["literal_markers"] += int(np.count_nonzero(array == UNKNOWN_TYPE))
    return Block(
        [word.encode() for word in list(numbers)[len(MARKERS) :]],
        array,
        np.array(lengths, dtype=np.int64),
        np.array(hashes, dtype=np.uint64),
        counts,
    )


def _decode(document: bytes, counts: Counter[str]) -> str:
    try:
        return document.decode()
    except UnicodeDecodeError:
        text = document.decode(errors="replace")
        counts["invalid_utf8"] += text.count("\ufffd") - document.count("\ufffd".encode())
        return text


def _sentences(
    document: str, settings: BlockSettings, counts: Counter[str]
) -> Iterator[Sequence[str]]:
    """Tokens of each sentence of a document, none of them longer than the limits."""
    for line in document.split("\n"):
        for tokens in _split_line(line, settings):
            if not tokens:
                continue
            if max(map(len, tokens)) > settings.max_token_characters:
                counts["tokens_cut"] += sum(len(t) > settings.max_token_characters for t in tokens)
                tokens = [token[: settings.max_token_characters] for token in tokens]
            if len(tokens) <= settings.max_sentence_tokens:
                yield tokens
                continue
            counts["sentences_cut"] += 1
            for start in range(0, len(tokens), settings.max_sentence_tokens):
                yield tokens[start : start + settings.max_sentence_tokens]


def _split_line(line: str, settings: BlockSettings) -> Iterator[list[str]]:
    if settings.is_tokenized:
        yield _ASCII_WORD.findall(line)
    elif settings.splitter is None:
        yield words(line)
    else:
        for sentence in settings.splitter.split(line):
            yield words(sentence.text)
