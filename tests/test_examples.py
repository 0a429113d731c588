"""The examples run, here with a tiny untrained model."""

import re
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


def test_the_readme_prints_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Five lines")[1].split("\n## ")[0]
    code, shown = re.findall(r"```(?:python)?\n(.*?)```", section, re.DOTALL)[:2]
    exec(code, {})
    assert capsys.readouterr().out == shown


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
