"""NUMBERED DOCUMENTS -> THE FILES OF A CORPUS: dealt to two parts, counted, renumbered, written."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.pretrain.lexicon_builder import Ranking
from elmokit.pretrain.prepare_block import SENTENCE_START, UNKNOWN_TYPE, Block

PARTS = ("train", "heldout")

_GROUP_TOKENS = 1 << 22
_FEW_DOCUMENTS = 10
"""With fewer, a whole document is too much to hold out: sentences are dealt instead."""
_DOCUMENT = np.dtype([("length", np.int64), ("hash", np.uint64)])


class StreamWriter:
    """Numbers of documents one after the other, and a table of the documents, on disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._tokens = (folder / "tokens").open("wb")
        self._documents = (folder / "documents").open("wb")

    def add(self, block: Block, numbers: npt.NDArray[np.uint32]) -> None:
        numbers.tofile(self._tokens)
        table = np.empty(len(block.document_lengths), dtype=_DOCUMENT)
        table["length"], table["hash"] = block.document_lengths, block.document_hashes
        table[table["length"] > 0].tofile(self._documents)

    def close(self) -> "Stream":
        self._tokens.close()
        self._documents.close()
        table = np.fromfile(self.folder / "documents", dtype=_DOCUMENT)
        return Stream(self.folder / "tokens", table["length"].copy(), table["hash"].copy())


class Stream(NamedTuple):
    """All documents of a corpus in numbers of arrival."""

    path: Path
    lengths: npt.NDArray[np.int64]  # (D,)
    hashes: npt.NDArray[np.uint64]  # (D,)


class Dealt(NamedTuple):
    """Which documents, in which order, go to which part."""

    stream: Stream
    order: npt.NDArray[np.int64]  # (D,)
    is_heldout: npt.NDArray[np.bool_]  # (D,)
    unit: str


class PartFacts(NamedTuple):
    num_documents: int
    num_sentences: int
    num_tokens: int
    num_unknown: int


def deal(stream: Stream, heldout: float, shuffle_seed: int | None) -> Dealt:
    """Hold out documents whose hash is below ``heldout`` of the range.

    A document goes the same way in every corpus it is part of, and so do its copies.
    """
    unit = "document"
    if len(stream.lengths) < _FEW_DOCUMENTS:
        unit, stream = "sentence", _cut_into_sentences(stream)
    hashes = stream.hashes
    is_heldout = hashes < np.uint64(int(heldout * 2**64))
    if heldout > 0 and len(hashes) > 1:
        if not is_heldout.any():
            is_heldout = hashes == hashes.min()
        if is_heldout.all():
            is_heldout = hashes != hashes.max()
    order = np.arange(len(hashes))
    if shuffle_seed is not None:
        order = np.random.default_rng(shuffle_seed).permutation(len(hashes))
    return Dealt(stream, order, is_heldout, unit)


def count_training_words(dealt: Dealt, num_numbers: int) -> npt.NDArray[np.int64]:
    """(num_numbers,) occurrences in the training part."""
    counts = np.zeros(num_numbers, dtype=np.int64)
    for numbers, is_heldout in _groups(dealt):
        np.add.at(counts, numbers[~is_heldout], 1)
    return counts


def write_part_files(folder: Path, dealt: Dealt, ranking: Ranking) -> dict[str, PartFacts]:
    """tokens.bin and starts.npy of both parts."""
    writers = [_PartWriter(folder / part, len(ranking.vocabulary)) for part in PARTS]
    for numbers, is_heldout in _groups(dealt):
        ids = ranking.renumber[numbers]
        writers[0].add(ids[~is_heldout])
        writers[1].add(ids[is_heldout])
    num_heldout = int(np.count_nonzero(dealt.is_heldout))
    num_documents = (len(dealt.is_heldout) - num_heldout, num_heldout)
    return {
        part: writer.close(number)
        for part, writer, number in zip(PARTS, writers, num_documents, strict=True)
    }


