"""Kill commands with SIGKILL at random moments, start them again, and compare what they leave.

    python reliability/soak.py [--kills 200] [--only train] [--text TEXT]...

Kills go in turn to train, task train, embed --resume, prepare and index, with tiny models. A
command that can resume (the first three) must end with the same bytes as one that was never
stopped; prepare and index must restart cleanly and do the same. After the last start nothing
half-written may be left. A quarter of the kills of a training wait for a checkpoint to be half
written. Prints the counts; exit status 1 if anything differs. kill_workers.py kills single workers
of a training under torchrun.
"""

import argparse
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

HERE = Path(__file__).parent
HELPERS = HERE.parent / "tests" / "helpers"
sys.path[:0] = [str(HERE), str(HELPERS / "models"), str(HELPERS / "data")]

ELMOKIT = [sys.executable, "-m", "elmokit"]
PATIENCE_SECONDS = 600.0
"""For a command to end, or for a checkpoint to appear."""
RECIPE = [
    "lstm.dim=48", "lstm.projection_dim=24", "char_cnn.filters=[[1,16],[2,16],[3,16]]",
    "train.batch_size=16", "train.num_negatives=256", "train.dropout=0.1",
    "train.checkpoint_every=3", "train.evaluate_every=40", "train.evaluate_tokens=2000",
]  # fmt: skip


@dataclass
class Job:
    """A command as a user types it, and what it leaves."""

    name: str
    command: Callable[[Path], list[str]]
    """For this output folder or file; asked again before every start."""
    out: Path
    digest: Callable[[Path], str]
    """Of what must be the same."""
    half_written: str = ""
    """Pattern, below ``out``, of files that are being written; every fourth kill waits for one."""
    seconds: float = 0.0
    """How long it takes uninterrupted."""
    kills: int = 0
    restarts: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, out: Path) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, **self.environment, "OMP_NUM_THREADS": "1"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.command(out), env=environment, **quiet)

    def run(self, out: Path) -> None:
        started = time.monotonic()
        status = self.start(out).wait(PATIENCE_SECONDS)
        if status != 0:
            sys.exit(f"{self.name}: ended with status {status}: {' '.join(self.command(out))}")
        self.seconds = max(self.seconds, time.monotonic() - started)

    def kill_once(self, out: Path, source: random.Random) -> None:
        """Start it, and kill it at some moment of its life, if it does not end before."""
        process = self.start(out)
        if self.half_written and source.random() < 0.25:
            before = set(out.rglob(self.half_written))
            _wait_until(lambda: bool(set(out.rglob(self.half_written)) - before), process)
        else:
            _wait_until(lambda: False, process, source.uniform(0.2, 1.05 * self.seconds))
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            self.kills += 1
        process.wait()
        self.restarts += 1


def _wait_until(
    ask: Callable[[], bool],
    process: "subprocess.Popen[bytes]",
    seconds: float = PATIENCE_SECONDS,
) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end and not ask():
        time.sleep(0.0005)


