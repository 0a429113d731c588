"""Two processes on one machine do the work of one."""

import subprocess
import sys
from pathlib import Path

import pytest
from tiny_corpus import tiny_recipe

from elmokit.pretrain.loop import train
from elmokit.pretrain.run_log import read_log

WORKER = """
import pathlib, sys
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from tiny_corpus import tiny_recipe
from elmokit.pretrain import loop

recipe = tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=int(sys.argv[4]))
loop.train(recipe, pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
"""


def run_two(data: Path, out: Path, tmp_path: Path, num_negatives: int) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
        str(script),
        str(data), str(out), str(Path(__file__).parent), str(num_negatives),
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
    run_two(tiny_data, tmp_path / "two", tmp_path, num_negatives)
    recipe = tiny_recipe(num_epochs=1.0, reset_share=0.0, num_negatives=num_negatives)
    train(recipe, tiny_data, tmp_path / "one")
    found, wanted = perplexity_of(tmp_path / "two"), perplexity_of(tmp_path / "one")
    # The full softmax leaves nothing to chance; the negatives differ by process.
    assert found == pytest.approx(wanted, rel=1e-3 if num_negatives == 0 else 0.15)
