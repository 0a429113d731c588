"""``elmokit train`` and what comes after it, as a person types them, on a tiny corpus."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tiny_corpus import write_sentences
from typer.testing import CliRunner

from elmokit.cli import app, corpus, pretrain
from elmokit.errors import InputError
from elmokit.pretrain.config import read_recipe

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
assert pretrain.train and corpus.prepare  # imported for their commands


SHIPPED = str(Path(pretrain.__file__).parents[1] / "models" / "en-small")


def elmokit(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def results_of(*words: object) -> dict[str, Any]:
    """What a command prints as JSON; progress, which a slow machine shows, is not part of it."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_from_a_corpus_to_a_model_and_what_it_predicts(tiny_data: Path, tmp_path: Path) -> None:
    recipe, run, model, tuned = (tmp_path / name for name in ("r.toml", "run", "model", "tuned"))
    recipe.write_text(RECIPE)
    elmokit("train", recipe, "--data", tiny_data, "-o", run, "--set", "train.learning_rate=0.02")
    said = elmokit("train", "--resume", run, "--set", "train.max_tokens=288")
    assert f"elmokit export {run} MODEL" in said
    said = elmokit("export", run, model, "--which", "latest", "--card", "licence=none")
    assert f"wrote the model after 288 tokens to {model}" in said
    elmokit("export", run, tmp_path / "half", "--float16")
    elmokit("export", run, tmp_path / "hdf5", "--to", "bilm-tf")  # --format, in its old spelling
    assert next((tmp_path / "hdf5").glob("*.hdf5"))
    said = elmokit("perplexity", model, "--data", tiny_data)
    assert re.search(r"forward \d+\.\d+, backward \d+\.\d+", said)
    said = elmokit("predict", model, "the ___ saw a dog", "--top", "3")
    assert len(said.splitlines()) == 4
    assert elmokit("predict", "-m", model, "the ___ saw a dog", "--top", "3") == said
    said = elmokit(
        "finetune", model, "--data", tiny_data, "-o", tuned, "--set", "train.batch_size=4"
    )
    assert "before: " in said and "after:  " in said
    assert (tuned / "model.safetensors").exists()
    assert f"elmokit embed TEXT -o vectors.h5 --model {tuned}" in said
    pytest.importorskip("matplotlib")
    elmokit("plot", run, "-o", tmp_path / "run.svg")
    assert (tmp_path / "run.svg").exists()


def test_a_device_that_is_not_there_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="device abacus: cannot be used here"):
        elmokit("train", "tiny", "--data", tiny_data, "-o", tmp_path / "run", "--device", "abacus")
    assert not (tmp_path / "run").exists()


def test_resume_takes_neither_a_recipe_nor_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave out RECIPE and --out"):
        elmokit("train", "tiny", "--resume", tmp_path)


@pytest.fixture(scope="module")
def two_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of two kinds of text in the vocabulary of the model that ships."""
    folder = tmp_path_factory.mktemp("two-kinds")
    for number, name in enumerate(("news", "mail")):
        write_sentences(folder / f"{name}.txt", 100, seed=number)
    said = elmokit(
        "prepare", folder / "news.txt", folder / "mail.txt", "-o", folder / "data",
        "--pretokenized", "--heldout", "0.2", "--workers", "1", "--vocabulary", SHIPPED,
    )  # fmt: skip
    assert "warning: only" in said and "tokens are held out" in said
    assert f"elmokit finetune {SHIPPED} --data {folder / 'data'} -o MODEL" in said
    assert f"elmokit perplexity {SHIPPED} --data {folder / 'data'}" in said
    assert "elmokit train" not in said
    return folder / "data"


def test_perplexity_is_told_by_kind_of_text(two_kinds: Path) -> None:
    said = elmokit("perplexity", "--data", two_kinds)
    rows = [line.split("|")[1].strip() for line in said.splitlines() if line.startswith("| ")]
    assert rows == ["text", "news", "mail", "all"]
    assert "bits per character" in said
    assert "| news" not in elmokit("perplexity", "--data", two_kinds, "--all")
    plain = results_of("perplexity", SHIPPED, "--data", two_kinds, "--json")
    assert set(plain["kinds"]) == {"news", "mail"}
    parts = sum(kind["predictions"] for kind in plain["kinds"].values())
    assert parts == plain["all"]["predictions"]
    short = results_of("perplexity", "--data", two_kinds, "--json", "--all", "--max-tokens", 40)
    assert short["all"]["predictions"] < parts


def test_a_wrong_setting_is_blamed_on_who_made_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^--set \[train\]: unknown setting 'nonsense'"):
        read_recipe("tiny", ["train.nonsense=3"])
    with pytest.raises(InputError, match=r"^--set \[train\]: .*batch_size"):
        read_recipe("tiny", ["train.batch_size=0"])
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[train]\nnonsense = 3\n")
    with pytest.raises(InputError, match=r"wrong\.toml \[train\]: unknown setting 'nonsense'"):
        read_recipe(wrong, ["train.seed=2"])
    assert read_recipe("tiny", ["train.seed=7"]).train.seed == 7


def test_json_of_perplexity_is_a_path_or_printed(two_kinds: Path, tmp_path: Path) -> None:
    command = ("perplexity", "--data", two_kinds, "--max-tokens", 40)
    out = tmp_path / "out.json"
    assert "bits per character" in elmokit(*command, "--json", out)
    assert json.loads(out.read_text()) == results_of(*command, "--json", "-")
    flag = results_of("perplexity", "--json", SHIPPED, *command[1:])
    assert flag == json.loads(out.read_text())


def test_another_vocabulary_is_refused_with_what_to_do(tiny_data: Path) -> None:
    with pytest.raises(InputError, match=r"prepare the same text with  --vocabulary .*en-small"):
        elmokit("perplexity", "--data", tiny_data)


def test_the_model_that_ships_predicts_and_is_tuned(two_kinds: Path, tmp_path: Path) -> None:
    said = elmokit("predict", "The capital of France is ___ .", "--top", 3)
    assert len(said.splitlines()) == 4
    with pytest.raises(InputError, match="there is no blank in 'The capital'"):
        elmokit("predict", "The capital")
    said = elmokit(
        "finetune", "--data", two_kinds, "-o", tmp_path / "tuned",
        "--set", "train.batch_size=4", "--set", "train.max_tokens=240",
    )  # fmt: skip
    assert "warning: only" in said
    assert "before: " in said and "after:  " in said
    assert (tmp_path / "tuned" / "model.safetensors").is_file()
