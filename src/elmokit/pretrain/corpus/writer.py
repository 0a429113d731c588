"""NUMBERED DOCUMENTS -> THE FILES OF A CORPUS: split in two, counted, renumbered, written."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.pretrain.corpus.lexicon import Ranking
from elmokit.pretrain.corpus.split_text import SENTENCE_START, UNKNOWN_TYPE, Block

PARTS = ("train", "heldout")

_GROUP_TOKENS = 1 << 22
_FEW_DOCUMENTS = 10
"""With fewer documents, pieces or sentences are held out instead of whole documents."""
_PIECE = np.dtype(
    [("length", np.int64), ("hash", np.uint64), ("document", np.uint64), ("kind", np.int64)]
)
_USUAL_SHARE = 0.005
_MOST_HELDOUT_TOKENS = 500_000
_ENOUGH_HELDOUT_TOKENS = 300_000
_MOST_HELDOUT_SHARE = 0.05


class DocumentsWriter:
    """Writes the numbers of consecutive documents, and a table of their pieces, to disk."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._kinds: dict[str, int] = {}
        self._tokens = (folder / "tokens").open("wb")
        self._pieces = (folder / "pieces").open("wb")

    def add(self, block: Block, numbers: npt.NDArray[np.uint32]) -> None:
        """Append a block; ``numbers`` are its ids in the whole corpus."""
        numbers.tofile(self._tokens)
        table = np.empty(len(block.lengths), dtype=_PIECE)
        table["length"], table["hash"] = block.lengths, block.hashes
        table["document"] = block.documents
        table["kind"] = [self._kinds.setdefault(kind, len(self._kinds)) for kind in block.kinds]
        table[table["length"] > 0].tofile(self._pieces)

    def close(self) -> "NumberedDocuments":
        """Close the files and return their contents."""
        self._tokens.close()
        self._pieces.close()
        table = np.fromfile(self.folder / "pieces", dtype=_PIECE)
        return NumberedDocuments(
            self.folder / "tokens",
            table["length"].copy(),
            table["hash"].copy(),
            table["document"].copy(),
            table["kind"].copy(),
            list(self._kinds),
        )


class NumberedDocuments(NamedTuple):
    """All documents of a corpus in D pieces, with words numbered by first occurrence."""

    path: Path
    lengths: npt.NDArray[np.int64]  # (D,)
    hashes: npt.NDArray[np.uint64]  # (D,) of each piece's own text
    documents: npt.NDArray[np.uint64]  # (D,) the same for all pieces of one document
    kinds: npt.NDArray[np.int64]  # (D,)
    kind_names: list[str]


class PartAssignment(NamedTuple):
    """Which pieces, in which order, go to which part."""

    numbered: NumberedDocuments
    order: npt.NDArray[np.int64]  # (D,)
    is_heldout: npt.NDArray[np.bool_]  # (D,)
    unit: str
    document_numbers: npt.NDArray[np.int64]  # (D,) which document of the input each piece is of


class PartFacts(NamedTuple):
    """The description, in corpus.json, of the training or the held-out part."""

    num_documents: int
    """Documents with text in this part; if pieces are held out, a document may be in both."""
    num_sentences: int
    num_tokens: int
    num_unknown: int


def assign_parts(
    numbered: NumberedDocuments, heldout: float | None, shuffle_seed: int | None
) -> PartAssignment:
    """Hold out the documents whose hash is in the lowest ``heldout`` share of the range.

    A document and its copies are assigned to the same part in every corpus. If ``heldout`` is None,
    a share is chosen for each kind of text.
    """
    document_numbers = _number_documents(numbered)
    unit, hashes = "document", numbered.documents
    if len(np.unique(hashes)) < _FEW_DOCUMENTS:
        unit, hashes = "piece", numbered.hashes
    if len(hashes) < _FEW_DOCUMENTS:
        numbered, pieces = _cut_into_sentences(numbered)
        document_numbers = document_numbers[pieces]
        unit, hashes = "sentence", numbered.hashes
    if heldout is None:
        is_heldout = _sensible_part(numbered, hashes)
    else:
        is_heldout = hashes < np.uint64(int(heldout * 2**64))
    if heldout != 0 and len(np.unique(hashes)) > 1:
        if not is_heldout.any():
            is_heldout = hashes == hashes.min()
        if is_heldout.all():
            is_heldout = hashes != hashes.max()
    order = np.arange(len(hashes))
    if shuffle_seed is not None:
        order = np.random.default_rng(shuffle_seed).permutation(len(hashes))
    return PartAssignment(numbered, order, is_heldout, unit, document_numbers)


