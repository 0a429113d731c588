"""Surprisal, substitutes, senses and change: the same from every format that holds a softmax."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_lm import WORDS, tiny_lm
from typer.testing import CliRunner

from elmokit.cli import app, lexical
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.native import write_native

assert lexical.surprisal  # imported for its command
OLD = "the river bank sat on a mat .\nthe cat sat on the river bank .\n" * 8
NEW = "do n't bank on a dog .\na dog sat on the bank .\n" * 8


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One model in elmokit's format, as ``elmokit export`` writes a run, and as published."""
    folder = tmp_path_factory.mktemp("models")
    ours, published = folder / "ours" / "lm", folder / "published" / "lm"
    write_native(tiny_lm((*WORDS, *(f"word-{number}" for number in range(50)))), ours)
    write_bilm_tf(tiny_lm((*WORDS, *(f"word-{number}" for number in range(50)))), published)
    return ours, published


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def texts_below(folder: Path) -> dict[str, str]:
    kinds = (".tsv", ".csv", ".txt", ".html")
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in kinds]
    return {str(path.relative_to(folder)): path.read_text() for path in files}


NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def numbers_and_rest(found: tuple[object, dict[str, str]]) -> tuple[list[float], str]:
    text = json.dumps(found, indent=1)
    return [float(number) for number in NUMBER.findall(text)], NUMBER.sub("#", text)


def test_a_published_model_with_its_softmax_gives_what_ours_gives(
    models: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = tmp_path / "old.txt", tmp_path / "new.txt"
    old.write_text(OLD)
    new.write_text(NEW)
    found = []
    for number, model in enumerate(models):
        out = tmp_path / f"out-{number}"
        out.mkdir()
        run("surprisal", model, old, "-q", "-o", out / "surprisal.tsv")
        run("senses", "bank", old, new, "-m", model, "-o", out / "senses")
        run("change", old, new, "-m", model, "--min-count", 10, "-o", out / "change")
        named = json.loads(run("substitutes", model, "the *bank* sat .", "--json", "-"))
        found.append((named, texts_below(out)))
    (numbers, rest), (other_numbers, other_rest) = map(numbers_and_rest, found)
    assert rest == other_rest
    # The weights are equal to the bit, but lie elsewhere in memory, on which MKL's sums depend.
    assert numbers == pytest.approx(other_numbers, rel=1e-5, abs=1e-4)
    assert {"surprisal.tsv", "senses/senses.tsv", "change/change.tsv"} <= set(found[0][1])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_killed_run_leaves_no_table_and_the_next_one_cleans_up(
    models: tuple[Path, Path], tmp_path: Path
) -> None:
    pipe, out = tmp_path / "pipe", tmp_path / "out" / "surprisal.tsv"
    os.mkfifo(pipe)
    words = ["surprisal", str(models[0]), str(pipe), "-q", "-o", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "elmokit", *words])
    with pipe.open("w") as file:  # opens once the command reads from the other end
        file.write(OLD * 4000)  # more than one window, so that rows have been written
        file.flush()
        process.kill()
    process.wait()
    assert not out.exists()
    assert len(list(out.parent.iterdir())) == 1  # what it had written, under another name
    (tmp_path / "old.txt").write_text(OLD)
    run("surprisal", models[0], tmp_path / "old.txt", "-q", "-o", out)
    assert [path.name for path in out.parent.iterdir()] == ["surprisal.tsv"]
