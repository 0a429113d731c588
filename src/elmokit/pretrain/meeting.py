"""MEETING: the processes of one round find each other, whatever earlier rounds left behind.

torchrun keeps one store for all rounds of a run, and torch does not tell the rounds apart in it:
after a restart a process may read the address of a dead one, and be refused or wait for ever. So
each process asks under a name that nobody used before, and the main one answers it with the
number of the round, under which all else is kept.
"""

import time
from datetime import timedelta
from typing import NamedTuple
from uuid import uuid4

from torch.distributed.distributed_c10d import PrefixStore, Store

from elmokit.errors import InputError

PATIENCE = timedelta(minutes=10)


class Round(NamedTuple):
    number: int  # from 1
    store: Store  # this round's own part of the common one


def meet(store: Store, rank: int, size: int, patience: timedelta = PATIENCE) -> Round:
    """Wait until all ``size`` processes of this round are here."""
    common = PrefixStore("elmokit", store)
    number = _answer(common, size, patience) if rank == 0 else _ask(common, rank, patience)
    return Round(number, PrefixStore(f"round/{number}", common))


def _ask(store: Store, rank: int, patience: timedelta) -> int:
    question = uuid4().hex
    store.set(f"question/{rank}", question)
    store.wait([f"answer/{question}"], patience)
    number = int(store.get(f"answer/{question}"))
    store.set(f"here/{number}/{rank}", "")
    return number


def _answer(store: Store, size: int, patience: timedelta) -> int:
    """Answer every question, old ones too, until each process has read its answer."""
    number = store.add("rounds", 1)
    missing = list(range(1, size))
    deadline = time.monotonic() + patience.total_seconds()
    while missing:
        if time.monotonic() > deadline:
            raise InputError(
                f"processes {missing} of {size} did not come within {patience}: start all of them"
            )
        for rank in missing:
            if store.check([f"question/{rank}"]):
                question = store.get(f"question/{rank}").decode()
                store.set(f"answer/{question}", str(number))
        missing = [rank for rank in missing if not store.check([f"here/{number}/{rank}"])]
        time.sleep(0.02)
    return number
