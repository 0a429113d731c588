"""One thread runs the models; requests wait for it in a queue that is bounded in tokens.

A batch is filled with sentences, not with requests: small requests share one, and a large request
is spread over several, in turns with the others. Whatever was batched together, each sentence's
vectors are those of ``Embedder.layers``, which depend on that sentence alone.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from elmokit.embed.embedder import Embedder
from elmokit.embed.sentences import Vectors
from elmokit.serve.limits import Limits

Result = TypeVar("Result")
FixedStart = Literal["fresh", "settled"]
Finish = Callable[[Vectors], Vectors]
"""Turns a sentence's layers (L + 1, T, D) into the requested vectors, in the model thread."""

LARGEST_SHARE = 0.25
"""The maximum share of a batch for one request while others wait."""
LONGEST_RETRY_SECONDS = 60


class OverloadedError(Exception):
    """The queue is full, or the request has waited in it for too long."""

    def __init__(self, message: str, retry_seconds: int) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class Observer(Protocol):
    """Is notified of what the model thread does."""

    def batch_done(self, num_sentences: int, num_tokens: int, seconds: float) -> None:
        """A batch has run."""

    def job_taken(self, waited_seconds: float) -> None:
        """A request has left the queue."""

    def job_dropped(self, reason: str) -> None:
        """A request left the queue without having been run: refused, stale or abandoned."""


class Job:
    """What one request wants from the model: sentences, or a call that runs alone."""

    def __init__(self, num_tokens: int) -> None:
        self.future: Future[Any] = Future()
        self.num_queued = num_tokens
        self.arrived = time.monotonic()
        self.is_started = False


class EmbedJob(Job):
    """Sentences that may share a batch with those of other requests."""

    def __init__(
        self,
        embedder: Embedder,
        sentences: Sequence[list[str]],
        finish: Finish,
        start: FixedStart,
    ) -> None:
        super().__init__(sum(map(cost_of, sentences)))
        self.embedder = embedder
        self.start: FixedStart = start
        self.finish = finish
        self.waiting = deque(sentences)
        self.num_sentences = len(sentences)
        self.results: list[Vectors] = []

    @property
    def key(self) -> tuple[int, str]:
        """Jobs with the same key can share a batch."""
        return id(self.embedder), self.start

    def take(self, room: int, at_least_one: bool) -> list[list[str]]:
        """The next sentences that fit."""
        taken: list[list[str]] = []
        while self.waiting and (cost_of(self.waiting[0]) <= room or (at_least_one and not taken)):
            room -= cost_of(self.waiting[0])
            taken.append(self.waiting.popleft())
        return taken


class CallJob(Job):
    """A function that runs in the model thread, between two batches."""

    def __init__(self, function: Callable[[], Any], num_tokens: int) -> None:
        super().__init__(num_tokens)
        self.function = function


class Piece(NamedTuple):
    """What a batch holds of one request."""

    job: EmbedJob
    sentences: list[list[str]]


def cost_of(sentence: Sequence[str]) -> int:
    """The number of tokens, but at least one, because empty lines cost time too."""
    return max(len(sentence), 1)


