"""Kill a training run with SIGKILL at random moments, resume it each time, compare the weights.

    python benchmarks/kill_and_resume.py TEXT... [--kills 20]

TEXT is prepared into a temporary corpus. Every fourth kill waits for a checkpoint to be half
written. Prints how many kills there were and whether the final weights are bit-identical to those
of a run that was never stopped; exit status 1 if they are not.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from elmokit.pretrain.checkpoint import Checkpoints, read_checkpoint
from elmokit.pretrain.prepare import PrepareConfig, prepare

SETTINGS = [
    "lstm.dim=48", "lstm.projection_dim=24", "char_cnn.filters=[[1,16],[2,16],[3,16]]",
    "train.batch_size=16", "train.num_negatives=256", "train.dropout=0.1",
    "train.checkpoint_every=3", "train.evaluate_every=40", "train.evaluate_tokens=2000",
]  # fmt: skip


def start(data: Path, run: Path, tokens: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "elmokit", "train"]
    if (run / "run.json").is_file():
        command += ["--resume", str(run)]
    else:
        command += ["tiny", "--data", str(data), "--out", str(run)]
        for setting in [*SETTINGS, f"train.max_tokens={tokens}"]:
            command += ["--set", setting]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def kill_somewhere(process: "subprocess.Popen[bytes]", run: Path, while_writing: bool) -> bool:
    """True if it was killed, False if it had finished by itself."""
    started = time.monotonic()
    wait = random.uniform(1.5, 7.0)
    while process.poll() is None:
        is_writing = any((run / "checkpoints").glob(".*.part"))
        if time.monotonic() - started > wait and (is_writing or not while_writing):
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.0005 if while_writing else 0.02)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=120_000)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = PrepareConfig(vocabulary_size=2000, heldout=0.1)
        prepare(options.texts, folder / "data", config)
        whole, killed = folder / "whole", folder / "killed"
        if start(folder / "data", whole, options.tokens).wait() != 0:
            sys.exit("the uninterrupted run failed")
        kills = writing = 0
        while kills < options.kills:
            while_writing = kills % 4 == 3
            process = start(folder / "data", killed, options.tokens)
            if not kill_somewhere(process, killed, while_writing):
                break
            kills += 1
            writing += while_writing
        if start(folder / "data", killed, options.tokens).wait() != 0:
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
        print(f"{kills} kills, {writing} of them while a checkpoint was written: {verdict}")
        sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
