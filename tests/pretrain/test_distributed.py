"""Two processes on one machine do the work of one."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_corpus import tiny_recipe

from elmokit.pretrain.checkpoint import Checkpoints, read_checkpoint
from elmokit.pretrain.loop import train
from elmokit.pretrain.run_log import read_log

WORKER = """
import os, pathlib, sys
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from tiny_corpus import tiny_recipe
from elmokit.pretrain import loop

if sys.argv[4] == "dies" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    advance = loop.Trainer._advance
    def advance_and_die(self, batch):
        if self.world.rank == 1 and self.step == 13:
            os._exit(3)
        return advance(self, batch)
    loop.Trainer._advance = advance_and_die

recipe = tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=int(sys.argv[5]))
loop.train(recipe, pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
"""


def run_two(data: Path, out: Path, tmp_path: Path, mode: str, num_negatives: int) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
        "--max-restarts=1", str(script),
        str(data), str(out), str(Path(__file__).parent), mode, str(num_negatives),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr[-3000:]


def perplexity_of(run: Path) -> float:
    events = [e for e in read_log(run / "log.jsonl") if e["event"] == "heldout"]
    return float(events[-1]["mean_perplexity"])


@pytest.mark.parametrize("num_negatives", [0, 8])
def test_two_processes_reach_the_perplexity_of_one(
    tiny_data: Path, tmp_path: Path, num_negatives: int
) -> None:
    run_two(tiny_data, tmp_path / "two", tmp_path, "lives", num_negatives)
    recipe = tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=num_negatives)
    train(recipe, tiny_data, tmp_path / "one")
    found, wanted = perplexity_of(tmp_path / "two"), perplexity_of(tmp_path / "one")
    # The full softmax leaves nothing to chance; the negatives differ by process.
    assert found == pytest.approx(wanted, rel=1e-3 if num_negatives == 0 else 0.15)


def test_a_lost_worker_restarts_from_the_last_checkpoint(tiny_data: Path, tmp_path: Path) -> None:
    run_two(tiny_data, tmp_path / "lost", tmp_path, "dies", 0)
    run_two(tiny_data, tmp_path / "kept", tmp_path, "lives", 0)
    weights = []
    for run in ("lost", "kept"):
        latest = Checkpoints(tmp_path / run, keep=1).latest()
        assert latest is not None
        weights.append(read_checkpoint(latest)["bilm"])
    for name in weights[0]:
        torch.testing.assert_close(weights[0][name], weights[1][name], rtol=0, atol=0)
