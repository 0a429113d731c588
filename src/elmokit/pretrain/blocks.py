"""DOCUMENTS -> BLOCKS on all cores, in input order and at bounded memory."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait

from elmokit.errors import InputError
from elmokit.pretrain.prepare_block import Block, BlockSettings, read_block

_BLOCK_BYTES = 1 << 20
_WAITING_BLOCKS_PER_WORKER = 3


def read_blocks(
    documents: Iterable[bytes], settings: BlockSettings, num_workers: int
) -> Iterator[Block]:
    """Blocks of about a megabyte of text, the same whatever the number of processes."""
    if num_workers == 1:
        for group in _groups(documents):
            yield read_block(group, settings)
        return
    with ProcessPoolExecutor(
        num_workers, _process_context(), initializer=_start_worker, initargs=(settings,)
    ) as pool:
        waiting: deque[Future[Block]] = deque()
        try:
            for group in _groups(documents):
                waiting.append(pool.submit(_read_block, group))
                if len(waiting) > _WAITING_BLOCKS_PER_WORKER * num_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise InputError(
                "a process that splits text was killed, most likely for want of memory; "
                "try fewer with  --workers 1"
            ) from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _groups(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    num_bytes = 0
    for document in documents:
        group.append(document)
        num_bytes += len(document)
        if num_bytes >= _BLOCK_BYTES:
            yield group
            group, num_bytes = [], 0
    if group:
        yield group


def _process_context() -> multiprocessing.context.BaseContext:
    """Forked where that is safe: a script then needs no ``if __name__ == "__main__"``."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


_settings: BlockSettings


def _start_worker(settings: BlockSettings) -> None:
    global _settings
    _settings = settings
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _wait_for_slow_patterns()


def _wait_for_slow_patterns() -> None:
    """Newer NLTK gives up on a pattern after seconds on the clock; a laptop may sleep longer."""
    with contextlib.suppress(ImportError):
        from nltk import redos

        redos.DEFAULT_TIMEOUT = None


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _read_block(documents: list[bytes]) -> Block:
    return read_block(documents, _settings)
