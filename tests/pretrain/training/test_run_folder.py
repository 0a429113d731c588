"""The folder of a run: complete when a run has started, and of use again when it was damaged."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_corpus import tiny_recipe

from elmokit.errors import InputError
from elmokit.pretrain.config import Recipe
from elmokit.pretrain.export import read_trained
from elmokit.pretrain.training import loop
from elmokit.pretrain.training.run import train, train_or_resume
from elmokit.pretrain.training.run_folder import (
    Checkpoints,
    locked,
    read_checkpoint,
    read_log,
    read_run,
    write_run,
)

SHORT = {"max_tokens": 240, "keep_checkpoints": 100}  # ten steps, checkpoints at 5 and 10


def with_train(recipe: Recipe, **changes: object) -> Recipe:
    return replace(recipe, train=replace(recipe.train, **changes))


def checkpoints(run: Path) -> list[Path]:
    return sorted((run / "checkpoints").glob("*.pt"))


def weights(run: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = read_checkpoint(checkpoints(run)[-1])["bilm"]
    return weights


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


def resume(run: Path, *changes: str) -> loop.TrainResult:
    return train_or_resume(None, None, None, run, changes, "cpu")


@pytest.fixture
def run(tiny_data: Path, tmp_path: Path) -> Path:
    train(tiny_recipe(**SHORT), tiny_data, tmp_path / "run")
    return tmp_path / "run"


# --- run.json


def test_a_first_try_with_wrong_data_leaves_nothing_behind(tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no corpus\.json"):
        train(tiny_recipe(**SHORT), tmp_path, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    train(tiny_recipe(**SHORT), tiny_data, tmp_path / "run")
    assert read_trained(tmp_path / "run").source == str(tmp_path / "run")


def test_a_run_killed_before_its_first_checkpoint_may_start_again_with_another_recipe(
    tiny_data: Path, tmp_path: Path
) -> None:
    run, recipe = tmp_path / "run", tiny_recipe(**SHORT)
    larger = replace(recipe, model=replace(recipe.model, lstm=replace(recipe.model.lstm, dim=20)))
    write_run(run, larger, tiny_data)
    (run / "log.jsonl").write_text('{"event": "train", "step": 4}\n')
    train(recipe, tiny_data, run)
    assert read_run(run) == (recipe, tiny_data.resolve())
    assert read_trained(run).config.lstm.dim == recipe.model.lstm.dim
    assert [event["step"] for event in read_log(run / "log.jsonl")] == [10]


def test_a_changed_budget_is_remembered(run: Path) -> None:
    assert resume(run, "train.max_tokens=360").steps == 15
    assert read_run(run)[0].train.max_tokens == 360
    assert resume(run).steps == 15


@pytest.mark.parametrize(
    "change", ["lstm.dim=13", "train.batch_size=8", "train.window=5", "train.optimizer=adagrad"]
)
def test_what_a_checkpoint_depends_on_cannot_change(run: Path, change: str) -> None:
    before = (run / "run.json").read_text()
    with pytest.raises(InputError, match="a run that has begun cannot change"):
        resume(run, change)
    assert (run / "run.json").read_text() == before


def test_a_checkpoint_of_another_vocabulary_is_refused(
    run: Path, tiny_data: Path, tmp_path: Path
) -> None:
    content = read_checkpoint(checkpoints(run)[-1])
    content["softmax"] = {name: value[:-1] for name, value in content["softmax"].items()}
    Checkpoints(run, keep=9).save(10, content)
    with pytest.raises(InputError, match="does not fit the recipe or the vocabulary"):
        read_trained(run)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"recipe": 3}', "\x00" * 50, "[" * 100_000])
def test_a_damaged_run_json_is_one_sentence_with_the_cure(run: Path, content: str) -> None:
    (run / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json"):
        resume(run)
    with pytest.raises(InputError, match=r"run\.json"):
        read_trained(run)


# --- checkpoints


@pytest.mark.parametrize("junk", [{}, {"step": 3}, [1, 2], torch.zeros(3)])
def test_a_file_that_is_no_checkpoint_is_refused(run: Path, junk: Any) -> None:
    path = run / "checkpoints" / "000000010.pt"
    torch.save(junk, path)
    with pytest.raises(InputError, match="not a checkpoint of elmokit"):
        read_checkpoint(path)
    with pytest.raises(InputError, match="not a checkpoint of elmokit"):
        read_trained(run)


def test_every_damaged_byte_that_matters_is_noticed(run: Path) -> None:
    path = checkpoints(run)[-1]
    good, intact = path.read_bytes(), read_checkpoint(path)
    random, noticed = np.random.default_rng(2), 0
    for place in random.integers(len(good), size=200):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0xFF]) + good[place + 1 :])
        try:
            content = read_checkpoint(path)
        except InputError:
            noticed += 1
        else:  # padding between records, or a field of the zip that nobody reads
            assert same(content["bilm"], intact["bilm"])
            assert same(content["softmax"], intact["softmax"])
            assert content["step"] == intact["step"]
    assert noticed > 50


@pytest.mark.parametrize("damage", ["cut short", "empty", "one bit"])
def test_a_run_resumes_from_the_last_intact_checkpoint(
    run: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted, path = weights(run), checkpoints(run)[-1]
    content = bytearray(path.read_bytes())
    if damage == "one bit":
        record = content.index(b"data.pkl") + 200
        content[record] ^= 1
    path.write_bytes(bytes(content[: {"cut short": -999, "empty": 0}.get(damage)]))
    assert resume(run).steps == 10
    said = capsys.readouterr().err
    assert "000000010.pt: damaged (" in said
    assert "renamed to 000000010.pt.damaged" in said
    assert same(weights(run), wanted)


def test_a_run_without_an_intact_checkpoint_does_not_start_again_silently(run: Path) -> None:
    for path in checkpoints(run):
        path.write_bytes(b"")
    with pytest.raises(InputError, match="no checkpoint is intact"):
        resume(run)


def test_a_damaged_checkpoint_is_not_exported(run: Path) -> None:
    checkpoints(run)[-1].write_bytes(b"PK")
    with pytest.raises(InputError, match=r"damaged .* delete it"):
        read_trained(run)
    checkpoints(run)[-1].unlink()
    assert read_trained(run).card["tokens_seen"] == "120"


def test_a_checkpoint_of_the_first_edition_is_read(run: Path) -> None:
    wanted = weights(run)
    for path in checkpoints(run)[1:]:
        path.unlink()
    old = read_checkpoint(checkpoints(run)[0])
    del old["losses"]
    torch.save(old, checkpoints(run)[0])
    resume(run)
    assert same(weights(run), wanted)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"checkpoint": '])
def test_a_damaged_best_json_is_one_sentence_with_the_cure(run: Path, content: str) -> None:
    (run / "best.json").write_text(content)
    for use in (read_trained, resume):
        with pytest.raises(InputError, match=r"best\.json: damaged .* delete it"):
            use(run)
    (run / "best.json").unlink()
    assert read_trained(run)
    assert resume(run).steps == 10


# --- the log


TIMES = ("tokens_per_second", "seconds_left")


def without_times(run: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in event.items() if name not in TIMES}
        for event in read_log(run / "log.jsonl")
    ]


def test_the_log_of_a_resumed_run_is_that_of_one_never_interrupted(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LOG_EVERY", 4)
    recipe = tiny_recipe(keep_checkpoints=100, max_tokens=24 * 22, checkpoint_every=3)
    for name in ("whole", "pieces"):
        train(recipe, tiny_data, tmp_path / name)
    for path in checkpoints(tmp_path / "pieces")[2:]:  # back to step 6: between two lines
        path.unlink()
    resume(tmp_path / "pieces")
    assert without_times(tmp_path / "pieces") == without_times(tmp_path / "whole")
    events = [event["event"] for event in without_times(tmp_path / "whole")]
    assert events == ["train"] * 5 + ["heldout"] * 2


def test_resuming_a_finished_run_changes_nothing(run: Path) -> None:
    log, best = (run / "log.jsonl").read_text(), (run / "best.json").read_text()
    before = [(path.name, path.stat().st_mtime_ns) for path in checkpoints(run)]
    resume(run)
    assert (run / "log.jsonl").read_text() == log
    assert (run / "best.json").read_text() == best
    assert [(path.name, path.stat().st_mtime_ns) for path in checkpoints(run)] == before


def test_a_broken_last_line_is_dropped_silently_and_others_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps({"event": "train", "step": step}) for step in (1, 2, 3)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join([*lines, lines[0][:9]]))
    assert [event["step"] for event in read_log(path)] == [1, 2, 3]
    assert capsys.readouterr().err == ""
    path.write_text("\n".join([lines[0], "\x00\x00\x00", "3", lines[2]]) + "\n")
    assert [event["step"] for event in read_log(path)] == [1, 3]
    said = capsys.readouterr().err
    assert "line 2 is damaged" in said and "line 3 is damaged" in said


# --- the end of a run


def test_weights_are_safe_before_the_last_measurement(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    recipe, run = tiny_recipe(**SHORT, final_evaluate_tokens=50), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "measure_by_kind", dies)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tiny_data, run)
    assert checkpoints(run)[-1].stem == "000000010"
    result = resume(run)
    assert result.perplexity is not None
    assert 30 < result.perplexity.num_predictions < 70  # not all of the held-out text
    assert read_log(run / "log.jsonl")[-1]["predictions"] == result.perplexity.num_predictions


def test_a_run_that_stopped_early_does_not_train_on_when_resumed(
    tiny_data: Path, tmp_path: Path
) -> None:
    recipe = tiny_recipe(num_epochs=20.0, patience=1, learning_rate=1.0, evaluate_every=2)
    steps = train(recipe, tiny_data, tmp_path / "run").steps
    assert resume(tmp_path / "run").steps == steps
    assert resume(tmp_path / "run", "train.patience=2").steps > steps


def test_a_corpus_without_held_out_text_is_refused_before_training(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from elmokit.pretrain.corpus.corpus import Corpus

    corpus = Corpus.open(tiny_data)
    empty = replace(
        corpus.heldout, tokens=corpus.heldout.tokens[:0], starts=corpus.heldout.starts[:0]
    )
    monkeypatch.setattr(Corpus, "open", lambda path: replace(corpus, heldout=empty))
    with pytest.raises(InputError, match="no held-out text to measure on"):
        train(tiny_recipe(), tiny_data, tmp_path / "run")


# --- the lock


def test_a_second_training_in_the_same_folder_is_refused(run: Path) -> None:
    with locked(run), pytest.raises(InputError, match=rf"another process \({os.getpid()}\)"):
        resume(run)
    assert resume(run).steps == 10


HOLD = """
import pathlib, sys
from elmokit.pretrain.training.run_folder import locked
with locked(pathlib.Path(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_lock_dies_with_its_process(run: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"locked\n"
    with pytest.raises(InputError, match=f"another process \\({process.pid}\\)"), locked(run):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    with locked(run):
        pass
