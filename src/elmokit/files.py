"""Write aside, then rename: a killed run leaves the old file or the new one, never half of one."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elmokit.errors import InputError


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes the place of ``path``."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.touch()  # before the work, and in plainer words than HDF5 has
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror})", str(path)) from None
    try:
        yield aside
        _flush_to_disk(aside)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; on success it takes the place of ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
    try:
        yield aside
        for child in sorted(aside.rglob("*")):
            if child.is_file():
                _flush_to_disk(child)
        aside.chmod(0o755)
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
            os.replace(path, old / path.name)
            os.replace(aside, path)
            shutil.rmtree(old)
        else:
            os.replace(aside, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def require_replaceable(folder: Path, mark: str, kind: str) -> None:
    """Only what we wrote before, known by the file ``mark``, is ever replaced by a new ``kind``."""
    if not folder.exists() or (folder / mark).is_file():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder for the {kind}")
    if any(folder.iterdir()):
        raise InputError(f"{folder}: holds other files; name a new folder for the {kind}")


_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full_disk(error: Exception) -> bool:
    """Whether there was no space: by the number, or in the words of HDF5 and of safetensors."""
    if getattr(error, "errno", None) in _FULL_DISK:
        return True
    words = str(error)
    return any(f"errno = {n}" in words or f"os error {n}" in words for n in _FULL_DISK)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically."""
    with replacing_file(path) as aside:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        aside.write_text(text, encoding="utf-8")


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
