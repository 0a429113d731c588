"""Write to a temporary name, then rename: a killed run leaves the old or the new file, never half.

The temporary file is ``.NAME.HOST.PID.part``, beside NAME. A killed run leaves it behind; the next
run that writes NAME removes it, if process PID is gone.
"""

import ctypes
import errno
import glob
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from elmokit.errors import InputError


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it replaces ``path``."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    aside = path.with_name(f"{_prefix(path)}{os.getpid()}.part")
    try:
        aside.touch()  # fails before the work starts, and with a clearer message than HDF5's
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror})", str(path)) from None
    try:
        yield aside
        _flush_to_disk(aside)
        os.replace(aside, path)
        _flush_names_to_disk(path.parent)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; on success it replaces ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    aside = _make_folder(path, ".part")
    try:
        yield aside
        for child in sorted(aside.rglob("*")):
            if child.is_file():
                _flush_to_disk(child)
        aside.chmod(0o755)
        if not path.exists():
            os.replace(aside, path)
        elif not _exchange(aside, path):
            old = _make_folder(path, ".old")
            os.replace(path, old / path.name)
            os.replace(aside, path)
            shutil.rmtree(old)
        _flush_names_to_disk(path.parent)
    except OSError as error:
        if is_full_disk(error):
            raise InputError(
                f"{path}: no space is left on the disk; nothing was written, so free some "
                f"space or choose another folder"
            ) from None
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def remove_leftovers(path: Path) -> None:
    """Remove what killed runs left beside ``path``; files of running processes are kept.

    The name of ``path`` may be a pattern: ``folder / "*"`` means all files of a folder. If a run
    was killed between two renames, the old folder is restored.
    """
    is_pattern = path.name == "*"
    name = "*" if is_pattern else glob.escape(path.name)
    for left in path.parent.glob(f".{name}.{_host()}.*"):
        process = left.name.rpartition(f".{_host()}.")[2].partition(".")[0]
        if not process.isdigit() or _is_alive(int(process)):
            continue
        if left.suffix == ".old" and not is_pattern and not path.exists():
            os.replace(left / path.name, path)
        if left.suffix in (".part", ".old"):
            _remove(left)


def require_replaceable(folder: Path, mark: str, kind: str) -> None:
    """Raise unless ``folder`` is new, empty, or an earlier ``kind``, known by its file ``mark``."""
    if not folder.exists() or (folder / mark).is_file():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder for the {kind}")
    if any(folder.iterdir()):
        raise InputError(f"{folder}: holds other files; name a new folder for the {kind}")


_FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full_disk(error: Exception) -> bool:
    """Whether the disk is full: by errno, or by the messages of HDF5, safetensors or NumPy."""
    if getattr(error, "errno", None) in _FULL_DISK:
        return True
    words = str(error)
    is_of_numpy = isinstance(error, OSError) and " requested and " in words  # "9 ... 3 written"
    return is_of_numpy or any(
        f"errno = {n}" in words or f"os error {n}" in words for n in _FULL_DISK
    )


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically."""
    with replacing_file(path) as aside:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
        aside.write_text(text, encoding="utf-8")


@cache
def _host() -> str:
    """The name of this machine; on a shared disk, process ids of other machines mean nothing."""
    return hashlib.blake2b(platform.node().encode(), digest_size=3).hexdigest()


def _prefix(path: Path) -> str:
    return f".{path.name}.{_host()}."


def _make_folder(path: Path, suffix: str) -> Path:
    prefix = f"{_prefix(path)}{os.getpid()}."
    return Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=path.parent))


def _is_alive(process: int) -> bool:
    """Whether a process of this machine is running; True if that cannot be determined."""
    if os.name != "posix":  # elsewhere, signal 0 would kill the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's process
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically, if the system can, so that the folder always exists."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _flush_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_names_to_disk(folder: Path) -> None:
    """Flush the folder itself, without which a rename may be lost in a power failure."""
    if os.name == "posix":
        _flush_to_disk(folder)
