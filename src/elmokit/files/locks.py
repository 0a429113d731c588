"""Locks between processes, released when the holder exits, on Linux, macOS and Windows."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP)
"""Errors of file systems without locks; there, every process gets the lock."""

if sys.platform == "win32":
    import msvcrt

    _FAR_BEHIND = 1 << 20
    """The byte that is locked, far beyond the contents, because Windows forbids reading it."""

    def _lock(file: IO[Any], wait: bool) -> bool:
        while True:
            file.seek(_FAR_BEHIND)
            try:
                # LK_LOCK tries for ten seconds, LK_NBLCK once.
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not wait:
                    return False

else:
    import fcntl

    def _lock(file: IO[Any], wait: bool) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in _NO_LOCKS_HERE
        return True


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` while the block runs; False if another process holds it."""
    with path.open("a+", encoding="utf-8") as file:
        is_ours = _lock(file, wait=False)
        if is_ours:
            _sign(file)
        yield is_ours


@contextmanager
def wait_for_lock(path: Path, notice: str) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs.

    While another process holds it, wait, and print ``notice`` (if any) on standard error.
    """
    with path.open("a+", encoding="utf-8") as file:
        if not _lock(file, wait=False):
            if notice:
                print(notice, file=sys.stderr)
            _lock(file, wait=True)
        _sign(file)
        yield


def holder_of(path: Path) -> str:
    """The id of the process that holds (or last held) a lock file; empty if unknown."""
    return path.read_text(encoding="utf-8", errors="replace").strip()[:20]


def _sign(file: IO[str]) -> None:
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
