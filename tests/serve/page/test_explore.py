"""From texts and a model's name to a page: ``elmokit.explore`` and the command."""

from pathlib import Path

import pytest
from tiny_lm import tiny_lm
from typer.testing import CliRunner

import elmokit
from elmokit.cli import app, explore  # noqa: F401  adds its command
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError

TEXT = "The bank is on the river. A dog sat on the bank.\n" * 5


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    Embedder(tiny_lm()).save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("texts") / "novel-1899.txt"
    path.write_text(TEXT)
    return str(path)


def test_a_loaded_model_explores_a_text(model: str, text: str) -> None:
    page = elmokit.explore(text, words=["bank"], model=elmokit.load(model), title="Banks")
    (found,) = page.document["explorations"]
    assert found["corpus"]["name"] == "novel-1899.txt" and found["words"][0]["num_found"] == 10
    assert found["model"]["can_predict"] and len(found["expectations"]) >= 2
    assert page.document["title"] == "Banks"


def test_a_model_may_be_given_as_elsewhere(model: str, text: str) -> None:
    wanted = elmokit.explore(text, words=["bank"], model=model).document["explorations"]
    for given in (Path(model), elmokit.load(model).pretrained):
        found = elmokit.explore(text, words=["bank"], model=given).document["explorations"]
        assert found[0]["model"] == wanted[0]["model"] and found[0]["words"] == wanted[0]["words"]
    with pytest.raises(InputError, match="got 3"):
        elmokit.explore(text, words=["bank"], model=3)  # type: ignore[arg-type]


def test_the_command_writes_a_page_of_two_models(model: str, text: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    arguments = [text, "-m", model, "--other-model", f"untrained:{model}", "-w", "bank"]
    result = CliRunner().invoke(app, ["explore", *arguments, "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert "page.html: bank (" in result.output
    assert "untrained (seed 1)" in out.read_text(encoding="utf-8")


def test_a_missing_word_leaves_no_page(model: str, text: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["explore", text, "-m", model, "-w", "zebra", "-o", str(out)])
    assert isinstance(result.exception, InputError)
    assert "'zebra' is not a token of novel-1899.txt" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_options_that_cannot_go_together_are_refused(model: str, text: str) -> None:
    with pytest.raises(InputError, match="two models or two texts, not both"):
        elmokit.explore(text, model=model, other_model=model, other_texts=[text])
    result = CliRunner().invoke(app, ["explore", text, "-w", "bank", "--seed", "2"])
    assert str(result.exception).startswith("--word, --seed: only for a page that is written")


def test_the_former_name_of_occurrences_is_accepted(model: str, text: str, tmp_path: Path) -> None:
    arguments = [text, "-m", model, "-w", "bank", "--uses", "2", "-o", str(tmp_path / "page.html")]
    result = CliRunner().invoke(app, ["explore", *arguments])
    assert result.exit_code == 0, result.output