def _number_documents(numbered: NumberedDocuments) -> npt.NDArray[np.int64]:
    """(D,) the number of each piece's document, in input order; copies are counted."""
    is_first = numbered.hashes == numbered.documents
    is_first[1:] |= numbered.documents[1:] != numbered.documents[:-1]
    return np.cumsum(is_first)


def _sensible_part(
    numbered: NumberedDocuments, hashes: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Half a percent, up to a maximum; a larger share of small kinds of text.

    Each kind of text contributes its share of ``_ENOUGH_HELDOUT_TOKENS``, but at most
    ``_MOST_HELDOUT_SHARE`` of its tokens.
    """
    total = int(numbered.lengths.sum())
    share = min(_USUAL_SHARE, _MOST_HELDOUT_TOKENS / total)
    is_heldout = np.zeros(len(hashes), dtype=bool)
    for kind in range(len(numbered.kind_names)):
        pieces = np.flatnonzero(numbered.kinds == kind)
        pieces = pieces[np.argsort(hashes[pieces], kind="stable")]
        size = int(numbered.lengths[pieces].sum())
        goal = min(_ENOUGH_HELDOUT_TOKENS / len(numbered.kind_names), _MOST_HELDOUT_SHARE * size)
        # Whole documents in the order of their hashes, until the goal is reached.
        before = np.cumsum(numbered.lengths[pieces]) - numbered.lengths[pieces]
        first_piece = np.searchsorted(hashes[pieces], hashes[pieces])
        is_wanted = before[first_piece] < goal
        is_heldout[pieces] = is_wanted | (hashes[pieces] < np.uint64(int(share * 2**64)))
    return is_heldout


def count_training_words(assignment: PartAssignment, num_numbers: int) -> npt.NDArray[np.int64]:
    """(num_numbers,) occurrences in the training part."""
    counts = np.zeros(num_numbers, dtype=np.int64)
    for numbers, is_heldout, _ in _groups(assignment):
        np.add.at(counts, numbers[~is_heldout], 1)
    return counts


def write_part_files(
    folder: Path, assignment: PartAssignment, ranking: Ranking
) -> dict[str, PartFacts]:
    """Write tokens.bin, starts.npy and kinds.npy of both parts."""
    writers = [_PartWriter(folder / part, len(ranking.vocabulary)) for part in PARTS]
    for numbers, is_heldout, kinds in _groups(assignment):
        ids = ranking.renumber[numbers]
        writers[0].add(ids[~is_heldout], kinds[~is_heldout])
        writers[1].add(ids[is_heldout], kinds[is_heldout])
    in_part = (~assignment.is_heldout, assignment.is_heldout)
    return {
        part: writer.close(len(np.unique(assignment.document_numbers[is_in])))
        for part, writer, is_in in zip(PARTS, writers, in_part, strict=True)
    }


def write_lexicon(folder: Path, ranking: Ranking) -> None:
    """Write letters.bin, offsets.npy and counts.npy."""
    folder.mkdir()
    offsets = np.zeros(len(ranking.letters) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, ranking.letters), dtype=np.int64), out=offsets[1:])
    with (folder / "letters.bin").open("wb") as file:
        file.writelines(ranking.letters)
    np.save(folder / "offsets.npy", offsets)
    np.save(folder / "counts.npy", ranking.counts)


class _PartWriter:
    """Appends whole sentences to tokens.bin, and their starts and kinds to files beside it."""

    def __init__(self, folder: Path, num_targets: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.num_targets = num_targets
        self.position = self.num_sentences = self.num_unknown = 0
        self._tokens = (folder / "tokens.bin").open("wb")
        self._columns = {name: (folder / name).open("wb+") for name in ("starts", "kinds")}

    def add(self, ids: npt.NDArray[np.uint32], kinds: npt.NDArray[np.int64]) -> None:
        ids.tofile(self._tokens)
        starts = np.flatnonzero(ids == SENTENCE_START)
        kinds[starts].tofile(self._columns["kinds"])
        (starts + self.position).astype(np.int64).tofile(self._columns["starts"])
        self.position += len(ids)
        self.num_sentences += len(starts)
        self.num_unknown += int(np.count_nonzero((ids >= self.num_targets) | (ids == UNKNOWN_TYPE)))

    def close(self, num_documents: int) -> PartFacts:
        self._tokens.close()
        for name, column in self._columns.items():
            with (self.folder / f"{name}.npy").open("wb") as file:
                _write_npy_header(file, self.num_sentences)
                column.seek(0)
                while chunk := column.read(1 << 22):
                    file.write(chunk)
            column.close()
            (self.folder / name).unlink()
        num_tokens = self.position - self.num_sentences
        return PartFacts(num_documents, self.num_sentences, num_tokens, self.num_unknown)


def _write_npy_header(file: BinaryIO, length: int) -> None:
    header = {"descr": "<i8", "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(file, header)


def _cut_into_sentences(
    numbered: NumberedDocuments,
) -> tuple[NumberedDocuments, npt.NDArray[np.int64]]:
    """Make each sentence a piece of its own, and say which piece it was in.

    Only for corpora with few documents.
    """
    numbers = np.fromfile(numbered.path, dtype=np.uint32)
    starts = np.flatnonzero(numbers == SENTENCE_START)
    lengths = np.diff(starts, append=len(numbers)).astype(np.int64)
    sentences = np.split(numbers, starts[1:]) if len(starts) else []
    digests = [hashlib.blake2b(ids.tobytes(), digest_size=8).digest() for ids in sentences]
    hashes = np.array([int.from_bytes(digest, "big") for digest in digests], dtype=np.uint64)
    ends = np.cumsum(numbered.lengths)
    pieces = np.searchsorted(ends, starts, side="right")
    kinds, names = numbered.kinds[pieces], numbered.kind_names
    return NumberedDocuments(numbered.path, lengths, hashes, hashes, kinds, names), pieces


def _groups(
    assignment: PartAssignment,
) -> Iterator[tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_], npt.NDArray[np.int64]]]:
    """Yield some documents at a time; for each, whether it is held out, and its kind."""
    lengths = assignment.numbered.lengths
    offsets = np.cumsum(lengths) - lengths
    ends = np.cumsum(lengths[assignment.order])
    with assignment.numbered.path.open("rb") as file:
        first = 0
        while first < len(ends):
            done = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, done + _GROUP_TOKENS)), first + 1)
            documents = assignment.order[first:last]
            numbers = _read_documents(file, offsets[documents], lengths[documents])
            sizes = lengths[documents]
            yield (
                numbers,
                np.repeat(assignment.is_heldout[documents], sizes),
                np.repeat(assignment.numbered.kinds[documents], sizes),
            )
            first = last


def _read_documents(
    file: BinaryIO, offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """Read consecutive documents at once, without mapping, which would count as memory."""
    is_new_run = np.ones(len(offsets), dtype=bool)
    is_new_run[1:] = offsets[1:] != offsets[:-1] + lengths[:-1]
    firsts = np.flatnonzero(is_new_run)
    numbers = []
    for offset, length in zip(offsets[firsts], np.add.reduceat(lengths, firsts), strict=True):
        file.seek(int(offset) * np.dtype(np.uint32).itemsize)
        numbers.append(np.fromfile(file, dtype=np.uint32, count=int(length)))
    return np.concatenate(numbers)