def write_lexicon(folder: Path, ranking: Ranking) -> None:
    """letters.bin, offsets.npy and counts.npy."""
    folder.mkdir()
    offsets = np.zeros(len(ranking.letters) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, ranking.letters), dtype=np.int64), out=offsets[1:])
    with (folder / "letters.bin").open("wb") as file:
        file.writelines(ranking.letters)
    np.save(folder / "offsets.npy", offsets)
    np.save(folder / "counts.npy", ranking.counts)


class _PartWriter:
    """Appends groups of whole sentences to tokens.bin, and their starts to starts.npy."""

    def __init__(self, folder: Path, num_targets: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.num_targets = num_targets
        self.position = self.num_sentences = self.num_unknown = 0
        self._tokens = (folder / "tokens.bin").open("wb")
        self._starts = (folder / "starts").open("wb+")

    def add(self, ids: npt.NDArray[np.uint32]) -> None:
        ids.tofile(self._tokens)
        starts = np.flatnonzero(ids == SENTENCE_START) + self.position
        starts.astype(np.int64).tofile(self._starts)
        self.position += len(ids)
        self.num_sentences += len(starts)
        self.num_unknown += int(np.count_nonzero((ids >= self.num_targets) | (ids == UNKNOWN_TYPE)))

    def close(self, num_documents: int) -> PartFacts:
        self._tokens.close()
        with (self.folder / "starts.npy").open("wb") as file:
            _write_npy_header(file, self.num_sentences)
            self._starts.seek(0)
            while chunk := self._starts.read(1 << 22):
                file.write(chunk)
        self._starts.close()
        (self.folder / "starts").unlink()
        num_tokens = self.position - self.num_sentences
        return PartFacts(num_documents, self.num_sentences, num_tokens, self.num_unknown)


def _write_npy_header(file: BinaryIO, length: int) -> None:
    header = {"descr": "<i8", "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)


def _cut_into_sentences(stream: Stream) -> Stream:
    """Each sentence a document of its own; only for corpora of a few documents."""
    numbers = np.fromfile(stream.path, dtype=np.uint32)
    starts = np.flatnonzero(numbers == SENTENCE_START)
    lengths = np.diff(starts, append=len(numbers)).astype(np.int64)
    pieces: Sequence[npt.NDArray[np.uint32]] = np.split(numbers, starts[1:]) if len(starts) else []
    digests = [hashlib.blake2b(piece.tobytes(), digest_size=8).digest() for piece in pieces]
    hashes = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
    return Stream(stream.path, lengths, hashes)


def _groups(dealt: Dealt) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]]:
    """Numbers of some documents at a time, and for each whether it is held out."""
    lengths = dealt.stream.lengths
    offsets = np.cumsum(lengths) - lengths
    ends = np.cumsum(lengths[dealt.order])
    with dealt.stream.path.open("rb") as file:
        first = 0
        while first < len(ends):
            done = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, done + _GROUP_TOKENS)), first + 1)
            documents = dealt.order[first:last]
            numbers = _read_documents(file, offsets[documents], lengths[documents])
            yield numbers, np.repeat(dealt.is_heldout[documents], lengths[documents])
            first = last


def _read_documents(
    file: BinaryIO, offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """Read runs of neighbouring documents at once, not mapped: a map would count as memory."""
    is_new_run = np.ones(len(offsets), dtype=bool)
    is_new_run[1:] = offsets[1:] != offsets[:-1] + lengths[:-1]
    firsts = np.flatnonzero(is_new_run)
    numbers = []
    for offset, length in zip(offsets[firsts], np.add.reduceat(lengths, firsts), strict=True):
        file.seek(int(offset) * np.dtype(np.uint32).itemsize)
        numbers.append(np.fromfile(file, dtype=np.uint32, count=int(length)))
    return np.concatenate(numbers)
