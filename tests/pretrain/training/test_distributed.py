"""Two processes on one machine do the work of one, and survive the loss of either."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny_corpus import tiny_recipe

from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint, read_log

HELPERS = Path(__file__).parents[2] / "helpers" / "data"

# torchrun's own agent. Its workers are forked from a server that has imported torch, not from the
# agent itself: the agent has threads, and a lock one of them holds would stay locked in the worker.
# With losses, the first worker is killed in the first round and the second in the second; after a
# restart one comes late, and the other would find the address of a dead process.
LAUNCHER = """
import multiprocessing, os, pathlib, signal, sys, time
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from tiny_corpus import tiny_recipe
from elmokit.pretrain.training import loop
from elmokit.pretrain.training.run import train

data, run = map(pathlib.Path, sys.argv[1:3])
num_negatives, losses = map(int, sys.argv[4:6])
advance = loop.Trainer._advance

def work():
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    is_doomed = int(os.environ["RANK"]) == restarts < losses
    def advance_or_die(self, batch):
        if is_doomed and self.step == 13 + 10 * restarts:
            os.kill(os.getpid(), signal.SIGKILL)
        return advance(self, batch)
    loop.Trainer._advance = advance_or_die
    if restarts and not is_doomed:
        time.sleep(0.5 * int(os.environ["RANK"]))
    recipe = tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=num_negatives)
    train(recipe, data, run)

if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["__main__"])
    config = LaunchConfig(
        1, 1, 2, run_id="tiny", rdzv_backend="c10d", rdzv_endpoint="localhost:0",
        max_restarts=losses, monitor_interval=0.1, start_method="forkserver",
    )
    elastic_launch(config, work)()
"""


def run_two(data: Path, folder: Path, num_negatives: int, losses: int = 0) -> Path:
    script, run = folder / "launcher.py", folder / "run"
    script.write_text(LAUNCHER)
    command = [
        sys.executable, str(script),
        str(data), str(run), str(HELPERS), str(num_negatives), str(losses),
    ]  # fmt: skip
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    return run


@pytest.fixture(scope="module")
def full_softmax_run(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_two(tiny_data, tmp_path_factory.mktemp("full"), num_negatives=0)


def perplexity_of(run: Path) -> float:
    events = [e for e in read_log(run / "log.jsonl") if e["event"] == "heldout"]
    return float(events[-1]["mean_perplexity"])


def perplexity_of_one(data: Path, run: Path, num_negatives: int) -> float:
    train(tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=num_negatives), data, run)
    return perplexity_of(run)


def test_two_processes_reach_the_perplexity_of_one(
    full_softmax_run: Path, tiny_data: Path, tmp_path: Path
) -> None:
    wanted = perplexity_of_one(tiny_data, tmp_path / "one", num_negatives=0)
    assert perplexity_of(full_softmax_run) == pytest.approx(wanted, rel=1e-3)


def test_only_the_negatives_differ_by_process(tiny_data: Path, tmp_path: Path) -> None:
    found = perplexity_of(run_two(tiny_data, tmp_path, num_negatives=8))
    wanted = perplexity_of_one(tiny_data, tmp_path / "one", num_negatives=8)
    assert found == pytest.approx(wanted, rel=0.15)


def test_a_lost_worker_restarts_from_the_last_checkpoint(
    full_softmax_run: Path, tiny_data: Path, tmp_path: Path
) -> None:
    runs = full_softmax_run, run_two(tiny_data, tmp_path, num_negatives=0, losses=2)
    whole, lost = (read_checkpoint(Checkpoints(run, keep=1).latest() or run) for run in runs)
    for part in ("bilm", "softmax"):
        for name, weight in whole[part].items():
            assert torch.equal(weight, lost[part][name]), name
