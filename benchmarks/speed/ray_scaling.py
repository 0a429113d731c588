"""Ray Data: rate by number of workers, and memory as the corpus grows, beside plain ``embed``.

    python benchmarks/speed/ray_scaling.py TEXT [--sentences 512] [--growth 10] [--workers 1 2]

One run makes every figure about Ray in docs/guide/integrations.md and docs/guide/scaling.md; with
the defaults it takes about four minutes on two cores. TEXT's first sentences become two corpora of
Parquet files: a small one, and one that is ``--growth`` times as large and begins with it. Every
row of the result computes the sentences that only the large corpus has:

- ``embed`` (its ``pool``) in one process, with one thread and with two;
- as many processes of ``embed`` as workers, one thread each and a share of the text each: what
  the machine's cores allow without Ray;
- a cluster of as many nodes as workers, one core and one thread each. It reads the small corpus,
  then the large one, and the rate is that of the additional tokens: starting the workers does not
  count. Before that it reads the small corpus once without being timed, since the first job of a
  cluster takes seconds longer; subtracting those would make Ray look faster than it is. Memory is
  the largest resident size of one worker, for each corpus.
"""

import argparse
import multiprocessing
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import torch
from ray.cluster_utils import Cluster

import elmokit
from elmokit.analysis.words.texts import read_sentences
from elmokit.embed.files.command import EmbedOptions
from elmokit.integrations.ray import run_embed_on_ray

ROWS_PER_FILE = 512
CORES_PER_MACHINE = 16
"""Of the machines for which the time of a billion tokens is worked out."""

Sentences = list[list[str]]


def write_parquet(sentences: Sentences, folder: Path) -> Path:
    folder.mkdir()
    texts = [" ".join(sentence) for sentence in sentences]
    for start in range(0, len(texts), ROWS_PER_FILE):
        table = pa.table({"text": texts[start : start + ROWS_PER_FILE]})
        pq.write_table(table, folder / f"{start:07}.parquet")
    return folder


def seconds_of_embed(small: Sentences, rest: Sentences, num_threads: int) -> float:
    """The time for ``rest`` of a process that has computed ``small``, as a worker has."""
    torch.set_num_threads(num_threads)
    elmo = elmokit.load("en-small")
    elmo.pool(small)
    started = time.perf_counter()
    elmo.pool(rest)
    return time.perf_counter() - started


def seconds_of_processes(small: Sentences, rest: Sentences, number: int) -> float:
    """The time of the slowest of several processes that share the text."""
    context = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    with context.Pool(number) as pool:
        shares = [(small, rest[part::number], 1) for part in range(number)]
        return max(pool.starmap(seconds_of_embed, shares, chunksize=1))


