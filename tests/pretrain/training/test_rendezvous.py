"""Processes find those of their own round in a store that remembers the rounds before."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch.distributed import HashStore, Store

from elmokit.errors import InputError
from elmokit.pretrain.training.rendezvous import Round, join_round

TIMEOUT = timedelta(seconds=20)


def join_all(store: Store, size: int) -> list[Round]:
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda rank: join_round(store, rank, size, TIMEOUT), range(size)))


def test_rounds_do_not_read_each_others_keys() -> None:
    store = HashStore()
    first = join_all(store, 3)
    first[0].store.set("address", "of a process now dead")
    second = join_all(store, 3)
    assert [[joined.number for joined in each] for each in (first, second)] == [
        [1, 1, 1],
        [2, 2, 2],
    ]
    assert not second[1].store.check(["address"])
    second[0].store.set("address", "new")
    assert second[1].store.get("address") == b"new"


def test_a_question_of_a_process_that_died_before_its_answer_harms_nobody() -> None:
    store = HashStore()
    with pytest.raises(RuntimeError):  # no main process: nobody answers
        join_round(store, 1, 2, timedelta(seconds=0.1))
    assert [joined.number for joined in join_all(store, 2)] == [1, 1]


def test_the_main_process_names_those_that_did_not_come() -> None:
    with pytest.raises(InputError, match=r"processes \[1\] of 2 did not join"):
        join_round(HashStore(), 0, 2, timedelta(seconds=0.1))
