"""Runs the two directions in parallel, in one thread each."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import torch

Forward = TypeVar("Forward")
Backward = TypeVar("Backward")

ROWS_WORTH_A_THREAD = 16
"""With fewer rows, steps are so short that the threads would wait for Python's lock."""

_pools: dict[int, ThreadPoolExecutor] = {}
_making_pool = threading.Lock()


def run_both(
    forward: Callable[[], Forward],
    backward: Callable[[], Backward],
    device: torch.device,
    is_short: bool = False,
    stays_here: bool = False,
) -> tuple[Forward, Backward]:
    """Run both and return their results; one after the other on one core or on a GPU.

    ``is_short``: the steps are so short that threads would wait for Python's lock. ``stays_here``:
    the forward direction may run in the caller's thread, which saves waking a worker. That is
    possible if it uses no matrix products of PyTorch, which would use all of the caller's threads.
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
            wait([later])  # it still writes to buffers that an error here would free
    futures = pool.submit(forward), pool.submit(backward)
    return futures[0].result(), futures[1].result()


def _pool(threads_each: int) -> ThreadPoolExecutor:
    """Two workers with ``threads_each`` OpenMP threads each."""
    with _making_pool:
        if threads_each not in _pools:
            _pools[threads_each] = _make_pool(threads_each)
        return _pools[threads_each]


def _make_pool(threads_each: int) -> ThreadPoolExecutor:
    """Start both workers now: a thread that sets its number of threads also sets the default for
    later threads, so the caller's number is restored after both have done so."""
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
    """The first call into PyTorch resets a thread to the default number of threads, so query it
    before setting the number."""
    torch.get_num_threads()
    torch.set_num_threads(num_threads)


def _start_anew_in_child() -> None:
    """Drop the pools in a forked process, which does not inherit their threads.

    GNU OpenMP waits forever in a child of a process that has used it; in that case the child gets
    one thread (it may call ``torch.set_num_threads`` at its own risk).
    """
    global _making_pool
    _making_pool = threading.Lock()
    if _pools:
        _pools.clear()
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
