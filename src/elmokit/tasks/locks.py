"""Locks between processes, which end with their holder: on Linux, macOS and Windows."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[Any], wait: bool) -> None:
        while True:
            try:
                # LK_LOCK tries for ten seconds, LK_NBLCK once.
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return
            except OSError as error:
                if not wait:
                    raise BlockingIOError(str(error)) from None

else:
    import fcntl

    def _lock(file: IO[Any], wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` while the block runs; False if another process holds it."""
    with path.open("a") as file:
        try:
            _lock(file, wait=False)
        except BlockingIOError:
            yield False
            return
        yield True


@contextmanager
def wait_for_lock(path: Path, notice: str) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs.

    While another process holds it, wait, and print ``notice`` (if any) on standard error.
    """
    with path.open("a") as file:
        try:
            _lock(file, wait=False)
        except BlockingIOError:
            if notice:
                print(notice, file=sys.stderr)
            _lock(file, wait=True)
        yield
