"""An open-loop client for serving.py: a request leaves when it is due, come what may.

Latency counts from the moment a request was due, so that a server that falls behind cannot hide it.
"""

import asyncio
import base64
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import orjson

from elmokit.embed.embedder import Embedder

PROMISED = 1e-5
"""The largest difference of a component that elmokit allows between two ways of batching."""
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Workload:
    """Requests as they go over the wire, and the vectors that offline ``embed`` gives them."""

    requests: list[bytes]
    num_tokens: list[int]
    expected: list[list[npt.NDArray[np.float32]]]

    def __len__(self) -> int:
        return len(self.requests)


def make_workload(
    elmo: Embedder, sentences: Sequence[str], group_sizes: Sequence[int], seed: int = 0
) -> Workload:
    """Requests of some sentences each; sizes are drawn from ``group_sizes``."""
    draw = random.Random(seed)
    vectors = elmo.embed(sentences)
    requests, num_tokens, expected = [], [], []
    place = 0
    while place < len(sentences):
        end = min(place + draw.choice(group_sizes), len(sentences))
        requests.append(http_request({"input": sentences[place:end]}))
        expected.append(vectors[place:end])
        num_tokens.append(sum(map(len, expected[-1])))
        place = end
    return Workload(requests, num_tokens, expected)


def http_request(body: dict[str, object], path: str = "/v1/embed") -> bytes:
    """A POST whose answer is JSON with vectors in base64."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Accept: application/json; encoding=base64\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


@dataclass
class Outcome:
    """What became of the requests of one run."""

    latencies: list[float] = field(default_factory=list)
    answered_tokens: int = 0
    sent: int = 0
    refused: int = 0
    unanswered: int = 0
    wrong: int = 0
    other: int = 0
    largest_difference: float = 0.0
    seconds: float = 0.0

    def add(self, workload: Workload, number: int, status: int, body: bytes) -> None:
        """Count an answer, and compare its vectors."""
        if status == 200:
            self.answered_tokens += workload.num_tokens[number]
            difference = distance(workload.expected[number], body)
            self.largest_difference = max(self.largest_difference, difference)
            self.wrong += not difference <= PROMISED
        elif status == 429:
            self.refused += 1
        else:
            self.other += 1

    @property
    def tokens_per_second(self) -> float:
        return self.answered_tokens / max(self.seconds, 1e-9)

    def percentile(self, share: float) -> float:
        """Milliseconds."""
        return (
            1000 * float(np.percentile(self.latencies, share)) if self.latencies else float("nan")
        )


def distance(expected: list[npt.NDArray[np.float32]], body: bytes) -> float:
    """The largest difference of any component; infinite if a shape is another."""
    results = orjson.loads(body)["results"]
    if len(results) != len(expected):
        return float("inf")
    largest = 0.0
    for vectors, result in zip(expected, results, strict=True):
        array = result["vectors"]
        flat = np.frombuffer(base64.b64decode(array["base64"]), dtype=np.float32)
        if tuple(array["shape"]) != vectors.shape:
            return float("inf")
        if flat.size:
            largest = max(largest, float(np.abs(flat - vectors.reshape(-1)).max()))
    return largest


class Connection:
    """One keep-alive connection."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._address, limit=1 << 20)

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._writer is None:
            await self.open()
        assert self._reader is not None and self._writer is not None
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        if b"transfer-encoding: chunked" in head:
            body = await self._read_chunks()
        else:
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        if b"connection: close" in head:
            self.close()
        return status, body

    async def _read_chunks(self) -> bytes:
        assert self._reader is not None
        parts = []
        while True:
            size = int(await self._reader.readline(), 16)
            part = await self._reader.readexactly(size + 2)
            if size == 0:
                return b"".join(parts)
            parts.append(part[:-2])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class Client:
    """Connections to one server, as many as are needed at once."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host, self._port = host, port
        self._idle: list[Connection] = []

    async def open(self, number: int) -> None:
        """Connect many times at once."""
        connections = [Connection(self._host, self._port) for _ in range(number)]
        await asyncio.gather(*(connection.open() for connection in connections))
        self._idle += connections

    async def ask(self, workload: Workload, number: int, due: float, outcome: Outcome) -> None:
        """Send a request and take note of its answer."""
        outcome.sent += 1
        connection = self._idle.pop() if self._idle else Connection(self._host, self._port)
        try:
            answer = connection.ask(workload.requests[number])
            status, body = await asyncio.wait_for(answer, PATIENCE_SECONDS)
        except (TimeoutError, OSError, EOFError):
            outcome.unanswered += 1
            connection.close()
            return
        if status == 200:
            outcome.latencies.append(time.perf_counter() - due)
        outcome.add(workload, number, status, body)
        self._idle.append(connection)

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()


async def closed_loop(client: Client, workload: Workload, clients: int, seconds: float) -> Outcome:
    """Each of some clients sends its next request when the last was answered: the capacity."""
    outcome = Outcome()
    started = time.perf_counter()
    numbers = iter(range(10**9))

    async def one_client() -> None:
        while time.perf_counter() - started < seconds:
            number = next(numbers) % len(workload)
            await client.ask(workload, number, time.perf_counter(), outcome)

    await asyncio.gather(*(one_client() for _ in range(clients)))
    outcome.seconds = time.perf_counter() - started
    return outcome


async def open_loop(
    client: Client,
    workload: Workload,
    tokens_per_second: float,
    seconds: float,
    stop: asyncio.Event | None = None,
    seed: int = 0,
) -> Outcome:
    """Requests at random moments (Poisson) with this average rate, until time is up or ``stop``."""
    outcome = Outcome()
    draw = random.Random(seed)
    per_second = tokens_per_second / float(np.mean(workload.num_tokens))
    started = due = time.perf_counter()
    tasks: set[asyncio.Task[None]] = set()
    while due - started < seconds and not (stop and stop.is_set()):
        due += draw.expovariate(per_second)
        pause = due - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        if stop and stop.is_set():
            break
        task = asyncio.create_task(
            client.ask(workload, draw.randrange(len(workload)), due, outcome)
        )
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if outcome.sent % 16 == 0:
            await asyncio.sleep(0)
    if tasks:
        await asyncio.wait(tasks)
    outcome.seconds = time.perf_counter() - started
    return outcome


async def burst(client: Client, workload: Workload, number: int) -> Outcome:
    """``number`` connections, each with one request, all at the same moment."""
    outcome = Outcome()
    await client.open(number)
    started = time.perf_counter()
    await asyncio.gather(
        *(client.ask(workload, n % len(workload), started, outcome) for n in range(number))
    )
    outcome.seconds = time.perf_counter() - started
    return outcome
