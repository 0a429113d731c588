"""Roles, coreference and answers: 20 examples of each learned by heart."""

from pathlib import Path

import pytest
from overfitting import close, overfit, predict_in_new_process
from span_task_files import CASES

QUICK = ["fit.max_epochs=80", "fit.patience=80", "elmo.dropout=0.0", "elmo.output_dropout=0.0",
         "elmo.where=both", "words.dim=10", "fit.optimiser=adam"]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_examples_are_learned_by_heart_and_a_new_process_says_the_same(
    name: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES[name]
    file = make_file(tmp_path / "data")
    trained, rows = overfit(name, file, tmp_path, tiny_elmo_folder, [*QUICK, *settings])
    assert trained.progress is not None
    assert trained.progress.best_score == 100.0
    assert close(predict_in_new_process(tmp_path, file), rows)
