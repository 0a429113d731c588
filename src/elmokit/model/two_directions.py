"""Run the two directions at once, one thread each; every GEMM inside uses its thread alone."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import torch

Forward = TypeVar("Forward")
Backward = TypeVar("Backward")

ROWS_WORTH_A_THREAD = 16
"""With fewer rows a step in Python is so short that the threads would wait for each other."""

_pools: dict[int, ThreadPoolExecutor] = {}
_making_pool = threading.Lock()


def run_both(
    forward: Callable[[], Forward],
    backward: Callable[[], Backward],
    device: torch.device,
    is_short: bool = False,
    stays_here: bool = False,
) -> tuple[Forward, Backward]:
    """Both results. On one core, or on a GPU (where launches are queued anyway), one by one.

    ``is_short``: the work is a run of steps so short that threads would wait for each other's
    Python. ``stays_here``: the forward direction may run on the caller's thread, because no product
    in it is PyTorch's, which would use all of the caller's threads; that saves waking a worker.
    """
    num_threads = torch.get_num_threads()
    if device.type != "cpu" or num_threads == 1 or is_short:
        return forward(), backward()
    pool = _pool(num_threads // 2)
    if stays_here:
        later = pool.submit(backward)
        try:
            return forward(), later.result()
        finally:
            wait([later])  # it writes to buffers that an error here would free
    futures = pool.submit(forward), pool.submit(backward)
    return futures[0].result(), futures[1].result()


def _pool(threads_each: int) -> ThreadPoolExecutor:
    """Two workers with ``threads_each`` OpenMP threads each."""
    with _making_pool:
        if threads_each not in _pools:
            _pools[threads_each] = _make_pool(threads_each)
        return _pools[threads_each]


def _make_pool(threads_each: int) -> ThreadPoolExecutor:
    """Start both workers now: a thread that sets its number of threads also sets the default of
    threads started later, so the caller's number is put back after both have done so."""
    num_threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(
        max_workers=2,
        thread_name_prefix="elmokit-direction",
        initializer=_start_worker,
        initargs=(threads_each,),
    )
    both_started = threading.Barrier(2)
    for waiting in [pool.submit(both_started.wait) for _ in range(2)]:
        waiting.result()
    torch.set_num_threads(num_threads)
    return pool


def _start_worker(num_threads: int) -> None:
    """The first question a thread asks PyTorch gives it the default number of threads, even where
    it has set its own before: so it asks first."""
    torch.get_num_threads()
    torch.set_num_threads(num_threads)


def _start_anew_in_child() -> None:
    """A forked process has no threads but its own: forget the pools.

    GNU OpenMP waits forever in a child of a process that has used it; where we have, the child
    gets one thread (``torch.set_num_threads`` there raises it again at the caller's risk).
    """
    global _making_pool
    _making_pool = threading.Lock()
    if _pools:
        _pools.clear()
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
