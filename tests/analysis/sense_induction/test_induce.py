"""``elmokit senses``: from a text to described clusters, and what is said where it cannot be."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tiny_lm import WORDS, tiny_lm
from typer.testing import CliRunner

import elmokit
from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.sense_induction.induce import (
    compare_with_annotators,
    find_occurrences,
    induce_senses,
    senses_tables,
)
from elmokit.analysis.words.build_index import build_index
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.wug import Usage, read_clusters, read_uses, write_clusters, write_uses
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
    more = tuple(f"word-{number}" for number in range(200))  # enough to describe two senses
    result = induce_senses(Embedder(tiny_lm((*WORDS, *more))), "bank", sample)
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
    with (out / "senses.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    clusters = {row["identifier"]: row["cluster"] for row in rows}
    assert clusters == read_clusters(out / "clusters.csv")
    assert all(int(row["sense"]) == int(row["cluster"]) + 1 for row in rows)
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
    assert not result.is_unknown


def test_a_model_loaded_without_its_softmax_still_labels_senses(text: Path, tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    elmo = elmokit.load(tmp_path / "lm")
    assert elmo.pretrained.output_words is None
    result = induce_senses(elmo, "bank", find_occurrences("bank", [str(text)]))
    assert all(sense.substitutes for sense in result.senses)


def usages_of_bank(number: int) -> list[Usage]:
    """Dated usages of two groupings, each with an identifier of its own."""
    return [
        Usage(
            "bank", str(1 + row % 2), f"fiction-{1900 + row}",
            Occurrence(["the", ["river", "dog"][row % 2], "bank", str(row)], 2),
            "nn", str(1900 + row),
        )
        for row in range(number)
    ]  # fmt: skip


def test_usages_keep_their_identifiers_groupings_and_dates(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    folder = tmp_path / "wug" / "data" / "bank"
    folder.mkdir(parents=True)
    usages = usages_of_bank(14)
    write_uses(folder / "uses.csv", usages)
    for source in (folder / "uses.csv", tmp_path / "wug"):
        out = tmp_path / "out"
        words = ["senses", "bank", str(source), "-m", str(tmp_path / "lm"), "-o", str(out)]
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
        assert read_uses(out / "uses.csv") == usages
        assert list(read_clusters(out / "clusters.csv")) == [each.identifier for each in usages]


def test_json_has_each_sentence_of_usages_once(tmp_path: Path) -> None:
    write_uses(tmp_path / "uses.csv", usages_of_bank(12))
    sample = find_occurrences("bank", [str(tmp_path / "uses.csv")])
    result = induce_senses(Embedder(tiny_lm()), "bank", sample, num_senses=1)
    plain = result.plain()
    assert plain["occurrences"][3]["tokens"] == ["the", "dog", "bank", "3"]
    assert plain["usages"][3] == {
        "lemma": "bank", "grouping": "2", "identifier": "fiction-1903", "pos": "nn",
        "date": "1903", "description": "-",
    }  # fmt: skip
    assert json.loads(json.dumps(plain)) == plain


def test_senses_are_compared_with_the_clusters_of_annotators(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    write_uses(tmp_path / "uses.csv", usages_of_bank(14))
    words = ["senses", "bank", tmp_path / "uses.csv", "-m", tmp_path / "lm", "--number", "2"]

    def run(*more: object) -> str:
        result = CliRunner().invoke(app, [str(word) for word in (*words, *more)])
        assert result.exit_code == 0, result.output
        return result.output

    run("-o", tmp_path / "out")
    ours = read_clusters(tmp_path / "out" / "clusters.csv")
    # Annotators who agree under other names, but for two usages that they could not place.
    theirs = ["ab"[int(label)] for label in ours.values()]
    write_clusters(tmp_path / "gold.csv", list(ours), [*theirs[:12], -1, -1])
    found = json.loads(run("--clusters", tmp_path / "gold.csv", "--json", "-"))["agreement"]
    assert (found["num_usages"], found["num_clusters"]) == (12, 2)
    assert found["ari"] == 1.0
    assert found["v"] == pytest.approx({"homogeneity": 1.0, "completeness": 1.0})
    write_clusters(tmp_path / "gold.csv", list(ours), [7] * 14)  # one sense
    assert "0.000" in run("--clusters", tmp_path / "gold.csv")


def test_clusters_of_other_usages_are_refused(text: Path, tmp_path: Path) -> None:
    write_uses(tmp_path / "uses.csv", usages_of_bank(12))
    write_clusters(tmp_path / "gold.csv", ["another"], [0])
    elmo = Embedder(tiny_lm())
    for source, message in (
        (tmp_path / "uses.csv", "none of the usages is in a cluster here, such as 'fiction-1900'"),
        (text, "give a uses.csv, not text"),
    ):
        result = induce_senses(elmo, "bank", find_occurrences("bank", [str(source)]))
        with pytest.raises(InputError, match=message):
            compare_with_annotators(result, tmp_path / "gold.csv")


def test_many_usages_are_sampled_at_random(tmp_path: Path) -> None:
    write_uses(tmp_path / "uses.csv", usages_of_bank(200))
    found = find_occurrences("bank", [str(tmp_path / "uses.csv")], limit=50)
    assert found.num_found == 200
    assert found.occurrences == [usage.occurrence for usage in found.usages]
    rows = [int(occurrence.tokens[3]) for occurrence in found.occurrences]
    assert rows == sorted(set(rows)) and len(rows) == 50
    assert 70 < np.mean(rows) < 130


def test_an_index_and_a_text_are_read_together_but_usages_alone(text: Path, tmp_path: Path) -> None:
    sentences = [line.split() for line in TEXT.splitlines()]
    build_index(BiLmEncoder(Embedder(tiny_lm())), sentences, tmp_path / "index", quiet=True)
    both = find_occurrences("bank", [str(tmp_path / "index"), str(text)])
    assert both.num_found == 32
    write_uses(tmp_path / "uses.csv", usages_of_bank(4))
    with pytest.raises(InputError, match=r"uses\.csv: usages cannot be combined with text"):
        find_occurrences("bank", [str(text), str(tmp_path / "uses.csv")])
    with pytest.raises(InputError, match=r"absent\.txt: no such file"):
        find_occurrences("bank", [str(tmp_path / "index"), "absent.txt"])


def test_a_folder_of_text_is_text_whatever_else_it_holds(text: Path, tmp_path: Path) -> None:
    write_uses(tmp_path / "uses.csv", usages_of_bank(4))
    assert find_occurrences("bank", [str(tmp_path)]).num_found == 16


def test_a_word_of_several_tokens_is_named_as_such(text: Path) -> None:
    with pytest.raises(InputError, match=r"\"don't\" is 2 tokens \(do \+ n't\); give one of them"):
        induce_senses(Embedder(tiny_lm()), "don't", find_occurrences("don't", [str(text)]))


def test_a_word_outside_the_vocabulary_gets_a_note(text: Path) -> None:
    text.write_text(TEXT.replace("bank", "Quay"))
    elmo = Embedder(tiny_lm())
    result = induce_senses(elmo, "quay", find_occurrences("quay", [str(text)]))
    assert result.is_unknown
    assert senses_tables(result)[0].note.startswith("“quay” is outside the model's vocabulary")
    known = induce_senses(elmo, "sat", find_occurrences("sat", [str(text)]))
    assert senses_tables(known)[0].note == ""
