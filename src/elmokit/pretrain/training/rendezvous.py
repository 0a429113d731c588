"""RENDEZVOUS: the processes of one round find each other, whatever earlier rounds left behind.

torchrun keeps one store for all rounds of a run, and torch does not tell the rounds apart in it:
after a restart a process may read the address of a dead one, and be refused or wait forever. So
each process asks under a key that nobody used before, and the main process answers it with the
number of the round. Everything else is then stored under that number.
"""

import time
from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

from torch.distributed.distributed_c10d import PrefixStore, Store

from elmokit.errors import InputError

TIMEOUT = timedelta(minutes=10)


class Round(NamedTuple):
    """One start of all processes of a run; a restart is the next round."""

    number: int  # from 1
    store: Store  # this round's own part of the common store


def join_round(store: Store, rank: int, size: int, timeout: timedelta = TIMEOUT) -> Round:
    """Wait until all ``size`` processes of this round have joined.

    Args:
        store: The store that all rounds share.
        rank: The number of this process; 0 is the main one.
        size: How many processes a round has.
        timeout: How long to wait for the others.
    """
    common = PrefixStore("elmokit", store)
    number = _answer(common, size, timeout) if rank == 0 else _ask(common, rank, timeout)
    return Round(number, PrefixStore(f"round/{number}", common))


def _ask(store: Store, rank: int, timeout: timedelta) -> int:
    question = uuid4().hex
    store.set(f"question/{rank}", question)
    store.wait([f"answer/{question}"], timeout)
    number = int(store.get(f"answer/{question}"))
    store.set(f"joined/{number}/{rank}", "")
    return number


def _answer(store: Store, size: int, timeout: timedelta) -> int:
    """Answer every question, old ones too, until each process has read its answer."""
    number = store.add("rounds", 1)
    missing = list(range(1, size))
    deadline = time.monotonic() + timeout.total_seconds()
    while missing:
        if time.monotonic() > deadline:
            raise InputError(
                f"processes {missing} of {size} did not join within {timeout}: start all of them"
            )
        for rank in missing:
            if store.check([f"question/{rank}"]):
                question = store.get(f"question/{rank}").decode()
                store.set(f"answer/{question}", str(number))
        missing = [rank for rank in missing if not store.check([f"joined/{number}/{rank}"])]
        time.sleep(0.02)
    return number
