"""The server as a Ray Serve deployment: two replicas on a real Ray, one of them killed."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ray.serve", reason="needs elmokit[ray] (139 MB), which CI does not install")

import httpx
import ray
from process_titles import processes_titled
from ray import serve

import elmokit
from elmokit.serve.on_ray import ray_application

SENTENCES = [f"The cat number {number} sat .".split() for number in range(40)]


@pytest.fixture(scope="module")
def address(model: Path) -> Iterator[str]:
    """Of a server with two replicas of one core each."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(elmokit.__file__).parents[1]))
        patch.setenv("RAY_worker_niceness", "0")
        ray.init(
            num_cpus=3,
            object_store_memory=100 * 2**20,
            include_dashboard=False,
            log_to_driver=False,
        )
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        serve.run(ray_application([str(model)], num_replicas=2), name="elmokit")
        yield f"http://127.0.0.1:{port}"
        serve.shutdown()
        ray.shutdown()


def replica_processes() -> set[int]:
    return processes_titled("ServeReplica:elmokit")


def wait_for_replicas(number: int) -> None:
    deadline = time.monotonic() + 120
    while len(replica_processes()) != number:
        assert time.monotonic() < deadline, f"there are not {number} replicas"
        time.sleep(0.2)


def test_one_of_two_replicas_killed_under_load(address: str, model: Path) -> None:
    """Every answer is that of ``embed``; what the dead replica held fails at once and is retried,
    as the clients of OpenAI do with any 5xx; then there are two replicas again."""
    expected = elmokit.load(model).pool(SENTENCES)
    wait_for_replicas(2)
    victim = min(replica_processes())
    stop_at = len(SENTENCES) * 3
    refused: list[int] = []
    wrong: list[int] = []
    answered: list[int] = []

    def ask(worker: int) -> None:
        with httpx.Client(base_url=address, timeout=60) as client:
            for turn in range(worker, stop_at, 4):
                number = turn % len(SENTENCES)
                request = {"input": [SENTENCES[number]], "pooling": "mean"}
                for _ in range(100):
                    response = client.post("/v1/embed", json=request)
                    if response.status_code == 200:
                        break
                    refused.append(response.status_code)
                    time.sleep(0.05)
                vectors = np.asarray(response.json()["results"][0]["vectors"])
                (answered if np.allclose(vectors, expected[number], atol=1e-5) else wrong).append(
                    turn
                )
                if turn == stop_at // 3:
                    os.kill(victim, 9)

    threads = [threading.Thread(target=ask, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert victim not in replica_processes()
    assert not wrong
    assert sorted(answered) == list(range(stop_at))
    assert all(status >= 500 for status in refused)
    wait_for_replicas(2)


def test_the_other_endpoints_are_there(address: str) -> None:
    assert httpx.get(f"{address}/ready").status_code == 200
    assert [each["object"] for each in httpx.get(f"{address}/v1/models").json()["data"]] == [
        "model"
    ]
    assert httpx.post(f"{address}/v1/embed", json={"input": 3}).status_code == 422
