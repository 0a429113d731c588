"""VECTORS -> A FILE, sentence by sentence: HDF5 as AllenNLP wrote it, npz, Parquet.

Only Parquet's current row group is buffered. The file is written under a temporary name and renamed
at the end, so a run that is killed, or that fills the disk, leaves nothing half-written.
"""

import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import h5py
import numpy as np
import numpy.typing as npt

from elmokit.embed.files.inputs import Item
from elmokit.errors import InputError, missing_extra
from elmokit.files import is_full_disk, replacing_file

Array = npt.NDArray[Any]
ROW_GROUP_ROWS = 16384
MOST_TOKENS_AS_ATTRIBUTE = 4000
"""HDF5 attributes hold at most 64 kB, at 16 bytes per token; longer sentences get none."""
LONGEST_NPZ_KEY = 65_000
"""The maximum length in bytes of a name in a zip file, rounded down."""
HDF5_SPARE_BYTES = 1 << 18
"""Space for HDF5's own tables, in addition to two percent of the file."""


@dataclass(frozen=True)
class Layout:
    """What every array of a file looks like."""

    dtype: Literal["float32", "float16"] = "float32"
    is_pooled: bool = False
    """Whether arrays are (..., D) per sentence instead of (..., T, D)."""
    keep_sentences: bool = True
    """Add ``sentence_to_index`` to HDF5 and npz: JSON from a sentence's text to its key (for equal
    sentences the last one, as in AllenNLP). Also add each sentence's tokens: in HDF5 as the
    attribute ``tokens`` of its dataset, in npz as ``tokens``, JSON from key to tokens."""


class Writer(Protocol):
    """Writes the vectors of one sentence at a time."""

    def add(self, item: Item, vectors: Array) -> None:
        """Write one sentence."""
        ...

    def close(self) -> None:
        """Write the rest; the file is complete afterwards."""
        ...

    def abandon(self) -> None:
        """Close a file that failed or is no longer needed."""
        ...


@contextmanager
def writing(
    path: Path,
    layout: Layout = Layout(),  # noqa: B008  frozen
    kind: str | None = None,
) -> Iterator[Writer]:
    """A writer for the format given by the suffix of ``path`` (or by ``kind``, like ".h5")."""
    if kind is None:
        require_suffix(path)
    with full_disk_said_plainly(path), replacing_file(path) as aside:
        writer = _WRITERS[kind or path.suffix](aside, layout)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer.abandon()
            raise


def require_suffix(path: Path) -> None:
    """Reject a name with an unknown suffix."""
    if path.suffix not in _WRITERS:
        raise InputError(f"{path}: the name must end in one of {', '.join(_WRITERS)}")


