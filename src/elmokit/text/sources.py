"""TEXT FILES -> BYTES AND LINES: plain or compressed files, pipes and standard input.

The one place that knows compressed formats, byte order marks and what is wrong with a file.
"""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from elmokit.errors import InputError, missing_extra, reason_of

STANDARD_INPUT = "-"
COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard"}
"""Suffixes of compressed files, and what their format is called."""

_BYTE_ORDER_MARK = "\ufeff"
_BUFFER_BYTES = 1 << 16


class DamagedFileError(InputError):
    """A compressed file that cannot be unpacked to its end; ``reason`` says why."""

    def __init__(self, name: str, kind: str, reason: str) -> None:
        super().__init__(f"{name}: damaged {kind} file ({reason}); copy it again")
        self.reason = reason


@contextmanager
def open_source(name: str | Path, max_bytes: int | None = None) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked as its suffix says, or of standard input (``-``).

    Reading a damaged file raises ``DamagedFileError`` where the damage is, and so does a
    compressed one that unpacks to more than ``max_bytes``.
    """
    if str(name) == STANDARD_INPUT:
        yield standard_input()
        return
    with open(name, "rb") as file:
        yield unpacked(file, str(name), max_bytes)


def standard_input() -> BinaryIO:
    """The bytes of standard input, which a program that starts us may have closed."""
    if sys.stdin is None:
        raise InputError("-: standard input is closed; give a file")
    return sys.stdin.buffer


def unpacked(file: BinaryIO, name: str, max_bytes: int | None = None) -> BinaryIO:
    """What an open file holds, unpacked as the suffix of ``name`` says."""
    suffix = Path(name).suffix.lower()
    if suffix not in COMPRESSED:
        return file
    stream = _decompressor(file, suffix)
    raw = _Unpacked(stream, name, COMPRESSED[suffix], max_bytes)
    return io.BufferedReader(raw, _BUFFER_BYTES)


def read_lines(name: str | Path, max_bytes: int | None = None) -> Iterator[tuple[int, str]]:
    """(number from 1, text without its line end) of every line; only a line feed ends a line."""
    if str(name) != STANDARD_INPUT and Path(name).is_dir():
        raise InputError(f"{name}: is a folder; give a file")
    with open_source(name, max_bytes) as file:
        for number, line in enumerate(file, start=1):
            yield number, decode_line(line, str(name), number).rstrip("\r\n")


def decode_line(line: bytes, name: str, number: int) -> str:
    """The text of line ``number`` (from 1), without the mark that some editors put in front."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        shown = "standard input" if name == STANDARD_INPUT else name
        raise InputError(
            f"{shown}: line {number} is not UTF-8 text; convert the file, for example with iconv"
        ) from None
    return text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text


def require_sources(names: Sequence[str]) -> None:
    """Refuse a missing file before any work is done, not after an hour with the others."""
    for name in names:
        if name == STANDARD_INPUT:
            continue
        if not Path(name).exists():
            raise InputError(f"{name}: there is no such file")
        if Path(name).is_dir():
            raise InputError(f"{name}: this is a folder; name the files in it")
        if Path(name).suffix.lower() == ".zst":
            require_zstandard()


def can_be_read_twice(names: Sequence[str]) -> bool:
    """False for standard input and pipes, such as the shell's ``<(command)``."""
    return all(name != STANDARD_INPUT and Path(name).is_file() for name in names)


def require_zstandard() -> Any:
    """The module that reads .zst files, or an error that says how to install it."""
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", "pretrain", "reading .zst files") from None
    return zstandard


def _decompressor(file: BinaryIO, suffix: str) -> BinaryIO:
    match suffix:
        case ".gz":
            return cast(BinaryIO, gzip.GzipFile(fileobj=file))
        case ".xz":
            return cast(BinaryIO, lzma.LZMAFile(file))
        case ".bz2":
            return cast(BinaryIO, bz2.BZ2File(file))
    return cast(BinaryIO, _ZstandardReader(file))


class _ZstandardReader:
    """Frames one after the other; unlike zstandard's own reader, it notices a file cut short."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._new_frame = require_zstandard().ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._packed = self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            self._packed = self._packed or self._file.read(_BUFFER_BYTES)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("it ends in the middle of a frame")
                return b""
            self._frame = self._frame or self._new_frame()
            self._ready = self._frame.decompress(self._packed)
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        data, self._ready = self._ready[:size], self._ready[size:]
        return data


class _Unpacked(io.RawIOBase):
    """A decompressor whose errors, of many kinds, all become ``DamagedFileError``."""

    def __init__(self, stream: BinaryIO, name: str, kind: str, max_bytes: int | None) -> None:
        self._stream, self._name, self._kind = stream, name, kind
        self._room = max_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise self._damaged(error) from None
        except OSError as error:
            if error.errno is not None:  # bz2 says "Invalid data stream" without a number
                raise
            raise self._damaged(error) from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise self._damaged(error) from None
        if self._room is not None:
            self._room -= len(data)
            if self._room < 0:
                raise DamagedFileError(self._name, self._kind, "it unpacks to far too much")
        buffer[: len(data)] = data
        return len(data)

    def _damaged(self, error: Exception) -> DamagedFileError:
        return DamagedFileError(self._name, self._kind, reason_of(error))
