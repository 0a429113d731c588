"""FILES, FOLDERS, STANDARD INPUT -> DOCUMENTS, as bytes, with bounded memory.

A line is a paragraph (or a sentence), a blank line ends a document. No file contents can stop the
reading: what is too long is cut, what is broken is skipped, and both are counted.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError, missing_extra
from elmokit.text.sources import (
    COMPRESSED,
    DamagedFileError,
    require_zstandard,
    standard_input,
    unpacked,
)

TEXT_SUFFIXES = (".txt", *COMPRESSED)

_CHUNK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Source(NamedTuple):
    """One input: its name, its chunks of bytes, and its size on disk if known.

    ``chunks`` yields (bytes, their size on disk).
    ``kind`` names the input that it belongs to: the files of one folder are of one kind.
    """

    name: str
    chunks: Callable[[], Iterator[tuple[bytes, int]]]
    disk_bytes: int | None
    kind: str = ""


class Piece(NamedTuple):
    """A document, or a part of one that is too long."""

    text: bytes
    document: int  # hash of the document's first piece: the same for all of its pieces
    kind: str


class ReadSource(NamedTuple):
    """What was read of one source, after unpacking."""

    name: str
    num_bytes: int
    sha256: str


def find_sources(inputs: Sequence[str], leave_out: Path | None = None) -> list[Source]:
    """The files behind names, folders, ``-`` (standard input) and ``hf:NAME``, in a fixed order.

    All checks that do not require reading are made here. ``leave_out`` is a folder that is not
    searched even if it is inside another: the output of an earlier run.
    """
    sources: list[Source] = []
    for name in inputs:
        if name == "-":
            found = [Source("-", _stdin_chunks, None)]
        elif name.startswith("hf:"):
            found = [_hugging_face_source(name)]
        elif Path(name).is_dir():
            found = _folder_sources(Path(name), leave_out)
        elif Path(name).is_file() or Path(name).is_fifo():
            found = [_file_source(Path(name))]
        else:
            raise InputError(f"{name}: no such file or folder")
        sources += [source._replace(kind=_kind(name)) for source in found]
    if not sources:
        raise InputError("nothing to prepare: name a file, a folder, - or hf:NAME")
    return sources


class DocumentReader:
    """Iterates over documents (bytes, lines separated by ``\\n``) and keeps counts."""

    def __init__(
        self, sources: Sequence[Source], max_line_bytes: int, max_document_bytes: int
    ) -> None:
        self.sources = sources
        self.max_line_bytes = max_line_bytes
        self.max_document_bytes = max_document_bytes
        self.counts: Counter[str] = Counter()
        self.broken: dict[str, str] = {}
        self.read: list[ReadSource] = []
        self.disk_bytes_read = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces():
            yield piece.text

    def pieces(self) -> Iterator[Piece]:
        """Documents in order; long ones are split into pieces of about ``max_document_bytes``."""
        for source in self.sources:
            document: int | None = None
            for text, is_last in self._texts(source):
                if document is None:
                    digest = hashlib.blake2b(text, digest_size=8).digest()
                    document = int.from_bytes(digest, "big")
                yield Piece(text, document, source.kind)
                if is_last:
                    document = None

    def _texts(self, source: Source) -> Iterator[tuple[bytes, bool]]:
        """Pieces of text, and whether their document ends with them."""
        lines: list[bytes] = []
        num_bytes = 0
        for line in self._lines(source):
            self.counts["lines"] += 1
            is_blank = not line or line.isspace()
            self.counts["blank_lines"] += is_blank
            if lines and (is_blank or num_bytes + len(line) > self.max_document_bytes):
                yield b"\n".join(lines), is_blank
                lines, num_bytes = [], 0
            if not is_blank:
                lines.append(line)
                num_bytes += len(line)
        if lines:
            yield b"\n".join(lines), True

    def _lines(self, source: Source) -> Iterator[bytes]:
        """Lines of one source; overlong ones are split, at a space if possible."""
        carry = b""
        for chunk in self._chunks(source):
            lines = (carry + chunk).split(b"\n")
            carry = lines.pop()
            for line in lines:
                if len(line) <= self.max_line_bytes:
                    yield line
                else:
                    yield from self._cut(line)
            if len(carry) > self.max_line_bytes:
                *pieces, carry = self._cut(carry)
                yield from pieces
        if carry:
            yield carry

    def _cut(self, line: bytes) -> Iterator[bytes]:
        start = 0
        while len(line) - start > self.max_line_bytes:
            end = line.rfind(b" ", start + 1, start + self.max_line_bytes)
            if end < 0:
                end = start + self.max_line_bytes
                while end > start + 1 and line[end] & 0xC0 == 0x80:  # inside a UTF-8 character
                    end -= 1
            self.counts["line_cuts"] += 1
            yield line[start:end]
            start = end
        yield line[start:]

    def _chunks(self, source: Source) -> Iterator[bytes]:
        """The bytes of one source, up to any damage; also updates their hash."""
        digest = hashlib.sha256()
        num_bytes = 0
        try:
            for chunk, disk_bytes in source.chunks():
                digest.update(chunk)
                self.disk_bytes_read += disk_bytes
                yield chunk.removeprefix(_BOM) if num_bytes == 0 else chunk
                num_bytes += len(chunk)
                self.counts["bytes"] += len(chunk)
        except DamagedFileError as error:
            self.broken[source.name] = error.reason
        self.counts["empty_sources"] += num_bytes == 0
        self.read.append(ReadSource(source.name, num_bytes, digest.hexdigest()))


def _kind(name: str) -> str:
    """The kind of an input: "fiction" for both ``data/fiction.txt.xz`` and ``fiction/``."""
    if name == "-":
        return "standard input"
    if name.startswith("hf:"):
        return name
    path = Path(os.path.abspath(name))
    return path.name if path.is_dir() else path.name.split(".")[0] or path.name


def _folder_sources(folder: Path, leave_out: Path | None) -> list[Source]:
    """Text files at any depth, in the order of their paths; hidden ones are skipped."""
    files: dict[tuple[str, ...], Source] = {}

    def unreadable(error: OSError) -> None:
        path = Path(error.filename or folder)
        files[path.relative_to(folder).parts] = _broken_source(path, error.strerror or "unknown")

    for home, folders, names in os.walk(folder, onerror=unreadable):  # links are not followed
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and not _is_same(home, name, leave_out)
        ]
        for path in (Path(home) / name for name in names if not name.startswith(".")):
            is_text = path.suffix.lower() in TEXT_SUFFIXES and ".tar" not in path.suffixes
            if is_text and path.is_file():
                files[path.relative_to(folder).parts] = _file_source(path)
            elif is_text and path.is_symlink():
                inside = path.relative_to(folder).parts
                files[inside] = _broken_source(path, "a link that leads nowhere")
    sources = [files[inside] for inside in sorted(files)]
    if not any(source.disk_bytes for source in sources):
        raise InputError(f"{folder}: no {', '.join(TEXT_SUFFIXES)} file that can be read here")
    return sources


def _is_same(home: str, name: str, other: Path | None) -> bool:
    return other is not None and other.exists() and other.samefile(Path(home) / name)


def _broken_source(path: Path, reason: str) -> Source:
    """A source that cannot be opened; it is counted and named in the report."""

    def chunks() -> Iterator[tuple[bytes, int]]:
        raise DamagedFileError(str(path), "or unreadable", reason)

    return Source(str(path), chunks, 0)


def _file_source(path: Path) -> Source:
    if path.suffix.lower() == ".zst":
        require_zstandard()
    disk_bytes = None
    if path.is_file():
        disk_bytes = path.stat().st_size
        with path.open("rb") as file:
            if file.read(2) in _UTF16_BOMS:
                raise InputError(
                    f"{path}: this is UTF-16 text; convert it with  iconv -f utf-16 -t utf-8"
                )

    def chunks() -> Iterator[tuple[bytes, int]]:
        with path.open("rb") as raw:
            stream = unpacked(raw, str(path))
            position = 0
            while chunk := stream.read(_CHUNK_BYTES):
                if disk_bytes is None:
                    yield chunk, 0
                    continue
                before, position = position, raw.tell()
                yield chunk, position - before

    return Source(str(path), chunks, disk_bytes)


def _stdin_chunks() -> Iterator[tuple[bytes, int]]:
    stream = standard_input()
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk, 0


def _hugging_face_source(name: str) -> Source:
    """``hf:NAME[,CONFIG][:SPLIT]``: the column ``text`` of a dataset, one document per row."""
    try:
        import datasets
    except ImportError:
        raise missing_extra("datasets", "datasets", f"reading {name}") from None
    path, _, split = name.removeprefix("hf:").partition(":")
    path, _, config = path.partition(",")
    try:
        rows = datasets.load_dataset(path, config or None, split=split or "train", streaming=True)
    except Exception as error:  # the library raises many types for bad names
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{name}: cannot open this dataset ({reason})") from error

    def chunks() -> Iterator[tuple[bytes, int]]:
        for row in rows:
            if "text" not in row:
                raise InputError(f"{name}: no column 'text', only {', '.join(row)}")
            lines = [line for line in str(row["text"]).splitlines() if line.strip()]
            yield ("\n".join(lines) + "\n\n").encode("utf-8", "replace"), 0

    return Source(name, chunks, None)
