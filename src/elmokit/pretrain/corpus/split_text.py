"""DOCUMENTS -> SENTENCES OF NUMBERED WORDS: the part of ``prepare`` that every core runs.

Documents are cut into blocks of about a megabyte, in input order. Each block has its own numbering,
so that processes are independent and the result does not depend on their number.
"""

import hashlib
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.pretrain.corpus.documents import Piece
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import words
from elmokit.text.vocabulary import MARKERS

SENTENCE_START = 0
"""Type of ``<S>``, which precedes every sentence."""
UNKNOWN_TYPE = 2
FIRST_WORD = len(MARKERS)

_BLOCK_BYTES = 1 << 20
_WAITING_BLOCKS_PER_WORKER = 3

_ASCII_WORD = re.compile(r"[^ \t\r\f\v]+")


class BlockSettings(NamedTuple):
    """The settings of a worker process; ``splitter`` is None if each line is a sentence."""

    is_tokenized: bool
    splitter: SentenceSplitter | None
    max_sentence_tokens: int
    max_token_characters: int


class Block(NamedTuple):
    """Documents in order; words are numbered from ``FIRST_WORD`` in order of first occurrence."""

    words: list[bytes]
    ids: npt.NDArray[np.uint32]  # every sentence preceded by SENTENCE_START
    lengths: npt.NDArray[np.int64]  # of each piece, in ids
    hashes: npt.NDArray[np.uint64]  # of each piece's text
    documents: npt.NDArray[np.uint64]  # the document that each piece is of
    kinds: list[str]  # of each piece
    counts: Counter[str]


class _Numbers(dict[str, int]):
    """Gives each new word the next number."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self) - len(MARKERS) + FIRST_WORD
        return number


def read_block(pieces: Sequence[Piece], settings: BlockSettings) -> Block:
    """Split and number the words of some documents."""
    numbers = _Numbers(dict.fromkeys(MARKERS, UNKNOWN_TYPE))  # marker strings in text are <UNK>
    number_of = numbers.__getitem__
    counts: Counter[str] = Counter()
    ids: list[int] = []
    lengths, hashes = [], []
    for piece in pieces:
        before = len(ids)
        for sentence in _sentences(_decode(piece.text, counts), settings, counts):
            ids.append(SENTENCE_START)
            ids.extend(map(number_of, sentence))
        lengths.append(len(ids) - before)
        hashes.append(int.from_bytes(hashlib.blake2b(piece.text, digest_size=8).digest(), "big"))
    array = np.array(ids, dtype=np.uint32)
    counts["literal_markers"] += int(np.count_nonzero(array == UNKNOWN_TYPE))
    return Block(
        [word.encode() for word in list(numbers)[len(MARKERS) :]],
        array,
        np.array(lengths, dtype=np.int64),
        np.array(hashes, dtype=np.uint64),
        np.array([piece.document for piece in pieces], dtype=np.uint64),
        [piece.kind for piece in pieces],
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
    """Tokens of each sentence of a document, cut to the limits."""
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


def read_blocks(
    pieces: Iterable[Piece], settings: BlockSettings, num_workers: int
) -> Iterator[Block]:
    """Blocks of about a megabyte of text, independent of the number of processes."""
    if num_workers == 1:
        for group in _groups(pieces):
            yield read_block(group, settings)
        return
    with ProcessPoolExecutor(
        num_workers, _process_context(), initializer=_start_worker, initargs=(settings,)
    ) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for group in _groups(pieces):
                waiting.append(pool.submit(_read_block, group))
                if len(waiting) > _WAITING_BLOCKS_PER_WORKER * num_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise InputError(
                "a process that splits text was killed, most likely because memory ran out; "
                "use fewer processes with  --workers 1"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _groups(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    group: list[Piece] = []
    num_bytes = 0
    for piece in pieces:
        group.append(piece)
        num_bytes += len(piece.text)
        if num_bytes >= _BLOCK_BYTES:
            yield group
            group, num_bytes = [], 0
    if group:
        yield group


def _process_context() -> multiprocessing.context.BaseContext:
    """Fork if that is safe, so that scripts need no ``if __name__ == "__main__"``."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


_settings: BlockSettings


def _start_worker(settings: BlockSettings) -> None:
    global _settings
    _settings = settings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _read_block(pieces: list[Piece]) -> Block:
    return read_block(pieces, _settings)
