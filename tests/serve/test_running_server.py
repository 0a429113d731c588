"""A server in a process of its own: OpenAI's client, signals, clients that hang up."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import openai
import pytest

import elmokit

PATIENCE_SECONDS = 60


class Running:
    """``elmokit serve`` on a free port, with the key ``k3y``."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "elmokit", "serve", *arguments, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "ELMOKIT_API_KEY": "k3y", "OMP_NUM_THREADS": "1"},
        )
        assert self.process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        assert found, "the server did not start"
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.headers = {"authorization": "Bearer k3y"}
        self.wait_until(lambda: self.is_up("/ready"))

    def is_up(self, path: str) -> bool:
        try:
            return httpx.get(f"{self.url}{path}").status_code == 200
        except httpx.TransportError:
            return False

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    def metric(self, name: str) -> float:
        lines = httpx.get(f"{self.url}/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


@pytest.fixture(scope="module")
def server(model: Path) -> Iterator[Running]:
    running = Running(str(model))
    yield running
    running.process.kill()
    running.process.wait()


def test_the_openai_package_works_unchanged(server: Running, model: Path) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k3y", max_retries=0)
    texts = ["I like apples.", "So do I."]
    expected = elmokit.load(model).pool(texts)
    assert [found.id for found in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    batch = client.embeddings.create(model="tiny", input=texts)  # asks for base64
    vectors = [item.embedding for item in batch.data]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert batch.usage.prompt_tokens == 8
    single = client.embeddings.create(model="tiny", input=texts[1], encoding_format="float")
    np.testing.assert_allclose(single.data[0].embedding, expected[1], atol=1e-5)
    with pytest.raises(openai.NotFoundError, match="there is no model of this name"):
        client.embeddings.create(model="text-embedding-3-small", input="a")
    with pytest.raises(openai.UnprocessableEntityError, match="8 dimensions, not 3"):
        client.embeddings.create(model="tiny", input="a", dimensions=3)
    stranger = openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_a_client_that_hangs_up_does_not_disturb_the_others(server: Running) -> None:
    body = json.dumps({"input": ["a b c d e f g h"] * 1500}).encode()
    head = (
        "POST /v1/embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer k3y\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for part in (body, body[:100]):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head.encode() + part)
    answer = httpx.post(f"{server.url}/v1/embed", json={"input": "a"}, headers=server.headers)
    assert answer.status_code == 200
    server.wait_until(lambda: server.metric("elmokit_queued_tokens") == 0)
    assert server.metric('elmokit_requests_total{route="/v1/embed",status="500"}') == 0


def test_a_hundred_megabytes_are_refused(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(
            b"POST /v1/embed HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer k3y\r\n"
            b"Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n" + b" " * 1000
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_on_sigterm_readiness_fails_first_and_every_request_is_answered(model: Path) -> None:
    server = Running(str(model), "--drain-seconds", "1")
    stop = threading.Event()
    statuses: list[int | str] = []

    def ask() -> None:
        with httpx.Client(headers=server.headers, timeout=PATIENCE_SECONDS) as client:
            while not stop.is_set():
                try:
                    answer = client.post(f"{server.url}/v1/embed", json={"input": ["a b c"] * 50})
                    statuses.append(answer.status_code)
                except httpx.TransportError as error:
                    statuses.append(repr(error))

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    server.wait_until(lambda: len(statuses) > 10)
    server.process.send_signal(signal.SIGTERM)
    server.wait_until(lambda: httpx.get(f"{server.url}/ready").status_code == 503)
    assert httpx.get(f"{server.url}/live").status_code == 200
    stop.set()
    for client in clients:
        client.join()
    assert set(statuses) == {200}
    assert server.process.wait(PATIENCE_SECONDS) == 0


def test_a_port_in_use_is_said_in_one_sentence(server: Running, model: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "elmokit", "serve", str(model), "--port", str(server.port)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"elmokit: 127.0.0.1:{server.port}: Address already in use; choose another --host or --port"
    ]
