"""The number of threads that PyTorch uses, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from elmokit.errors import InputError


def require_num_threads(num_threads: int | None) -> None:
    """Refuse a number of threads below 1; None leaves the choice to PyTorch."""
    if num_threads is not None and num_threads < 1:
        raise InputError(f"num_threads must be at least 1, got {num_threads}")


@contextmanager
def limited_threads(num_threads: int | None) -> Iterator[None]:
    """At most ``num_threads`` in this thread; afterwards as many as before. None: as it is."""
    before = torch.get_num_threads()
    if num_threads is None or num_threads == before:
        yield
        return
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
