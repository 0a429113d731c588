"""Ray Data: rate by number of workers, and memory as the corpus grows, beside plain ``embed``.

    python benchmarks/speed/ray_scaling.py TEXT [--tokens 15000] [--workers 1 2] [--growth 10]

TEXT's first tokens become Parquet files. A cluster of as many nodes as workers, one core each, runs
on this machine and reads the corpus once, and then ``--growth`` times. The rate is that of the
additional tokens, so that the start of Ray and of its workers does not count. Memory is the largest
resident size of one worker, for both.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray
import torch
from ray.cluster_utils import Cluster

import elmokit
from elmokit.analysis.words.texts import first_tokens, read_sentences
from elmokit.embed.files.command import EmbedOptions
from elmokit.integrations.ray import run_embed_on_ray

ROWS_PER_FILE = 512


def write_parquet(sentences: list[list[str]], folder: Path, times: int) -> Path:
    folder.mkdir()
    texts = [" ".join(sentence) for sentence in sentences]
    for copy in range(times):
        for start in range(0, len(texts), ROWS_PER_FILE):
            table = pa.table({"text": texts[start : start + ROWS_PER_FILE]})
            pq.write_table(table, folder / f"{copy:03}-{start:07}.parquet")
    return folder


class PeakMemory:
    """The largest resident size of any process that runs EmbedBatches, looked at ten times a
    second."""

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
        while not self._is_over.wait(0.1):
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if b"EmbedBatches" not in (folder / "cmdline").read_bytes():
                        continue
                    pages = int((folder / "statm").read_text().split()[1])
                except OSError:
                    continue
                self.megabytes = max(self.megabytes, pages * os.sysconf("SC_PAGE_SIZE") / 2**20)


def seconds_on_ray(texts: Path, out: Path, num_workers: int) -> float:
    options = EmbedOptions(pool="mean", pretokenized=True, quiet=True)
    started = time.perf_counter()
    run_embed_on_ray([str(texts)], out, options, max_workers=num_workers)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--tokens", type=int, default=15_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--growth", type=int, default=10)
    options = parser.parse_args()
    sentences = list(first_tokens(read_sentences([options.text]), options.tokens))
    count = sum(map(len, sentences))
    torch.set_num_threads(1)
    elmo = elmokit.load("en-small")
    elmo.pool(sentences[:100])
    started = time.perf_counter()
    elmo.pool(sentences)
    rate = count / (time.perf_counter() - started)
    print(f"{count:,} tokens; embed on one thread: {rate:,.0f} tokens/s", flush=True)
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112  Ray's spelling
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once = write_parquet(sentences, folder / "once", 1)
        often = write_parquet(sentences, folder / "often", options.growth)
        for num_workers in options.workers:
            size = {"num_cpus": 1, "object_store_memory": 200 * 2**20}
            head = {**size, "include_dashboard": False}
            nodes = Cluster(initialize_head=True, head_node_args=head)
            for _ in range(num_workers - 1):
                nodes.add_node(**size)
            ray.init(nodes.address, log_to_driver=False, logging_level="ERROR")
            with PeakMemory() as memory:
                first = seconds_on_ray(once, folder / f"once-{num_workers}", num_workers)
            with PeakMemory() as later_memory:
                taken = seconds_on_ray(often, folder / f"often-{num_workers}", num_workers)
            on_ray = (options.growth - 1) * count / (taken - first)
            print(
                f"{num_workers} workers: {on_ray:,.0f} tokens/s, {on_ray / rate:.2f} of embed; "
                f"{memory.megabytes:,.0f} MB per worker, {later_memory.megabytes:,.0f} MB for "
                f"{options.growth} times the corpus; {first:.1f} and {taken:.1f} s",
                flush=True,
            )
            ray.shutdown()
            nodes.shutdown()


if __name__ == "__main__":
    main()
