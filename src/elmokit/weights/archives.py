"""Unpacks archives of models safely: never outside the folder, never more than they declare."""

import gzip
import lzma
import shutil
import struct
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from elmokit.errors import InputError, reason_of
from elmokit.files import is_full_disk

_MOST_MEMBERS = 1000
_MOST_BYTES = 64 << 30
_GREATEST_RATIO = 1000
"""The maximum ratio of unpacked to packed bytes; weights hardly compress at all."""
_FREE_BYTES = 1 << 20
"""The ratio is not limited for members of at most this size."""
_MOST_LEVELS = 16
"""The maximum depth of folders; thousands of levels could not even be removed again."""
_LONGEST_READ = 1 << 22
"""The maximum bytes per read; a longer header is not plausible."""
_GZIP = b"\x1f\x8b"
TAR_SUFFIXES = (".tar.gz", ".tgz", ".tar")


def unpack_zip(path: Path, folder: str) -> None:
    """Unpack all members into ``folder``; a suspicious archive is rejected first."""
    try:
        with zipfile.ZipFile(path) as archive:
            _require_harmless(archive.infolist(), path, folder)
            archive.extractall(folder)
    except InputError:
        raise
    except OSError as error:
        if not is_full_disk(error):
            raise InputError(f"{path}: cannot be unpacked ({reason_of(error)})") from None
        raise _no_space(path) from None
    except (
        zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, struct.error, ValueError,
        IndexError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{path}: damaged zip file ({reason_of(error)}); download it again"
        ) from None
    except (RuntimeError, NotImplementedError) as error:  # a password, an unknown compression
        raise InputError(
            f"{path}: cannot be unpacked ({reason_of(error)}); give the unpacked folder"
        ) from None


def unpack_tar(path: Path, folder: str) -> None:
    """Unpack a .tar or .tar.gz into ``folder``; stops at a suspicious member."""
    try:
        stream: Any = _Unpacked(path)
        with closing(stream), tarfile.open(fileobj=stream, mode="r:") as archive:
            for number, member in enumerate(archive, start=1):
                if number > _MOST_MEMBERS:
                    raise _too_many(path, "more than 1,000")
                _unpack_member(archive, member, path, Path(folder))
    except InputError:
        raise
    except OSError as error:
        if is_full_disk(error):
            raise _no_space(path) from None
        raise InputError(f"{path}: cannot be unpacked ({reason_of(error)})") from None
    except (
        tarfile.TarError, EOFError, zlib.error, struct.error, ValueError, IndexError,
        OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise InputError(
            f"{path}: damaged tar file ({reason_of(error)}); download it again"
        ) from None


def _unpack_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, folder: Path
) -> None:
    _require_inside(member.name, path)
    if not (member.isdir() or member.isfile()) or member.issparse():
        raise InputError(
            f"{path}: refused, because its member {member.name!r} is neither a file nor a folder; "
            f"get the archive from a source you trust"
        )
    if member.isfile() and member.size > shutil.disk_usage(folder).free:
        raise _no_space(path)
    target = folder / PurePosixPath(member.name.replace("\\", "/"))
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    content = archive.extractfile(member)
    assert content is not None  # it is a file
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        shutil.copyfileobj(content, file)


class _Unpacked:
    """The bytes of a .tar, also inside a .gz: never more than ``limit``, never all at once."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            is_gzip = file.read(2) == _GZIP
        packed = path.stat().st_size
        self._path = path
        self._limit = min(_MOST_BYTES, max(_GREATEST_RATIO * packed, _FREE_BYTES))
        self._stream = cast(IO[bytes], gzip.GzipFile(path) if is_gzip else path.open("rb"))
        self.tell, self.close = self._stream.tell, self._stream.close

    def read(self, size: int) -> bytes:
        """The next bytes; tarfile reads headers whole, however long they claim to be."""
        if size > _LONGEST_READ:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        self._within(self.tell() + size)
        return self._stream.read(size)

    def seek(self, place: int) -> int:
        """Go to ``place``, forward only in fact: members are unpacked in their order."""
        return self._stream.seek(self._within(place))

    def _within(self, place: int) -> int:
        if place > self._limit:
            raise InputError(
                f"{self._path}: refused, because it would unpack to more than {self._limit:,} "
                f"bytes; get the archive from a source you trust"
            )
        return place


def _require_harmless(members: list[zipfile.ZipInfo], path: Path, folder: str) -> None:
    if len(members) > _MOST_MEMBERS:
        raise _too_many(path, f"{len(members):,}")
    total = sum(member.file_size for member in members)
    if total > _MOST_BYTES:
        raise InputError(
            f"{path}: would unpack to {total:,} bytes; elmokit unpacks at most {_MOST_BYTES:,}"
        )
    for member in members:
        _require_inside(member.filename, path)
        is_large = member.file_size > _FREE_BYTES
        if is_large and member.file_size > _GREATEST_RATIO * member.compress_size:
            raise InputError(
                f"{path}: refused, because {member.filename!r} would unpack to "
                f"{member.file_size:,} bytes from {member.compress_size:,}; get the archive from a "
                f"source you trust"
            )
    if total > shutil.disk_usage(folder).free:
        raise _no_space(path)


def _require_inside(member: str, path: Path) -> None:
    name = PurePosixPath(member.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or (name.parts and ":" in name.parts[0]):
        raise InputError(
            f"{path}: refused, because its member {member!r} points outside of the archive; "
            f"get the archive from a source you trust"
        )
    if len(name.parts) > _MOST_LEVELS:
        raise InputError(
            f"{path}: refused, because a member lies {len(name.parts):,} folders deep; get the "
            f"archive from a source you trust"
        )


def _too_many(path: Path, count: str) -> InputError:
    return InputError(
        f"{path}: holds {count} files, but a model has at most {_MOST_MEMBERS:,}; give the archive "
        f"of a model"
    )


def _no_space(path: Path) -> InputError:
    return InputError(
        f"{path}: no space to unpack it in {tempfile.gettempdir()}; set TMPDIR to a folder on a "
        f"larger disk"
    )
