"""Rows of a table, cached for each encoder."""

from pathlib import Path
from typing import NamedTuple

import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.output.cached_rows import cached_rows, rows_folder
from elmokit.errors import InputError


class Score(NamedTuple):
    encoder: str
    value: float


ENCODER = ToyEncoder(lambda layer, sentence, place: [1.0])


def never() -> list[Score]:
    raise AssertionError("computed again")


def test_rows_are_computed_once_per_encoder_and_data(tmp_path: Path) -> None:
    folder = rows_folder(tmp_path, "scores", ["data"])
    first = cached_rows(folder, ENCODER, Score, lambda: [Score("toy", 1.5)])
    assert cached_rows(folder, ENCODER, Score, never) == first == [Score("toy", 1.5)]
    assert rows_folder(tmp_path, "scores", ["other data"]) != folder
    assert rows_folder(None, "scores") is None
    assert cached_rows(None, ENCODER, Score, lambda: [Score("toy", 2.5)]) == [Score("toy", 2.5)]


@pytest.mark.parametrize("text", ["{", "3", "[3]", '[{"value": "high"}]', '[{"other": 1}]'])
def test_damaged_rows_are_named_with_the_cure(tmp_path: Path, text: str) -> None:
    folder = rows_folder(tmp_path, "scores", [])
    assert folder is not None
    cached_rows(folder, ENCODER, Score, lambda: [Score("toy", 1.5)])
    (folder / "toy.json").write_text(text)
    with pytest.raises(InputError, match=r"toy\.json: not rows .*delete the file"):
        cached_rows(folder, ENCODER, Score, never)
