"""Zip files of models, unpacked aside: never outside of the folder, never more than they say."""

import lzma
import shutil
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from elmokit.errors import InputError, reason_of
from elmokit.files import is_full_disk

_MOST_MEMBERS = 1000
_MOST_BYTES = 64 << 30
_GREATEST_RATIO = 1000
"""Of unpacked to packed bytes; weights hardly compress at all."""
_FREE_BYTES = 1 << 20
"""A member of at most this size may compress as well as it likes."""


def unpack_zip(path: Path, folder: str) -> None:
    """Unpack all members into ``folder``; what looks made to do harm is refused before."""
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


def _require_harmless(members: list[zipfile.ZipInfo], path: Path, folder: str) -> None:
    if len(members) > _MOST_MEMBERS:
        raise InputError(
            f"{path}: holds {len(members):,} files, but a model has at most {_MOST_MEMBERS:,}; "
            f"give the archive of a model"
        )
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


def _no_space(path: Path) -> InputError:
    return InputError(
        f"{path}: no space to unpack it in {tempfile.gettempdir()}; set TMPDIR to a folder on a "
        f"larger disk"
    )
