"""``elmokit senses``: from a text to described clusters, and what is said where it cannot be."""

import json
from pathlib import Path

import pytest
from tiny_lm import tiny_lm
from typer.testing import CliRunner

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.sense_induction.induce import find_occurrences, induce_senses
from elmokit.analysis.words.build_index import build_index
from elmokit.analysis.words.wug import read_clusters, read_uses
from elmokit.cli import app, lexical
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.weights.native import write_native

assert lexical.senses  # imported for its command
TEXT = "".join(f"the {word} bank sat on a mat .\n" for word in ["river", "dog"] * 8)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_contexts_that_differ_become_senses(text: Path) -> None:
    sample = find_occurrences("Bank", [str(text)])
    assert sample.num_found == 16
    result = induce_senses(Embedder(tiny_lm()), "bank", sample)
    assert len(result.senses) == 2
    by_context = [occurrence.tokens[1] for occurrence in result.occurrences]
    for label in (0, 1):
        words = {w for w, own in zip(by_context, result.labels, strict=True) if own == label}
        assert len(words) == 1
    assert all(len(sense.substitutes) == 8 for sense in result.senses)
    assert all(len(sense.examples) == 1 for sense in result.senses)  # equal sentences count once


def test_the_command_writes_tables_a_picture_and_durel_files(text: Path, tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    words = ["senses", "bank", str(text), "-m", str(tmp_path / "lm"), "-o", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "The lowest BIC decides." in result.output
    out = tmp_path / "out"
    assert json.loads((out / "senses.json").read_text())["num_found"] == 16
    usages = read_uses(out / "uses.csv")
    assert usages[0].occurrence.tokens == ["the", "river", "bank", "sat", "on", "a", "mat", "."]
    assert usages[0].occurrence.place == 2
    assert set(read_clusters(out / "clusters.csv").values()) == {"0", "1"}
    assert len((out / "senses.tsv").read_text().splitlines()) == 17
    assert (out / "senses.svg").exists()
    again = find_occurrences("bank", [str(out / "uses.csv")])
    assert again.occurrences == find_occurrences("bank", [str(text)]).occurrences


def test_an_index_is_as_good_as_its_text(text: Path, tmp_path: Path) -> None:
    sentences = [line.split() for line in TEXT.splitlines()]
    build_index(BiLmEncoder(Embedder(tiny_lm())), sentences, tmp_path / "index", quiet=True)
    found = find_occurrences("bank", [str(tmp_path / "index")])
    assert found == find_occurrences("bank", [str(text)])


def test_an_absent_or_rare_word_is_refused(text: Path) -> None:
    elmo = Embedder(tiny_lm())
    with pytest.raises(InputError, match="'zebra' does not occur in this text"):
        induce_senses(elmo, "zebra", find_occurrences("zebra", [str(text)]))
    text.write_text("the bank .\n" * 9)
    with pytest.raises(InputError, match=r"'bank' occurs 9 times; .* needs at least 10"):
        induce_senses(elmo, "bank", find_occurrences("bank", [str(text)]))
    with pytest.raises(InputError, match="has layers 0 to 2; name one of them"):
        induce_senses(elmo, "bank", find_occurrences("bank", [str(text)]), layer="7")


def test_a_model_without_a_softmax_gives_senses_without_substitutes(text: Path) -> None:
    model = tiny_lm()
    model.output_words = None
    result = induce_senses(Embedder(model), "bank", find_occurrences("bank", [str(text)]))
    assert [sense.substitutes for sense in result.senses] == [(), ()]
