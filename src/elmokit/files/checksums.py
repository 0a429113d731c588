"""Checksums of the files of a model, a corpus or an index, as ``sha256sum --check`` reads them.

A folder's SHA256SUMS is written last, when its files are complete. It is compared only on request,
because reading every byte would make loading slow.
"""

import hashlib
import lzma
import re
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from elmokit.errors import InputError, reason_of
from elmokit.files.replacing import replacing_file

FILE_NAME = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_MOST_BYTES = 1 << 20
_LONGEST_NAME = 200
_CHUNK_BYTES = 1 << 22


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of every file of ``folder``, at any depth, to its SHA256SUMS."""
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if _is_own(path)
    )
    with replacing_file(folder / FILE_NAME) as aside:
        lines = [f"{_sha256(folder / name)}  {name}\n" for name in names]
        aside.write_text("".join(lines), encoding="utf-8", newline="\n")


def check_files(folder: Path, cure: str, only: str | None = None) -> int | None:
    """Compare every file (or ``only`` one) with its checksum.

    Returns how many files were compared; None if no checksums are recorded. Raises an InputError
    that names the first missing or damaged file and the ``cure``.
    """
    expected = _read_checksums(folder)
    if only is not None:
        expected = {name: checksum for name, checksum in expected.items() if name == only}
    for name, checksum in expected.items():
        path = folder / name
        if not path.is_file():
            raise InputError(f"{path}: missing, but {FILE_NAME} lists it; {cure}")
        if _sha256(path) != checksum:
            raise InputError(f"{path}: damaged or changed (its SHA-256 differs); {cure}")
    return len(expected) or None


def zip_damage(path: Path) -> str | None:
    """Check a zip file (as torch.save writes) by its own checksums; None if it is intact."""
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
    except (
        zipfile.BadZipFile, zlib.error, struct.error, lzma.LZMAError,
        EOFError, NotImplementedError, OverflowError, RuntimeError, ValueError, OSError,
    ) as error:  # fmt: skip
        return reason_of(error)
    return None if broken is None else f"bad checksum of {broken}"


def _is_own(path: Path) -> bool:
    return path.is_file() and path.name != FILE_NAME and not path.name.startswith(".")


def _read_checksums(folder: Path) -> dict[str, str]:
    """Checksums by file name; names that lead out of the folder are rejected."""
    file = folder / FILE_NAME
    if not file.is_file():
        return {}
    damaged = (
        f"{file}: damaged, so nothing can be checked by it; get the folder again, or delete the "
        f"file to do without checksums"
    )
    if file.stat().st_size > _MOST_BYTES:
        raise InputError(damaged)
    found: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(damaged) from None
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None or not _is_inside(match[2]):
            raise InputError(damaged)
        found[match[2]] = match[1]
    if not found:
        raise InputError(damaged)
    return found


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    is_name = "\0" not in name and len(name.encode()) <= _LONGEST_NAME
    return is_name and not path.is_absolute() and ".." not in path.parts


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
