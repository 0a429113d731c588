"""One thread, batches of tokens, a bounded queue; nothing is computed that nobody waits for."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from elmokit.embed.embedder import Embedder
from elmokit.serve.batcher import OverloadedError, RequestBatcher
from elmokit.serve.limits import Limits

Sentences = list[list[str]]
KEEP: Callable[[Any], Any] = lambda layers: layers  # noqa: E731


class Notes:
    """What a batcher tells its observer."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int]] = []
        self.dropped: list[str] = []

    def batch_done(self, num_sentences: int, num_tokens: int, seconds: float) -> None:
        self.batches.append((num_sentences, num_tokens))

    def job_taken(self, waited_seconds: float) -> None:
        pass

    def job_dropped(self, reason: str) -> None:
        self.dropped.append(reason)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def held(notes: Notes) -> Iterator[Callable[..., RequestBatcher]]:
    """Makes batchers whose queue can be filled before their thread starts."""
    made: list[RequestBatcher] = []

    def make(**limits: float) -> RequestBatcher:
        given = {"request_tokens": 10, "queue_tokens": 30, "batch_tokens": 12, "wait_ms": 0}
        made.append(RequestBatcher(Limits(**{**given, **limits}), notes))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for batcher in made:
        batcher.close()


def words(count: int) -> list[str]:
    return [f"w{number}" for number in range(count)]


def test_small_requests_share_a_batch(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    futures = [batcher.embed(elmo, [words(3)], KEEP) for _ in range(4)]
    batcher.start()
    for future in futures:
        np.testing.assert_allclose(future.result()[0], elmo.layers([words(3)])[0], atol=1e-5)
    batcher.close()
    assert notes.batches == [(4, 12)]


def test_a_large_request_leaves_room_for_others(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    done: list[str] = []
    large = batcher.embed(elmo, [words(3)] * 8, KEEP)  # two batches
    small = batcher.embed(elmo, [words(3)], KEEP)
    large.add_done_callback(lambda _: done.append("large"))
    small.add_done_callback(lambda _: done.append("small"))
    batcher.start()
    assert len(large.result()) == 8
    small.result()
    batcher.close()
    assert done == ["small", "large"]
    assert sum(tokens for _, tokens in notes.batches) == 27


def test_a_sentence_longer_than_a_batch_runs_alone(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    futures = [batcher.embed(elmo, [words(length)], KEEP) for length in (2, 20, 2)]
    batcher.start()
    assert [future.result()[0].shape[1] for future in futures] == [2, 20, 2]


def test_models_and_starts_do_not_share_a_batch(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    fresh = batcher.embed(elmo, [words(2)], KEEP, "fresh")
    settled = batcher.embed(elmo, [words(2)], KEEP, "settled")
    batcher.start()
    assert not np.allclose(fresh.result()[0], settled.result()[0])
    np.testing.assert_allclose(
        settled.result()[0], elmo.layers([words(2)], start="settled")[0], atol=1e-5
    )


def test_a_full_queue_refuses_and_says_when_to_come_back(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    batcher.embed(elmo, [words(10)] * 3, KEEP)
    with pytest.raises(OverloadedError, match="30 tokens are waiting") as caught:
        batcher.embed(elmo, [words(1)], KEEP)
    assert caught.value.retry_seconds >= 1
    assert notes.dropped == ["refused"]
    batcher.start()


def test_an_abandoned_request_leaves_the_queue_uncomputed(
    held: Callable[..., RequestBatcher], notes: Notes, elmo: Embedder
) -> None:
    batcher = held()
    kept = batcher.embed(elmo, [words(4)], KEEP)
    gone = batcher.embed(elmo, [words(20)], KEEP)
    gone.cancel()
    assert batcher.queued_tokens == 4
    batcher.start()
    kept.result()
    batcher.close()
    assert notes.batches == [(1, 4)]
    assert notes.dropped == ["abandoned"]


def test_a_request_that_waited_too_long_is_dropped(
    held: Callable[..., RequestBatcher],
    notes: Notes,
    elmo: Embedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batcher = held(queue_seconds=5)
    old = batcher.embed(elmo, [words(4)], KEEP)
    now = __import__("time").monotonic()
    monkeypatch.setattr("elmokit.serve.batcher.time.monotonic", lambda: now + 60)
    new = batcher.embed(elmo, [words(3)], KEEP)
    batcher.start()
    with pytest.raises(OverloadedError, match="more than 5 seconds"):
        old.result()
    new.result()
    batcher.close()
    assert notes.batches == [(1, 3)]
    assert notes.dropped == ["stale"]
    assert batcher.queued_tokens == 0


def test_one_request_that_fails_does_not_fail_its_mates(
    held: Callable[..., RequestBatcher], elmo: Embedder
) -> None:
    batcher = held()

    def fail(layers: Any) -> Any:
        raise ZeroDivisionError

    bad = batcher.embed(elmo, [words(4)] * 5, fail)
    good = batcher.embed(elmo, [words(2)], KEEP)
    batcher.start()
    assert good.result()[0].shape[1] == 2
    with pytest.raises(ZeroDivisionError):
        bad.result()
    batcher.close()
    assert batcher.queued_tokens == 0


def test_calls_run_in_the_model_thread(held: Callable[..., RequestBatcher]) -> None:
    batcher = held()
    batcher.start()
    name = batcher.call(lambda: threading.current_thread().name, num_tokens=1)
    assert name.result() == "elmokit-model"


def test_closing_answers_what_is_queued(
    held: Callable[..., RequestBatcher], elmo: Embedder
) -> None:
    batcher = held()
    futures = [batcher.embed(elmo, [words(2)], KEEP) for _ in range(9)]
    batcher.start()
    batcher.close()
    assert all(future.done() for future in futures)


def test_empty_sentences_cost_something(
    held: Callable[..., RequestBatcher], elmo: Embedder
) -> None:
    batcher = held()
    future = batcher.embed(elmo, [[]] * 5, KEEP)
    assert batcher.queued_tokens == 5
    batcher.start()
    assert [array.shape[1] for array in future.result()] == [0] * 5
    assert batcher.embed(elmo, [], KEEP).result() == []