def digest_of_files(path: Path, but: tuple[str, ...] = ()) -> str:
    """Of the names and bytes of a file, or of all files below a folder."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and file.name not in but:
            name = file.relative_to(path).as_posix()
            digest.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def digest_of_training(run: Path) -> str:
    """Of the weights of the latest checkpoint."""
    from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint

    content = read_checkpoint(Checkpoints(run, keep=1).latest() or run)
    digest = hashlib.sha256()
    for part in ("bilm", "softmax"):
        for name, weight in sorted(content[part].items()):
            digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()


def digest_of_task(run: Path) -> str:
    return digest_of_files(run / "best.safetensors")


def digest_of_index(folder: Path) -> str:
    """All but the path of the text, which is the same here."""
    return digest_of_files(folder)


def make_jobs(folder: Path, texts: list[str], options: argparse.Namespace) -> list[Job]:
    """Every job with its good inputs, below ``folder``."""
    from small_task_files import CASES, entity_file
    from targets_of_models import tiny_native
    from tiny_corpus import write_sentences

    from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare

    prose = folder / "prose.txt"
    write_sentences(prose, 4000)
    config = PrepareConfig(vocabulary_size=2000, heldout=0.1, pretokenized=not texts)
    prepare(texts or [prose], folder / "data", config, quiet=True)
    tiny_native(folder / "model")
    conll = entity_file(folder / "ner.conll")
    model, data = str(folder / "model"), str(folder / "data")

    def train(out: Path) -> list[str]:
        if (out / "run.json").is_file() and any((out / "checkpoints").glob("*.pt")):
            return [*ELMOKIT, "train", "--resume", str(out)]
        sets = [f"--set={one}" for one in [*RECIPE, f"train.max_tokens={options.tokens}"]]
        return [*ELMOKIT, "train", "tiny", "--data", data, "--out", str(out), *sets]

    def task(out: Path) -> list[str]:
        sets = [
            f"--set={one}" for one in [*CASES["ner"][1], "fit.max_epochs=40", "fit.patience=40"]
        ]
        files = ["--train", str(conll), "--dev", str(conll), "--out", str(out)]
        return [*ELMOKIT, "task", "train", "ner", *files, "-m", model, *sets]

    def embed(out: Path) -> list[str]:
        options = ["-m", model, "-q", "--pretokenized", "--batch-tokens", "512", "--resume"]
        return [*ELMOKIT, "embed", str(prose), "-o", str(out), *options]

    def prepare_(out: Path) -> list[str]:
        return [*ELMOKIT, "prepare", str(prose), "-o", str(out), "--pretokenized", "--workers", "2"]

    def index(out: Path) -> list[str]:
        return [*ELMOKIT, "index", str(prose), "-o", str(out), "-m", model, "--tokens", "20000"]

    cache = {"ELMOKIT_CACHE": str(folder / "cache")}
    return [
        Job("train", train, folder / "train", digest_of_training, "checkpoints/.*.part"),
        Job("task train", task, folder / "task", digest_of_task, ".*.part", environment=cache),
        Job("embed --resume", embed, folder / "out.h5", digest_of_files),
        Job("prepare", prepare_, folder / "corpus", lambda p: digest_of_files(p, ("report.json",))),
        Job("index", index, folder / "index", digest_of_index),
    ]


def leftovers(folder: Path) -> list[str]:
    """Half-written files that nobody will remove."""
    names = (".*.part", ".*.old", ".*.resume")
    return [str(path) for pattern in names for path in folder.rglob(pattern)]


def soak(job: Job, kills: int, source: random.Random) -> bool:
    """Kill a job so many times (in as many lives as it takes), and compare; whether all is well."""
    whole = job.out.with_name(f"whole-{job.out.name}")
    job.run(whole)
    expected, lives, is_same = job.digest(whole), 0, True
    while job.kills < kills:
        out = job.out.with_name(f"{lives}-{job.out.name}")
        wanted = min(kills, job.kills + (kills + 3) // 4)
        starts = 0
        while job.kills < wanted and starts < 3 * kills:
            job.kill_once(out, source)
            starts += 1
        job.run(out)
        is_same = is_same and job.digest(out) == expected
        lives += 1
    print(
        f"{job.name:<16}{job.kills:>5} kills in {lives} runs, {job.seconds:.1f} s each: "
        f"{'bit-identical' if is_same else 'DIFFERENT'}",
        flush=True,
    )
    return is_same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", action="append", help="a job's name; may be repeated")
    parser.add_argument("--text", action="append", default=[], help="real text for train")
    parser.add_argument("--tokens", type=int, default=30_000, help="that a training reads")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    source = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="elmokit-soak-") as name:
        folder = Path(name)
        jobs = make_jobs(folder, options.text, options)
        jobs = [job for job in jobs if not options.only or job.name in options.only]
        shares = [options.kills * (n + 1) // len(jobs) for n in range(len(jobs))]
        kills = [share - before for share, before in zip(shares, [0, *shares], strict=False)]
        results = [soak(job, count, source) for job, count in zip(jobs, kills, strict=True)]
        left = leftovers(folder)
    total = sum(job.kills for job in jobs)
    verdict = "all bit-identical" if all(results) else "NOT all bit-identical"
    print(f"{total} kills: {verdict}; half-written files left over: {len(left)}")
    for path in left[:10]:
        print(f"    {path}")
    sys.exit(0 if all(results) and not left else 1)


if __name__ == "__main__":
    main()