class RequestBatcher:
    """The queue and the thread behind it.

    The futures it returns can be cancelled at any time before they are done: what a client has
    abandoned is never computed.
    """

    def __init__(self, limits: Limits, observer: Observer) -> None:
        self.limits = limits
        self._observer = observer
        self._jobs: deque[Job] = deque()
        self._queued_tokens = 0
        self._changed = threading.Condition(threading.RLock())
        self._is_closing = False
        self._tokens_per_second = 5000.0  # a guess, until batches have been measured
        self._thread = threading.Thread(target=self._loop, name="elmokit-model", daemon=True)

    @property
    def queued_tokens(self) -> int:
        """Tokens that wait for the model."""
        return self._queued_tokens

    def start(self) -> None:
        """Start the model thread."""
        self._thread.start()

    def close(self) -> None:
        """Answer what is queued, then stop the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def embed(
        self,
        embedder: Embedder,
        sentences: Sequence[list[str]],
        finish: Finish,
        start: FixedStart = "fresh",
    ) -> "Future[list[Vectors]]":
        """What ``finish`` makes of each sentence's layers, in order.

        Raises OverloadedError at once if there is no room in the queue.
        """
        job = EmbedJob(embedder, sentences, finish, start)
        if not sentences:
            job.future.set_result([])
        else:
            self._add(job)
        return job.future

    def call(self, function: Callable[[], Result], num_tokens: int) -> "Future[Result]":
        """Run a function in the model thread; ``num_tokens`` is what it costs."""
        job = CallJob(function, max(num_tokens, 1))
        self._add(job)
        return job.future

    def _add(self, job: Job) -> None:
        with self._changed:
            total = self._queued_tokens + job.num_queued
            if self._queued_tokens and total > self.limits.queue_tokens:
                self._observer.job_dropped("refused")
                raise OverloadedError(
                    f"the server is overloaded: {self._queued_tokens} tokens are waiting",
                    self._retry_seconds(),
                )
            self._queued_tokens = total
            self._jobs.append(job)
            self._changed.notify()
        job.future.add_done_callback(lambda future: self._forget_if_cancelled(job))

    def _forget_if_cancelled(self, job: Job) -> None:
        if job.future.cancelled():
            with self._changed:
                self._leave_queue(job)
            self._observer.job_dropped("abandoned")

    def _retry_seconds(self) -> int:
        seconds = math.ceil(self._queued_tokens / self._tokens_per_second)
        return min(max(seconds, 1), LONGEST_RETRY_SECONDS)

    def _loop(self) -> None:
        while True:
            batch = self._next_batch()
            if batch is None:
                return
            if isinstance(batch, CallJob):
                self._run_call(batch)
            else:
                self._run_batch(batch)

    def _next_batch(self) -> "list[Piece] | CallJob | None":
        """Wait for work; None if there will be no more."""
        with self._changed:
            while True:
                self._drop_stale()
                if not self._jobs:
                    if self._is_closing:
                        return None
                    self._changed.wait()
                    continue
                patience = self._jobs[0].arrived + self.limits.wait_ms / 1000 - time.monotonic()
                has_enough = self._queued_tokens >= self.limits.batch_tokens or self._is_closing
                if patience > 0 and not has_enough:
                    self._changed.wait(patience)
                    continue
                return self._take_batch()

    def _drop_stale(self) -> None:
        """Drop jobs that have waited too long; jobs that have not started are in order of age."""
        oldest = time.monotonic() - self.limits.queue_seconds
        for job in [job for job in self._jobs if not job.is_started]:
            if job.arrived >= oldest:
                break
            self._observer.job_dropped("stale")
            message = (
                "the server is overloaded: the request waited for more than "
                f"{self.limits.queue_seconds:g} seconds"
            )
            self._give_up(job, OverloadedError(message, self._retry_seconds()))

    def _give_up(self, job: Job, error: Exception) -> None:
        """Remove the rest of a job from the queue."""
        with self._changed:
            self._leave_queue(job)
        if not job.future.done() and job.future.set_running_or_notify_cancel():
            job.future.set_exception(error)

    def _leave_queue(self, job: Job) -> None:
        self._queued_tokens -= job.num_queued
        job.num_queued = 0
        if job in self._jobs:
            self._jobs.remove(job)

    def _take_batch(self) -> "list[Piece] | CallJob":
        first = self._jobs[0]
        if isinstance(first, CallJob):
            self._jobs.popleft()
            self._mark_taken(first, first.num_queued)
            return first
        assert isinstance(first, EmbedJob)
        mates = [job for job in self._jobs if isinstance(job, EmbedJob) and job.key == first.key]
        batch: dict[EmbedJob, list[list[str]]] = {}
        room = self.limits.batch_tokens
        for share in (int(LARGEST_SHARE * room), room):  # first a part for everybody, then the rest
            for job in mates:
                if room <= 0:
                    break
                taken = job.take(min(share, room), at_least_one=not batch)
                if taken:
                    batch.setdefault(job, []).extend(taken)
                    num_tokens = sum(map(cost_of, taken))
                    room -= num_tokens
                    self._mark_taken(job, num_tokens)
        unfinished = [job for job in batch if job.waiting]
        self._jobs = deque(job for job in self._jobs if job not in batch)
        self._jobs.extend(unfinished)  # behind the others: they have had their turn
        return [Piece(job, sentences) for job, sentences in batch.items()]

    def _mark_taken(self, job: Job, num_tokens: int) -> None:
        self._queued_tokens -= num_tokens
        job.num_queued -= num_tokens
        if not job.is_started:
            job.is_started = True
            self._observer.job_taken(time.monotonic() - job.arrived)

    def _run_batch(self, batch: list[Piece]) -> None:
        started = time.monotonic()
        try:
            self._compute(batch)
        except Exception as error:
            if len(batch) == 1:
                self._give_up(batch[0].job, error)
            else:  # run them one by one, so that only the faulty request fails
                for piece in batch:
                    self._run_batch([piece])
            return
        num_tokens = sum(cost_of(sentence) for piece in batch for sentence in piece.sentences)
        seconds = time.monotonic() - started
        rate = num_tokens / max(seconds, 1e-6)
        self._tokens_per_second += 0.1 * (rate - self._tokens_per_second)
        self._observer.batch_done(sum(len(p.sentences) for p in batch), num_tokens, seconds)

    def _compute(self, batch: list[Piece]) -> None:
        sentences = [sentence for piece in batch for sentence in piece.sentences]
        job = batch[0].job
        layers = iter(
            job.embedder.layers(sentences, start=job.start, batch_tokens=self.limits.batch_tokens)
        )
        made = [[piece.job.finish(next(layers)) for _ in piece.sentences] for piece in batch]
        for piece, vectors in zip(batch, made, strict=True):
            piece.job.results += vectors
            if len(piece.job.results) == piece.job.num_sentences:
                _succeed(piece.job, piece.job.results)

    def _run_call(self, job: CallJob) -> None:
        try:
            result = job.function()
        except Exception as error:
            self._give_up(job, error)
        else:
            _succeed(job, result)


def _succeed(job: Job, result: Any) -> None:
    if job.future.set_running_or_notify_cancel():
        job.future.set_result(result)
