"""Run the two directions at once, a thread each; every GEMM inside uses its thread alone."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import torch

First = TypeVar("First")
Second = TypeVar("Second")


ROWS_WORTH_A_THREAD = 16


def side_by_side(
    first: Callable[[], First],
    second: Callable[[], Second],
    device: torch.device,
    num_rows: int = ROWS_WORTH_A_THREAD,
) -> tuple[First, Second]:
    """Both results. On one core, or on a GPU (where launches are queued anyway), one by one."""
    num_threads = torch.get_num_threads()
    if device.type != "cpu" or num_threads == 1 or num_rows < ROWS_WORTH_A_THREAD:
        return first(), second()
    pool = _pool(num_threads // 2)
    torch.set_num_threads(num_threads)  # making a pool sets the default of later threads
    futures = pool.submit(first), pool.submit(second)
    return futures[0].result(), futures[1].result()


@lru_cache(maxsize=4)
def _pool(threads_each: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(
        max_workers=2,
        thread_name_prefix="elmokit-direction",
        initializer=torch.set_num_threads,
        initargs=(threads_each,),
    )


def _start_anew_in_child() -> None:
    """A forked process has no threads but its own: forget the pools, and use one OpenMP thread.

    (GNU OpenMP waits for ever in a child of a process that has used it.)
    """
    _pool.cache_clear()
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
