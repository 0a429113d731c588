"""Kill a training run with SIGKILL at random moments, resume it each time, compare the weights.

    python reliability/kill_workers.py TEXT... [--kills 20] [--processes 2]

TEXT is prepared into a temporary corpus. Of every four kills one waits for a checkpoint to be made
and one for a checkpoint to be half written. With several processes one of them is killed, each in
its turn, and torchrun has to start them all again. Prints how many kills there were and whether
the final weights are bit-identical to those of a run that was never stopped; exit status 1 if they
are not.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint

T = TypeVar("T")
SETTINGS = [
    "lstm.dim=48", "lstm.projection_dim=24", "char_cnn.filters=[[1,16],[2,16],[3,16]]",
    "train.batch_size=16", "train.num_negatives=256", "train.dropout=0.1",
    "train.checkpoint_every=3", "train.evaluate_every=40", "train.evaluate_tokens=2000",
]  # fmt: skip


PATIENCE = 300.0  # seconds for a worker to appear, or for a checkpoint


class Job:
    """A training run as its user starts it, alone or under torchrun."""

    def __init__(self, data: Path, run: Path, options: argparse.Namespace) -> None:
        self.checkpoints = run / "checkpoints"
        self.is_many = options.processes > 1
        command = [sys.executable, "-m"]
        if self.is_many:
            command += [
                "torch.distributed.run", "--standalone", f"--nproc-per-node={options.processes}",
                f"--max-restarts={options.kills}", "-m",
            ]  # fmt: skip
        command += ["elmokit", "train"]
        if (run / "run.json").is_file():
            command += ["--resume", str(run)]
        else:
            command += ["tiny", "--data", str(data), "--out", str(run)]
            for setting in [*SETTINGS, f"train.max_tokens={options.tokens}"]:
                command += ["--set", setting]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def worker(self, rank: int, restarts: int) -> int:
        """The process id of the worker of this rank, after so many restarts."""
        if not self.is_many:
            return self.process.pid
        wanted = {f"RANK={rank}", f"TORCHELASTIC_RESTART_COUNT={restarts}"}
        return wait_for(lambda: self._child_with(wanted), self.process)

    def _child_with(self, wanted: set[str]) -> int | None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == self.process.pid:
                    environment = (folder / "environ").read_bytes().decode().split("\0")
                    if wanted.issubset(environment):
                        return int(folder.name)
            except OSError:  # it has just ended
                continue
        return None

    def wait_for_checkpoint(self, half_written: bool) -> None:
        if half_written:
            wait_for(lambda: any(self.checkpoints.glob(".*.part")) or None, self.process)
        else:
            before = set(self.checkpoints.glob("*.pt"))
            wait_for(lambda: set(self.checkpoints.glob("*.pt")) - before or None, self.process)


def wait_for(ask: Callable[[], T | None], process: "subprocess.Popen[bytes]") -> T:
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()) is None:
        if process.poll() is not None:
            sys.exit(f"the run ended before its last kill, with status {process.returncode}")
        if time.monotonic() > deadline:
            process.terminate()
            sys.exit(f"the run did not resume within {PATIENCE:.0f} s of a kill")
        time.sleep(0.0005)
    return answer


def kill_again_and_again(data: Path, run: Path, options: argparse.Namespace) -> Job:
    """The job after its last kill."""
    job = Job(data, run, options)
    for kill in range(options.kills):
        worker = job.worker((kill + kill // 4) % options.processes, restarts=kill)
        if kill % 2:
            job.wait_for_checkpoint(half_written=kill % 4 == 3)
        else:
            time.sleep(random.uniform(1.5, 7.0))
        os.kill(worker, signal.SIGKILL)
        if not job.is_many:
            job.process.wait()
            job = Job(data, run, options)
    return job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=120_000)
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = PrepareConfig(vocabulary_size=2000, heldout=0.1)
        prepare(options.texts, folder / "data", config)
        whole, killed = folder / "whole", folder / "killed"
        if Job(folder / "data", whole, options).process.wait() != 0:
            sys.exit("the uninterrupted run failed")
        if kill_again_and_again(folder / "data", killed, options).process.wait() != 0:
            sys.exit("the resumed run failed")
        first, second = (
            read_checkpoint(Checkpoints(run, keep=1).latest() or run) for run in (whole, killed)
        )
        same = all(
            torch.equal(first[part][weight], second[part][weight])
            for part in ("bilm", "softmax")
            for weight in first[part]
        )
        verdict = "bit-identical" if same else "DIFFERENT"
        print(
            f"{options.kills} kills, {options.kills // 4} of them while a checkpoint was written, "
            f"{options.processes} processes: {verdict}"
        )
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
