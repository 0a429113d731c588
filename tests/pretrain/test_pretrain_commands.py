"""``elmokit train`` and what comes after it, as a person types them, on a tiny corpus."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elmokit.cli import app, pretrain
from elmokit.errors import InputError

RECIPE = """
[lstm]
dim = 12
projection_dim = 7

[char_cnn]
embedding_dim = 4
filters = [[1, 5], [2, 6]]
num_highway = 1
max_characters = 12

[train]
batch_size = 4
window = 6
num_negatives = 8
learning_rate = 0.01
max_tokens = 240
"""
assert pretrain.train  # imported for its commands


def elmokit(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_from_a_corpus_to_a_model_and_what_it_predicts(tiny_data: Path, tmp_path: Path) -> None:
    recipe, run, model, tuned = (tmp_path / name for name in ("r.toml", "run", "model", "tuned"))
    recipe.write_text(RECIPE)
    elmokit("train", recipe, "--data", tiny_data, "-o", run, "--set", "train.learning_rate=0.02")
    elmokit("train", "--resume", run, "--set", "train.max_tokens=288")
    elmokit("export", run, model, "--which", "latest", "--card", "licence=none")
    said = elmokit("perplexity", model, "--data", tiny_data)
    assert re.search(r"forward \d+\.\d+, backward \d+\.\d+", said)
    said = elmokit("predict", model, "the ___ saw a dog", "--top", "3")
    assert len(said.splitlines()) == 4
    said = elmokit(
        "finetune", model, "--data", tiny_data, "-o", tuned, "--set", "train.batch_size=4"
    )
    assert "before: " in said and "after:  " in said
    assert (tuned / "model.safetensors").exists()
    pytest.importorskip("matplotlib")
    elmokit("plot", run, "-o", tmp_path / "run.svg")
    assert (tmp_path / "run.svg").exists()


def test_a_device_that_is_not_there_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device abacus: cannot be used here"):
        elmokit("train", "tiny", "--data", tiny_data, "-o", tmp_path / "run", "--device", "abacus")
    assert not (tmp_path / "run").exists()
