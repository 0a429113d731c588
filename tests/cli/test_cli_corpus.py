"""The command ``elmokit prepare``, run as a user runs it."""

import subprocess
import sys
from pathlib import Path

from elmokit.pretrain.corpus.corpus import Corpus


def run(*arguments: object, text: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "elmokit", *map(str, arguments)],
        input=text, capture_output=True, text=True,
    )  # fmt: skip


def test_prepare_reads_standard_input_and_reports(tmp_path: Path) -> None:
    result = run(
        "prepare", "-", "-o", tmp_path / "data", "--sentences", "default", "--heldout", "0.3",
        "--vocabulary-size", "5", text="A cat sat. It left.\n\nA dog ran.\n",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "vocabulary: 5 of 11 distinct words" in result.stdout
    corpus = Corpus.open(tmp_path / "data")
    assert corpus.train.num_sentences + corpus.heldout.num_sentences == 3


def test_prepare_says_in_one_sentence_what_is_wrong(tmp_path: Path) -> None:
    result = run("prepare", tmp_path / "nowhere", "-o", tmp_path / "data")
    assert result.returncode == 1
    assert result.stderr == f"elmokit: {tmp_path / 'nowhere'}: no such file or folder\n"