class Hdf5Writer:
    """One dataset per sentence, named by its key; a slash, which makes groups, becomes _."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path = path
        self._file = h5py.File(path, "w")
        self._dtype = layout.dtype
        self._sentences = _JsonObject() if layout.keep_sentences else None

    def add(self, item: Item, vectors: Array) -> None:
        """Write one dataset, with its tokens as an attribute."""
        tokens = item.tokens if self._sentences else []
        self._ask_for_space(vectors.nbytes + sum(64 + 4 * len(token) for token in tokens))
        key = item.key.replace("/", "_")
        key = "_" if key in (".", "") else key
        if key in self._file:
            raise InputError(
                f"{item.key!r} and an earlier name are both {key!r} in HDF5, where a slash becomes "
                f"an underscore; write .npz, or choose other names"
            )
        dataset = self._file.create_dataset(key, data=vectors, dtype=self._dtype)
        if self._sentences:
            self._sentences.add(item.text, item.key)
            if 0 < len(tokens) <= MOST_TOKENS_AS_ATTRIBUTE:
                encodable = [_encodable(token) for token in tokens]
                dataset.attrs.create("tokens", encodable, dtype=h5py.string_dtype("utf-8"))

    def close(self) -> None:
        """Write ``sentence_to_index`` and close the file."""
        if self._sentences:
            sentences = self._sentences.json()
            self._ask_for_space(len(sentences))
            text = h5py.string_dtype("utf-8")
            index = self._file.create_dataset("sentence_to_index", (1,), dtype=text)
            index[0] = sentences
        self._file.flush()
        size = self._file.id.get_filesize()
        self._file.close()
        os.truncate(self._path, size)  # free the reserved space that was not used

    def abandon(self) -> None:
        """Close the file without completing it."""
        with suppress(OSError, RuntimeError, ValueError):
            self._file.close()

    def _ask_for_space(self, num_bytes: int) -> None:
        """Reserve space in advance: if the disk is full, HDF5 crashes the process."""
        if not hasattr(os, "posix_fallocate"):
            return
        size = self._file.id.get_filesize() + num_bytes
        with open(self._path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size + size // 50 + HDF5_SPARE_BYTES)


class NpzWriter:
    """A file for ``numpy.load``: one array per sentence, named by its key."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._file = open(path, "wb")  # noqa: SIM115  closed in close or abandon
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._dtype = layout.dtype
        self._sentences = _JsonObject() if layout.keep_sentences else None
        self._tokens = _JsonObject()

    def add(self, item: Item, vectors: Array) -> None:
        """Write one array."""
        self._write(item.key, vectors.astype(self._dtype, copy=False))
        if self._sentences:
            self._sentences.add(item.text, item.key)
            self._tokens.add(item.key, item.tokens)

    def close(self) -> None:
        """Write ``sentence_to_index`` and ``tokens``, then the directory of the archive."""
        if self._sentences:
            self._write("sentence_to_index", np.array([self._sentences.json()]))
            if not self._tokens.is_empty:
                self._write("tokens", np.array([self._tokens.json()]))
        self._zip.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the file without completing it."""
        self._zip.fp = None  # so that it does not write its directory when it is collected
        with suppress(OSError):
            self._file.close()

    def _write(self, key: str, array: Array) -> None:
        if len(key.encode("utf-8", "replace")) > LONGEST_NPZ_KEY:
            raise InputError(
                f"{key[:40]!r}... has {len(key):,} characters, more than a name in an npz file can "
                f"have; write .h5 or .parquet, or choose another field with --id"
            )
        member_info = zipfile.ZipInfo(f"{key}.npy")  # fixed date: reproducible files
        with self._zip.open(member_info, "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


class ParquetWriter:
    """One row per token: sentence (its key), position, token, vector (or layer_0, layer_1, ...).

    Pooled vectors have one row per sentence, with its text.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
        self._pyarrow = pyarrow
        self._path, self._layout = path, layout
        self._file: Any = None
        self._group: list[tuple[Item, Array]] = []
        self._num_rows = 0

    def add(self, item: Item, vectors: Array) -> None:
        """Collect one sentence; a row group is written when it is full."""
        vectors = vectors[..., None, :] if self._layout.is_pooled else vectors
        self._group.append((item, vectors.astype(self._layout.dtype, copy=False)))
        self._num_rows += vectors.shape[-2]
        if self._num_rows >= ROW_GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        """Write the last row group and the footer."""
        if self._group or self._file is None:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        """Close the file without completing it."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _write_group(self) -> None:
        table = self._pyarrow.table(arrow_columns(self._group, self._layout.is_pooled))
        if self._file is None:
            self._file = self._pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._file.write_table(table)
        self._group, self._num_rows = [], 0


def arrow_columns(group: list[tuple[Item, Array]], is_pooled: bool) -> dict[str, Any]:
    """Columns of a table for sentences with their vectors, each (..., rows, D)."""
    import pyarrow as arrow

    items = [item for item, _ in group]
    if is_pooled:
        columns = {
            "sentence": arrow.array([item.key for item in items], arrow.string()),
            "text": arrow.array([_encodable(item.text) for item in items], arrow.string()),
        }
    else:
        keys = [item.key for item in items for _ in item.tokens]
        positions = [place for item in items for place in range(len(item.tokens))]
        tokens = [_encodable(token) for item in items for token in item.tokens]
        columns = {
            "sentence": arrow.array(keys, arrow.string()),
            "position": arrow.array(positions, arrow.int32()),
            "token": arrow.array(tokens, arrow.string()),
        }
    if not items:  # no input: a table with these columns and no rows
        return columns
    joined = np.concatenate([vectors for _, vectors in group], axis=-2)
    layers = [joined] if joined.ndim == 2 else list(joined)  # each (rows, D)
    names = ["vector"] if joined.ndim == 2 else [f"layer_{n}" for n in range(len(layers))]
    for name, layer in zip(names, layers, strict=True):
        flat = arrow.array(layer.reshape(-1))
        columns[name] = arrow.FixedSizeListArray.from_arrays(flat, layer.shape[1])
    return columns


_WRITERS: dict[str, Callable[[Path, Layout], Writer]] = {
    ".h5": Hdf5Writer,
    ".hdf5": Hdf5Writer,
    ".npz": NpzWriter,
    ".parquet": ParquetWriter,
}


class _JsonObject:
    """A JSON object with many members, kept on disk because it may be large."""

    def __init__(self) -> None:
        self._pieces: IO[str] = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def add(self, name: str, value: Any) -> None:
        separator = ", " if self._pieces.tell() else ""
        self._pieces.write(f"{separator}{json.dumps(name)}: {json.dumps(value)}")

    @property
    def is_empty(self) -> bool:
        return self._pieces.tell() == 0

    def json(self) -> str:
        self._pieces.seek(0)
        return "{" + self._pieces.read() + "}"


def _encodable(token: str) -> str:
    return token.encode("utf-8", "replace").decode("utf-8")


@contextmanager
def full_disk_said_plainly(path: Path) -> Iterator[None]:
    """Turn an error about a full disk while writing ``path`` into a clear message."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if is_full_disk(error):
            raise InputError(
                f"{path}: no space is left on the disk; nothing was written, so free some "
                f"space or use --float16 or fewer --layers"
            ) from None
        raise
