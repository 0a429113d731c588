"""The examples run: as they are, and with a tiny untrained model."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(
    name: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_two_apples_differ_above_the_token_layer(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("two_apples.py", [str(model)], monkeypatch, capsys)
    assert lines[0] == "layer 0: fruit to fruit 1.000, to company 1.000"
    assert len(lines) == 3


def test_the_task_model_learns(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("task_model.py", [str(model)], monkeypatch, capsys)
    first, last = (float(lines[row].split("loss ")[1].split(",")[0]) for row in (0, -1))
    assert last < first


def test_the_query_itself_is_the_most_similar_sentence(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The river rose.\n\nA cat slept on the mat.\nPrices fell in March.\n")
    query = "A cat slept on the mat."
    lines = run("similar_sentences.py", [str(text), query, str(model)], monkeypatch, capsys)
    assert lines[0].endswith(query)


def test_without_arguments_the_sentences_on_the_topic_of_the_query_come_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("similar_sentences.py", [], monkeypatch, capsys)
    assert len(lines) == 5
    assert all("rates" in line for line in lines[:2])


def test_a_text_without_a_query_prints_the_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="TEXT QUERY"):
        run("similar_sentences.py", ["text.txt"], monkeypatch, capsys)


@pytest.mark.parametrize("name", ["two_apples.py", "task_model.py"])
def test_an_example_runs_without_arguments(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, [], monkeypatch, capsys)


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in tested for path in EXAMPLES.glob("*.py"))
