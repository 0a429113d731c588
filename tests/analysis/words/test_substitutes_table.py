"""``elmokit substitutes`` as a person types it."""

import json
from pathlib import Path

from tiny_lm import tiny_lm
from typer.testing import CliRunner

from elmokit.cli import app, lexical
from elmokit.weights.native import write_native

assert lexical.substitutes  # imported for its command


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_both_lists_stand_side_by_side_and_in_json(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    said = run("substitutes", tmp_path / "lm", "the *cat* sat", "--top", "3")
    assert "with the word" in said and "by the context alone" in said
    assert "The context gives “cat” itself" in said
    found = json.loads(run("substitutes", tmp_path / "lm", "the *cat* sat", "--json", "-"))
    assert found["place"] == 1
    assert len(found["with_word"]) == len(found["by_context"]) == 10


def test_a_word_outside_the_vocabulary_is_said_to_be_so(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    said = run("substitutes", tmp_path / "lm", "the *zebra* sat")
    assert "“zebra” is outside the model's vocabulary" in said
    assert "with the word" not in said
