"""How much load does `elmokit serve` carry, and are its answers right under it?

    python benchmarks/speed/serving.py            # capacity, levels, burst, SIGTERM: 3 minutes
    python benchmarks/speed/serving.py --parts capacity peer
    python benchmarks/speed/serving.py --parts soak --soak-minutes 30

Everything runs on this machine, over 127.0.0.1: the client takes its share of the cores too. Every
answer holds the vectors of all tokens and is compared with those of offline ``embed``.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from inference import natural_sentences
from serving_load import Client, Outcome, Workload, burst, closed_loop, make_workload, open_loop

import elmokit

PARTS = ("capacity", "levels", "burst", "sigterm", "peer", "soak")
GROUPS = {"one sentence": (1,), "mixed": (1, 1, 1, 1, 4, 8, 32)}
"""Sentences of a request, drawn at random."""
TOKENS_IN_FLIGHT = 16_384
"""Of the clients that find out the capacity: two batches, and half of what the queue holds."""
HEADER = (
    "| load | sent | tokens/s | p50 ms | p95 ms | p99 ms | p99.9 ms | 429 | unanswered | wrong "
    "| largest difference | peak MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


class Server:
    """A server in a process of its own."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._await_ready()

    def _await_ready(self) -> None:
        for _ in range(600):
            if self.is_ready():
                return
            if self.process.poll() is not None:
                sys.exit("the server did not start")
            time.sleep(0.1)
        sys.exit("the server did not become ready")

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5):
                return True
        except OSError:
            return False

    def memory_mb(self, field: str = "VmRSS") -> float:
        """VmRSS now, or VmHWM at its highest."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
        return float("nan")

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(command: list[str], port: int) -> Iterator[Server]:
    server = Server(command, port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGINT)
            try:
                server.process.wait(20)
            except subprocess.TimeoutExpired:
                server.process.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ours(options: argparse.Namespace) -> tuple[list[str], int]:
    port = free_port()
    more = options.serve_options.split()
    command = [sys.executable, "-m", "elmokit", "serve", options.model, "--port", str(port), *more]
    return command, port


class Rate(NamedTuple):
    """Tokens per second of the clock, and per second of CPU time."""

    per_second: float
    per_cpu_second: float


def offline_rate(elmo: elmokit.Embedder, sentences: Sequence[str], turns: int = 3) -> Rate:
    """Of ``embed`` over all sentences at once, words known: the best turn."""
    rates = []
    for _ in range(turns):
        started, cpu_started = time.perf_counter(), time.process_time()
        count = sum(map(len, elmo.embed(sentences)))
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
        rates.append(Rate(count / seconds, count / cpu_seconds))
    return max(rates)


def row(load: str, outcome: Outcome, server: Server | None) -> str:
    ms = " | ".join(f"{outcome.percentile(share):,.0f}" for share in (50, 95, 99, 99.9))
    memory = f"{server.memory_mb('VmHWM'):,.0f}" if server else ""
    refused = outcome.refused / max(outcome.sent, 1)
    lost = outcome.unanswered + outcome.other
    return (
        f"| {load} | {outcome.sent:,} | {outcome.tokens_per_second:,.0f} | {ms} | {refused:.1%} | "
        f"{lost} | {outcome.wrong} | {outcome.largest_difference:.1e} | {memory} |"
    )


async def with_client(port: int, work: object) -> Outcome:
    client = Client(port)
    try:
        return await work(client)  # type: ignore[operator]
    finally:
        client.close()


def measure_capacity(port: int, workload: Workload, seconds: float) -> Outcome:
    clients = round(TOKENS_IN_FLIGHT * len(workload) / sum(workload.num_tokens))
    return asyncio.run(with_client(port, lambda c: closed_loop(c, workload, clients, seconds)))


def show_capacity(
    options: argparse.Namespace,
    workloads: dict[str, Workload],
    elmo: elmokit.Embedder,
    sentences: Sequence[str],
) -> dict[str, float]:
    """Offline and served, in turns on a quiet machine; the best turn of each.

    The client runs on the same cores. Tokens per second of the server's own CPU time say what the
    server costs beside the model, whoever the client is.
    """
    print(f"\n## Capacity (closed loop, {TOKENS_IN_FLIGHT:,} tokens under way)\n")
    offline = offline_rate(elmo, sentences)
    best: dict[str, tuple[Rate, tuple[float, float], str]] = {}
    lines = []
    command, port = ours(options)
    with running(command, port) as server:
        for name, workload in workloads.items():
            measure_capacity(port, workload, 2)  # so that words are known, as offline
            outcomes = []
            for _ in range(2):
                client_cpu, server_cpu = time.process_time(), server.cpu_seconds()
                outcome = measure_capacity(port, workload, options.seconds / 2)
                client_cpu = time.process_time() - client_cpu
                server_cpu = server.cpu_seconds() - server_cpu
                seconds = outcome.seconds
                rate = Rate(outcome.tokens_per_second, outcome.answered_tokens / server_cpu)
                cores = server_cpu / seconds, client_cpu / seconds
                outcomes.append((rate, cores, row(name, outcome, server)))
            best[name] = max(outcomes)
            lines.append(best[name][2])
    offline = max(offline, offline_rate(elmo, sentences))
    print(
        f"offline embed: {offline.per_second:,.0f} tokens/s, {offline.per_cpu_second:,.0f} per CPU "
        f"second\n\n{HEADER}"
    )
    print("\n".join(lines))
    for name, (rate, (server_cores, client_cores), _) in best.items():
        print(
            f"\n{name}: {rate.per_second / offline.per_second:.0%} of the offline rate; "
            f"{rate.per_cpu_second:,.0f} tokens per CPU second of the server, "
            f"{rate.per_cpu_second / offline.per_cpu_second:.0%} of offline; the server used "
            f"{server_cores:.2f} cores, the client {client_cores:.2f}"
        )
    return {name: rate.per_second for name, (rate, *_) in best.items()}


def show_levels(options: argparse.Namespace, workload: Workload, capacity: float) -> None:
    print(f"\n## Open loop, random arrivals, {options.seconds:g} s each\n\n{HEADER}")
    command, port = ours(options)
    with running(command, port) as server:
        measure_capacity(port, workload, 2)
        for level in options.levels:
            rate = capacity * level / 100
            outcome = asyncio.run(
                with_client(
                    port,
                    lambda c, rate=rate: open_loop(c, workload, rate, options.seconds),
                )
            )
            print(row(f"{level} %", outcome, server), flush=True)


def show_burst(options: argparse.Namespace, workload: Workload) -> None:
    print(f"\n## {options.connections:,} connections, one request each, at one moment\n\n{HEADER}")
    command, port = ours(options)
    with running(command, port) as server:
        outcome = asyncio.run(with_client(port, lambda c: burst(c, workload, options.connections)))
        print(row(f"{options.connections:,} at once", outcome, server))


def show_sigterm(options: argparse.Namespace, workload: Workload, capacity: float) -> None:
    print(f"\n## SIGTERM at 80 % load\n\n{HEADER}")
    command, port = ours(options)
    with running(command, port) as server:

        async def load(client: Client) -> Outcome:
            stop = asyncio.Event()

            async def terminate() -> None:
                await asyncio.sleep(3)
                server.process.send_signal(signal.SIGTERM)
                while await asyncio.to_thread(server.is_ready):
                    await asyncio.sleep(0.05)
                stop.set()  # as a load balancer does when readiness fails

            ending = asyncio.create_task(terminate())
            outcome = await open_loop(client, workload, 0.8 * capacity, 30, stop)
            await ending
            return outcome

        outcome = asyncio.run(with_client(port, load))
        print(row("until /ready fails", outcome, None))
        print(f"\nexit status {server.process.wait(30)}")


def show_peer(options: argparse.Namespace, workloads: dict[str, Workload]) -> None:
    print(f"\n## A plain FastAPI handler, the same requests\n\n{HEADER}")
    port = free_port()
    peers = Path(__file__).with_name("serving_peers.py")
    with running([sys.executable, str(peers), str(port), options.model], port) as server:
        for name, workload in workloads.items():
            measure_capacity(port, workload, 2)
            outcome = measure_capacity(port, workload, options.seconds / 2)
            print(row(f"plain, {name}", outcome, server), flush=True)


def show_soak(options: argparse.Namespace, workload: Workload, capacity: float) -> None:
    """Memory after every minute: flat, or not."""
    print(f"\n## Soak: {options.soak_minutes:g} minutes at 80 %\n\n{HEADER}")
    command, port = ours(options)
    with running(command, port) as server:
        memory = []
        for minute in range(1, max(int(options.soak_minutes), 1) + 1):
            outcome = asyncio.run(
                with_client(
                    port,
                    lambda c, seed=minute: open_loop(
                        c, workload, 0.8 * capacity, 60 * min(options.soak_minutes, 1), seed=seed
                    ),
                )
            )
            memory.append(server.memory_mb())
            print(row(f"minute {minute}", outcome, server), flush=True)
        settled = memory[len(memory) // 10 :]
        print(f"\nresident MB by minute: {', '.join(f'{mb:.0f}' for mb in memory)}")
        spread = (max(settled) - min(settled)) / min(settled)
        print(f"largest against smallest after the first tenth: +{spread:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="en-small")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS[:-1]))
    parser.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    parser.add_argument("--levels", type=int, nargs="+", default=[50, 80, 100, 150])
    parser.add_argument("--capacity", type=float, help="tokens/s, instead of measuring it")
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--soak-minutes", type=float, default=30.0)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--serve-options", default="", help="passed to elmokit serve")
    options = parser.parse_args()

    elmo = elmokit.load(options.model)
    sentences = [" ".join(tokens) for tokens in natural_sentences(options.sentences)]
    sentences = [text for text in sentences if len(elmo.tokens_of(text)) <= 200]
    workloads = {name: make_workload(elmo, sentences, sizes) for name, sizes in GROUPS.items()}
    capacity = options.capacity
    if "capacity" in options.parts or capacity is None:
        capacity = show_capacity(options, workloads, elmo, sentences)["mixed"]
    if "levels" in options.parts:
        show_levels(options, workloads["mixed"], capacity)
    if "burst" in options.parts:
        show_burst(options, workloads["one sentence"])
    if "sigterm" in options.parts:
        show_sigterm(options, workloads["mixed"], capacity)
    if "peer" in options.parts:
        show_peer(options, workloads)
    if "soak" in options.parts:
        show_soak(options, workloads["mixed"], capacity)


if __name__ == "__main__":
    main()