class PeakMemory:
    """The largest resident size of any process that runs EmbedBatches, every quarter second."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.25):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if b"EmbedBatches" not in (folder / "cmdline").read_bytes():
                        continue
                    pages = int((folder / "statm").read_text().split()[1])
                except OSError:
                    continue
                self.megabytes = max(self.megabytes, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


class OnRay(NamedTuple):
    """Seconds and megabytes per worker, for the small and for the large corpus."""

    seconds: tuple[float, float]
    megabytes: tuple[float, float]


@contextmanager
def cluster(num_nodes: int) -> Iterator[None]:
    """Nodes with one core each, as processes of this machine."""
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  Ray's spelling
    size = {"num_cpus": 1, "object_store_memory": 200 * 2**20}
    head = {**size, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(num_nodes - 1):
        nodes.add_node(**size)
    ray.init(nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield
    finally:
        ray.shutdown()
        nodes.shutdown()


def measure_ray(corpora: tuple[Path, Path], out: Path, num_workers: int) -> OnRay:
    seconds, megabytes = [], []
    small, large = corpora
    options = EmbedOptions(pool="mean", pretokenized=True, quiet=True)
    with cluster(num_workers):
        for number, corpus in enumerate((small, small, large)):
            with PeakMemory() as memory:
                started = time.perf_counter()
                folder = out / f"out-{num_workers}-{number}"
                run_embed_on_ray([str(corpus)], folder, options, max_workers=num_workers)
                seconds.append(time.perf_counter() - started)
            megabytes.append(memory.megabytes)
    return OnRay((seconds[1], seconds[2]), (megabytes[1], megabytes[2]))


def billion(per_core: float) -> str:
    """The table of docs/guide/scaling.md."""
    hours = 1e9 / per_core / 3600
    on = [60 * hours / (machines * CORES_PER_MACHINE) for machines in (10, 100)]
    return (
        f"10^9 tokens at {per_core:,.0f} tokens/s and core: {hours:,.0f} hours on one core, "
        f"{on[0]:,.1f} minutes on 10 machines of {CORES_PER_MACHINE} cores, {on[1]:,.1f} on 100"
    )


class Corpora(NamedTuple):
    """The text: a small corpus, and the rest of the large one, which rates are measured on."""

    small: Sentences
    rest: Sentences

    @property
    def num_tokens(self) -> int:
        """Of the rest."""
        return sum(map(len, self.rest))


def print_embed(text: Corpora) -> float:
    """The rows of one process; returns the rate with one thread."""
    rates = {}
    for threads in (1, 2):
        rates[threads] = text.num_tokens / seconds_of_embed(text.small, text.rest, threads)
        print(f"| `embed`, threads: {threads} | {rates[threads]:,.0f} | | |", flush=True)
    return rates[1]


def print_ray(text: Corpora, workers: list[int], rate_of_one: float) -> dict[int, float]:
    """The rows of Ray, and of as many processes without it; returns Ray's rates."""
    rates, notes = {}, []
    with tempfile.TemporaryDirectory() as name:
        small = write_parquet(text.small, Path(name, "small"))
        large = write_parquet([*text.small, *text.rest], Path(name, "large"))
        for number in workers:
            apart = rate_of_one
            if number > 1:
                apart = text.num_tokens / seconds_of_processes(text.small, text.rest, number)
                print(f"| `embed`, processes: {number} | {apart:,.0f} | | |", flush=True)
            (first, second), (before, after) = measure_ray((small, large), Path(name), number)
            rates[number] = text.num_tokens / (second - first)
            row = f"{rates[number]:,.0f} | {before:,.0f} MB | {after:,.0f} MB"
            print(f"| Ray, workers: {number} | {row} |", flush=True)
            notes.append(
                f"Ray, workers: {number}: {rates[number] / apart:.2f} of the rate of as many "
                f"processes of embed; {first:.1f} s for the small corpus, {second:.1f} s for both"
            )
    print("", *notes, sep="\n")
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--sentences", type=int, default=512, help="in the small corpus")
    parser.add_argument("--growth", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    wanted = options.sentences * options.growth
    large = list(islice(read_sentences([options.text]), wanted))
    if len(large) < wanted:
        parser.error(f"{options.text}: has {len(large)} sentences, {wanted} are needed")
    text = Corpora(large[: options.sentences], large[options.sentences :])
    print(
        f"torch {torch.__version__}, Ray {ray.__version__}, {os.cpu_count()} cores; "
        f"{wanted:,} sentences, {sum(map(len, large)):,} tokens; the first {options.sentences:,} "
        f"sentences are the small corpus, and rates are of the other {text.num_tokens:,} tokens\n\n"
        f"| | tokens/s | memory per worker | for {options.growth} times the text |\n"
        "|---|---|---|---|",
        flush=True,
    )
    rates = print_ray(text, options.workers, print_embed(text))
    first, last = options.workers[0], options.workers[-1]
    print(f"Ray: workers {last} have {rates[last] / rates[first]:.2f} times the rate of {first}")
    print(billion(rates[last] / last))


if __name__ == "__main__":
    main()
