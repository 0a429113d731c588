"""Training as a whole: it learns, it stops, it resumes as if it had never stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny_corpus import tiny_recipe

from elmokit.errors import InputError
from elmokit.model.kernels.int16_products import PLAIN
from elmokit.pretrain.config import Recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training import loop, run
from elmokit.pretrain.training.loop import step_line
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint, read_log, read_run

HELPERS = Path(__file__).parents[2] / "helpers" / "data"


def with_train(recipe: Recipe, **changes: object) -> Recipe:
    return replace(recipe, train=replace(recipe.train, **changes))


def final_weights(run: Path) -> dict[str, torch.Tensor]:
    latest = Checkpoints(run, keep=1).latest()
    assert latest is not None
    content = read_checkpoint(latest)
    return {**content["bilm"], **{f"softmax.{k}": v for k, v in content["softmax"].items()}}


def assert_same_weights(first: Path, second: Path) -> None:
    ours, theirs = final_weights(first), final_weights(second)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_training_lowers_the_held_out_perplexity(
    tiny_data: Path, tmp_path: Path, optimizer: str
) -> None:
    rate = 0.01 if optimizer == "adam" else 0.2
    recipe = tiny_recipe(optimizer=optimizer, learning_rate=rate, num_epochs=4)
    result = train(recipe, tiny_data, tmp_path / "run")
    events = [e for e in read_log(tmp_path / "run" / "log.jsonl") if e["event"] == "heldout"]
    assert result.perplexity is not None
    assert result.perplexity.mean < 12  # of 15 words; the text prefers three followers
    assert events[-1]["mean_perplexity"] < events[0]["mean_perplexity"]


@pytest.mark.parametrize("losses", [{}, {"context": 0.3}, {"context": 0.3, "meaning": 1.0}])
def test_a_run_in_two_pieces_is_bit_identical_to_one_in_one(
    tiny_data: Path, tmp_path: Path, losses: dict[str, float]
) -> None:
    words = Corpus.open(tiny_data).vocabulary.words[3:9]
    lines = [f"{word} {number} {number % 2}" for number, word in enumerate(words)]
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("\n".join(lines) + "\n")
    recipe = tiny_recipe(
        num_epochs=1.5, dropout=0.2, vectors=str(vectors), vectors_steps=2, **losses
    )
    train(recipe, tiny_data, tmp_path / "whole")
    whole = read_log(tmp_path / "whole" / "log.jsonl")
    # The first piece: the same run, cut off by removing what came after a middle checkpoint.
    train(with_train(recipe, keep_checkpoints=100), tiny_data, tmp_path / "pieces")
    checkpoints = sorted((tmp_path / "pieces" / "checkpoints").glob("*.pt"))
    for path in checkpoints[3:]:
        path.unlink()
    train(recipe, tiny_data, tmp_path / "pieces", resume=True)
    assert_same_weights(tmp_path / "whole", tmp_path / "pieces")
    again = read_log(tmp_path / "pieces" / "log.jsonl")
    assert [e for e in whole if e["event"] == "heldout"] == [
        e for e in again if e["event"] == "heldout"
    ]


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.3), (0.3, 0.0)])
def test_a_run_cannot_switch_a_loss_on_or_off(
    tiny_data: Path, tmp_path: Path, before: float, after: float
) -> None:
    recipe = tiny_recipe(num_epochs=0.5, context=before)
    train(recipe, tiny_data, tmp_path / "run")
    with pytest.raises(InputError, match=r"train\.context cannot be switched on or off"):
        train(with_train(recipe, context=after), tiny_data, tmp_path / "run", resume=True)


RUN = """
import sys, pathlib
sys.path.insert(0, sys.argv[3])
import torch
torch.set_num_threads(1)
from tiny_corpus import tiny_recipe
from elmokit.pretrain.training.run import train
out = pathlib.Path(sys.argv[2])
train(tiny_recipe(num_epochs=2.0, dropout=0.2), pathlib.Path(sys.argv[1]), out, resume=out.exists())
"""


def start_run(data: Path, out: Path) -> "subprocess.Popen[bytes]":
    arguments = [sys.executable, "-c", RUN, str(data), str(out), str(HELPERS)]
    return subprocess.Popen(arguments, stderr=subprocess.DEVNULL)


def test_kill_9_at_random_moments_changes_nothing(tiny_data: Path, tmp_path: Path) -> None:
    # CI kills 3 times; reliability/soak.py does it far more often, also while writing.
    assert start_run(tiny_data, tmp_path / "whole").wait() == 0
    folder = tmp_path / "killed" / "checkpoints"
    for _ in range(3):
        before = set(folder.glob("*.pt"))
        process = start_run(tiny_data, tmp_path / "killed")
        while process.poll() is None and not set(folder.glob("*.pt")) - before:
            time.sleep(0.001)
        assert process.poll() is None, "the run ended before it was killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert start_run(tiny_data, tmp_path / "killed").wait() == 0
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")


def test_a_half_written_checkpoint_is_ignored_and_cleared(tiny_data: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(num_epochs=1.0)
    train(recipe, tiny_data, tmp_path / "run")
    part = tmp_path / "run" / "checkpoints" / ".000000999.pt.77.part"
    part.write_bytes(b"half a checkpoint")
    train(with_train(recipe, num_epochs=1.5), tiny_data, tmp_path / "run", resume=True)
    assert not part.exists()


def test_the_last_checkpoints_are_kept_and_the_best_is_marked(
    tiny_data: Path, tmp_path: Path
) -> None:
    train(tiny_recipe(num_epochs=1.5, keep_checkpoints=2), tiny_data, tmp_path / "run")
    kept = sorted((tmp_path / "run" / "checkpoints").glob("*.pt"))
    best = json.loads((tmp_path / "run" / "best.json").read_text())["checkpoint"]
    assert 2 <= len(kept) <= 3
    assert best in {path.name for path in kept}


def test_early_stopping_ends_a_run_that_gets_no_better(tiny_data: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(num_epochs=20.0, patience=1, learning_rate=1.0, evaluate_every=2)
    result = train(recipe, tiny_data, tmp_path / "run")
    assert result.steps < 50


def test_a_second_run_in_the_same_folder_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(num_epochs=0.2)
    train(recipe, tiny_data, tmp_path / "run")
    with pytest.raises(InputError, match="--resume"):
        train(recipe, tiny_data, tmp_path / "run")


def test_a_run_folder_remembers_its_recipe_and_data(tiny_data: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(num_epochs=0.2)
    train(recipe, tiny_data, tmp_path / "run")
    assert read_run(tmp_path / "run") == (recipe, tiny_data.resolve())


def test_a_window_longer_than_the_text_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too short"):
        train(tiny_recipe(window=100_000), tiny_data, tmp_path / "run")


@pytest.mark.parametrize("kind", ["sampled", "full-softmax"])
def test_a_line_of_the_largest_run_fits_100_columns(kind: str) -> None:
    values = {
        "epoch": 10.0, "tokens_per_second": 123_456.7, "seconds_left": 999.5 * 3600,
        "loss_kind": kind, "forward_loss": 7.1234, "backward_loss": 7.1234,
    }  # fmt: skip
    line = step_line(1_234_567, 9_876_543, values)
    assert line == (
        "step 1,234,567/9,876,543  epoch 10.00  123,457 tokens/s  999.5 h left  "
        f"{kind} loss 7.123 7.123"
    )
    assert len(line) <= 100


@pytest.mark.parametrize(
    ("has_bfloat16", "has_int16", "num_threads", "expected"),
    [
        (True, True, 2, "bfloat16"),
        (False, True, 2, "int16"),
        (False, True, 1, "int16"),
        (False, True, 4, "float32"),  # its products use one thread for each direction
        (False, False, 2, "float32"),
    ],
)
def test_auto_precision_is_the_fastest_of_this_machine(
    has_bfloat16: bool,
    has_int16: bool,
    num_threads: int,
    expected: str,
    tiny_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "multiplies_bfloat16_fast", lambda device: has_bfloat16)
    monkeypatch.setattr(run, "compiled_int16_products", lambda: PLAIN if has_int16 else None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: num_threads)
    recipe = tiny_recipe(precision="auto", max_tokens=24 * 3)
    train(recipe, tiny_data, tmp_path / "run")
    assert read_run(tmp_path / "run")[0].train.precision == expected


def test_auto_precision_is_decided_once_and_logged(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(precision="auto", max_tokens=24 * 9, checkpoint_every=3)
    monkeypatch.setattr(loop, "LOG_EVERY", 2)
    monkeypatch.setattr(run, "compiled_int16_products", lambda: None)
    for name, is_fast in (("wide", False), ("narrow", True)):
        monkeypatch.setattr(run, "multiplies_bfloat16_fast", lambda device, now=is_fast: now)
        train(recipe, tiny_data, tmp_path / name)
    train(with_train(recipe, precision="bfloat16"), tiny_data, tmp_path / "asked")
    train(with_train(recipe, precision="float32"), tiny_data, tmp_path / "asked-wide")
    assert_same_weights(tmp_path / "narrow", tmp_path / "asked")
    assert_same_weights(tmp_path / "wide", tmp_path / "asked-wide")
    for name, precision in (("wide", "float32"), ("narrow", "bfloat16")):
        assert read_run(tmp_path / name)[0].train.precision == precision
        lines = [e for e in read_log(tmp_path / name / "log.jsonl") if e["event"] == "train"]
        assert {line["precision"] for line in lines} == {precision}
    # A restart on a machine that chooses otherwise, and is told the recipe once more.
    Checkpoints(tmp_path / "narrow", keep=1).latest().unlink()  # type: ignore[union-attr]
    monkeypatch.setattr(run, "multiplies_bfloat16_fast", lambda device: False)
    train(recipe, tiny_data, tmp_path / "narrow", resume=True)
    assert read_run(tmp_path / "narrow")[0].train.precision == "bfloat16"
    assert_same_weights(tmp_path / "narrow", tmp_path / "asked")
