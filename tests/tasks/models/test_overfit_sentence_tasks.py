"""Entities, sentiment and entailment each learn 20 examples by heart."""

from pathlib import Path

import pytest
from overfitting import close, overfit, predict_in_new_process
from small_task_files import CASES

QUICK = ["fit.max_epochs=60", "fit.patience=60", "fit.batch_size=5", "elmo.dropout=0.0",
         "elmo.output_dropout=0.0"]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_twenty_examples_are_learned_by_heart_and_a_new_process_says_the_same(
    name: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES[name]
    file = make_file(tmp_path / "data.tsv")
    trained, rows = overfit(
        name, file, tmp_path, tiny_elmo_folder, [*QUICK, *settings, "elmo.where=both"]
    )
    assert trained.progress is not None
    assert trained.progress.best_score == 100.0
    assert close(predict_in_new_process(tmp_path, file), rows)


@pytest.mark.parametrize("where", ["none", "input", "output"])
def test_entities_are_learned_wherever_elmo_stands(
    where: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES["ner"]
    file = make_file(tmp_path / "data.conll")
    trained, _ = overfit(
        "ner", file, tmp_path, tiny_elmo_folder, [*QUICK, *settings, f"elmo.where={where}"]
    )
    assert trained.progress is not None
    assert trained.progress.best_score == 100.0
    assert set(trained.mixes()) == ({where} - {"none"})
