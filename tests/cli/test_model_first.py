"""MODEL before the text of ``static``, ``surprisal``, ``substitutes`` and ``predict``, or not."""

from pathlib import Path

import pytest
from tiny_lm import tiny_lm
from typer import BadParameter
from typer.testing import CliRunner, Result

from elmokit.cli import app, embedding, lexical, pretrain  # noqa: F401  adds the commands
from elmokit.cli.model_first import model_and_text, model_and_texts
from elmokit.cli.options import Compute
from elmokit.integrations import word2vec
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def texts(tmp_path: Path) -> tuple[str, str]:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    for path in (one, two):
        path.write_text("The cat sat.\n")
    return str(one), str(two)


def test_a_first_text_is_no_model(texts: tuple[str, str], tmp_path: Path) -> None:
    one, two = texts
    assert model_and_texts([one], None) == ("en-small", [one])
    assert model_and_texts([one, two], None) == ("en-small", [one, two])
    assert model_and_texts([str(tmp_path), two], None) == ("en-small", [str(tmp_path), two])
    assert model_and_texts(["-"], None) == ("en-small", ["-"])


@pytest.mark.parametrize("name", ["en-small", "user/model", "run/model.ckpt-7", "misspelt"])
def test_what_is_not_on_disk_is_the_model_before_the_text(
    name: str, texts: tuple[str, str]
) -> None:
    assert model_and_texts([name, *texts], None) == (name, list(texts))


@pytest.mark.parametrize("file", ["weights.hdf5", "elmo.zip", "model.tar.gz", "model.ckpt-7.index"])
def test_a_file_of_a_model_is_the_model(file: str, texts: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / file
    path.write_bytes(b"PK\x05\x06" + bytes(18))  # an empty zip file
    assert model_and_texts([str(path), texts[0]], None) == (str(path), [texts[0]])


@pytest.mark.parametrize("file", ["config.json", "options.json", "inner/config.json", "saved.pb"])
def test_a_folder_of_a_model_is_the_model(file: str, texts: tuple[str, str]) -> None:
    folder = Path(texts[0]).parent / "model"
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_text("{}")
    (folder / "vocab.txt").write_text("cat\n")
    assert model_and_texts([str(folder), texts[0]], None) == (str(folder), [texts[0]])
    with pytest.raises(BadParameter, match="is a model: give a TEXT too"):
        model_and_texts([str(folder)], None)
    assert model_and_texts([str(folder)], "m") == ("m", [str(folder)])


def test_a_model_without_text_is_refused() -> None:
    result = run("surprisal", "en-small")
    assert result.exit_code == 2
    assert "en-small is a model: give a TEXT too" in " ".join(result.output.split())


def test_with_the_option_every_word_is_text(texts: tuple[str, str]) -> None:
    assert model_and_texts(["en-small", *texts], "other") == ("other", ["en-small", *texts])


def test_one_text_may_have_one_model_before_it() -> None:
    assert model_and_text(["a *b* ."], None) == ("en-small", "a *b* .")
    assert model_and_text(["a *b* ."], "m") == ("m", "a *b* .")
    assert model_and_text(["m", "a *b* ."], None) == ("m", "a *b* .")
    for words, model in ((["m", "a", "b"], None), (["m", "a"], "m")):
        with pytest.raises(BadParameter, match="at most one model before it"):
            model_and_text(words, model)


@pytest.mark.parametrize(
    "command", [["surprisal", "TEXT", "-q"], ["substitutes", "the *cat* sat"], ["predict", "a ___"]]
)
def test_commands_of_a_language_model_take_en_small_or_the_option(
    command: list[str], texts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def language_model(self: Compute, name: str) -> PretrainedModel:
        asked.append(name)
        return tiny_lm()

    monkeypatch.setattr(Compute, "language_model", language_model)
    words = [texts[0] if word == "TEXT" else word for word in command]
    for given in ((), ("--model", "other")):
        result = run(*words, *given)
        assert result.exit_code == 0, result.output
    result = run(words[0], "third", *words[1:])
    assert result.exit_code == 0, result.output
    assert asked == ["en-small", "other", "third"]


def test_static_takes_en_small_or_the_option(
    texts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    asked = []

    def run_static(model: str, given: list[str], *others: object) -> str:
        asked.append((model, given))
        return "done"

    monkeypatch.setattr(word2vec, "run_static", run_static)
    out = tmp_path / "out.txt"
    for words in ([*texts], [*texts, "-m", "other"], [tmp_path / "lm", *texts]):
        result = run("static", *words, "-o", out)
        assert result.exit_code == 0, result.output
    assert [model for model, _ in asked] == ["en-small", "other", str(tmp_path / "lm")]
    assert all(given == list(texts) for _, given in asked)
