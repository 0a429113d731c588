"""``elmokit change``: two small corpora in which one word changes, and the files it writes."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from tiny_lm import tiny_lm
from typer.testing import CliRunner

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.semantic_change.compare import (
    sample_corpora,
    samples_of_usages,
    word_change,
)
from elmokit.analysis.semantic_change.output import change_table, concordance, write_change
from elmokit.analysis.semantic_change.pseudo_change import make_pseudo_words, score_pseudo_change
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.analysis.words.sample import sample_occurrences
from elmokit.analysis.words.wug import Usage, read_uses, write_uses
from elmokit.cli import app, lexical
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.pretrain.substitutes import SubstituteReader
from elmokit.weights.native import write_native

assert lexical.change  # imported for its command
FIRST = ["the river bank sat .", "a cat sat on the mat ."] * 15
SECOND = ["do n't bank on a dog", "a cat sat on the mat ."] * 15


@pytest.fixture
def corpora(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "old.txt", tmp_path / "new.txt"
    for path, lines in zip(paths, (FIRST, SECOND), strict=True):
        path.write_text("\n".join(lines) + "\n")
    return paths


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_word_that_changed_comes_first(corpora: tuple[Path, Path], tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "lm")
    targets = tmp_path / "targets.txt"
    targets.write_text("cat\nbank\nzebra\n")
    out = tmp_path / "out"
    said = run(
        "change", *corpora, "-m", tmp_path / "lm", "--targets", targets, "-o", out,
        "--pretokenized",
    )  # fmt: skip
    assert "left out: zebra" in said
    with (out / "change.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [row["word"] for row in rows] == ["bank", "cat"]
    assert float(rows[0]["p"]) < 0.01 < 0.5 < float(rows[1]["p"])
    assert float(rows[1]["apd"]) == pytest.approx(0, abs=1e-5)
    assert (out / "answer/task1/english.txt").read_text() == "bank\t1\ncat\t0\n"
    graded = (out / "answer/task2/english.txt").read_text().splitlines()
    assert graded[0].startswith("bank\t") and graded[1].startswith("cat\t")
    page = (out / "words" / "1.html").read_text()
    assert "<h1>bank</h1>" in page and "river" in page and "Substitutes:" in page
    assert 'href="words/1.html"' in (out / "index.html").read_text()
    assert {usage.grouping for usage in read_uses(out / "uses.csv")} == {"1", "2"}
    again, names = samples_of_usages(out / "uses.csv")
    assert names == ("1", "2")
    assert len(again.first["bank"].occurrences) == 15


def test_without_targets_all_frequent_words_are_ranked(corpora: tuple[Path, Path]) -> None:
    read = [lambda lines=lines: (line.split() for line in lines) for lines in (FIRST, SECOND)]
    samples = sample_corpora(read[0], read[1], None, min_count=15)
    assert set(samples.first) == {"the", "bank", "sat", "a", "cat", "on", "mat"}
    encoder = BiLmEncoder(Embedder(tiny_lm()))
    result = word_change(encoder, samples, ("old", "new"), quiet=True)
    scores = [row.evidence.excess for row in result.words]
    assert scores == sorted(scores, reverse=True)
    other = word_change(encoder, samples, ("old", "new"), measure="apd", quiet=True)
    scores = [row.evidence.distances.apd for row in other.words]
    assert scores == sorted(scores, reverse=True)
    again = word_change(encoder, samples, ("old", "new"), quiet=True)
    assert [row.evidence for row in again.words] == [row.evidence for row in result.words]
    with pytest.raises(InputError, match="no word occurs 1000 times in both corpora"):
        sample_corpora(read[0], read[1], None, min_count=1000)


def test_targets_that_are_too_rare_are_refused_in_one_sentence() -> None:
    read = [lambda lines=lines: (line.split() for line in lines) for lines in (FIRST, SECOND)]
    samples = sample_corpora(read[0], read[1], ["zebra", "river"])
    with pytest.raises(InputError, match=r"none of the words \('zebra', 'river'.* occurs 10 times"):
        word_change(BiLmEncoder(Embedder(tiny_lm())), samples, ("old", "new"), quiet=True)


def test_answers_keep_the_spelling_of_the_targets(
    corpora: tuple[Path, Path], tmp_path: Path
) -> None:
    samples = sample_corpora(*map(str, corpora), targets=["Bank", "bank", "CAT", "Zebra", "river"])
    result = word_change(Embedder(tiny_lm()), samples, ("old", "new"), quiet=True)
    write_change(result, tmp_path / "out", None)
    answer = (tmp_path / "out/answer/task2/english.txt").read_text().splitlines()
    scores = dict(line.split("\t") for line in answer)
    assert list(scores) == ["Bank", "CAT", "bank"] and scores["Bank"] == scores["bank"]


def test_absent_targets_are_told_apart_from_rare_ones(
    corpora: tuple[Path, Path], tmp_path: Path
) -> None:
    for corpus in corpora:
        corpus.write_text(corpus.read_text() + "the zebra .\n" * 3)
    targets = ["bank", "zebra", "river", "don't", "quay"]
    samples = sample_corpora(*corpora, targets=targets)
    result = word_change(Embedder(tiny_lm()), samples, ("old", "new"), quiet=True)
    assert result.absent == ("river", "don't", "quay")
    note = change_table(result).note
    assert "Too rare in one of the corpora, left out: zebra." in note
    assert "Absent from one of the corpora, left out: river, don't (do + n't), quay." in note
    write_change(result, tmp_path / "out", None)
    left_out = (tmp_path / "out" / "left-out.tsv").read_text().splitlines()
    assert left_out == [
        "word\tcount_1\tcount_2", "zebra\t3\t3", "river\t15\t0", "don't\t0\t0", "quay\t0\t0",
    ]  # fmt: skip


def test_the_page_of_a_word_outside_the_vocabulary_says_so(tmp_path: Path) -> None:
    lines = [["the", "quay", "sat"]] * 10, [["a", "quay", "."]] * 10
    model = Embedder(tiny_lm())
    samples = sample_corpora(lambda: lines[0], lambda: lines[1], ["quay"])
    result = word_change(model, samples, ("old", "new"), quiet=True)
    write_change(result, tmp_path / "out", SubstituteReader(model))
    page = (tmp_path / "out" / "words" / "1.html").read_text()
    assert "“quay” is outside the model&#x27;s vocabulary" in page


def test_equal_corpora_have_no_typical_substitutes_and_no_negative_zeros(tmp_path: Path) -> None:
    sentences = [line.split() for line in FIRST]
    model = Embedder(tiny_lm())
    samples = sample_corpora(lambda: sentences, lambda: sentences, ["bank", "cat"])
    result = word_change(model, samples, ("old", "new"), quiet=True)
    write_change(result, tmp_path / "out", SubstituteReader(model))
    for page in (tmp_path / "out" / "words").iterdir():
        assert "Substitutes:" not in page.read_text()
    written = [*(tmp_path / "out").rglob("*.html"), tmp_path / "out" / "change.tsv"]
    shown = [change_table(result).markdown(), *(path.read_text() for path in written)]
    assert not [text for text in shown if re.search(r"-0\.0+\b(?!\d)", text)]


def test_usages_keep_their_identifiers_and_targets_choose_among_them(tmp_path: Path) -> None:
    usages = [
        Usage(
            lemma, grouping, f"{lemma}:{grouping}:{row}",
            Occurrence(["the", lemma.lower(), ["sat", "."][row % 2], str(row)], 1), "nn", str(row),
        )
        for lemma in ("Bank", "cat")
        for grouping in ("1850", "1990")
        for row in range(40)
    ]  # fmt: skip
    write_uses(tmp_path / "uses.csv", usages)
    write_native(tiny_lm(), tmp_path / "lm")
    (tmp_path / "targets.txt").write_text("bank\nzebra\n")
    said = run(
        "change", tmp_path / "uses.csv", "-m", tmp_path / "lm", "-o", tmp_path / "out",
        "--targets", tmp_path / "targets.txt", "--limit", 20,
    )  # fmt: skip
    assert "left out: zebra" in said
    found = read_uses(tmp_path / "out" / "uses.csv")
    assert len(found) == 40
    assert all(usage in usages and usage.lemma == "Bank" for usage in found)
    rows = [int(usage.date) for usage in found if usage.grouping == "1990"]
    assert rows == sorted(rows) and max(rows) > 20  # a random sample, not the first ones


def test_one_corpus_alone_must_be_usages(corpora: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="not a DURel file of usages"):
        run("change", corpora[0])
    with pytest.raises(InputError, match="no such file or folder"):
        run("change", corpora[0], "absent.txt")


def test_a_sample_is_even_and_bounded() -> None:
    sentences = [["a", str(number)] for number in range(200)]
    found = sample_occurrences(sentences, ["A"], limit=50)["a"]
    assert found.num_found == 200 and len(found.occurrences) == 50
    numbers = [int(occurrence.tokens[1]) for occurrence in found.occurrences]
    assert numbers == sorted(set(numbers))
    assert 70 < np.mean(numbers) < 130


def test_words_of_a_sentence_share_its_tokens() -> None:
    found = sample_occurrences([("a", "b", "a")], ["a", "b"], limit=5)
    kept = [*found["a"].occurrences, *found["b"].occurrences]
    assert len(kept) == 3 and len({id(occurrence.tokens) for occurrence in kept}) == 1


def test_equal_tokens_of_a_sample_are_kept_once() -> None:
    lines = [f"the word number {number}" for number in range(3)]
    found = sample_occurrences(map(str.split, lines), ["number"], limit=5)["number"]
    assert len({id(occurrence.tokens[1]) for occurrence in found.occurrences}) == 1


def test_concordances_come_from_all_parts_and_are_cut_between_words() -> None:
    long = "verylongword " * 9
    uses = [Occurrence(f"{long} line {n} bank {long}".split(), 11) for n in range(60)]
    lines = concordance(uses)
    assert len(lines) == 15 and "line 0<" in lines[0] and "line 56<" in lines[-1]
    assert '<td class="left">… verylongword' in lines[0]
    assert "verylongword …</td></tr>" in lines[0]


def test_pseudo_words_are_merged_in_known_proportions() -> None:
    words = ("river", "green", "stone", "apple", "horse", "chair")
    random = np.random.default_rng(0)
    text = [["the", words[n % 6], "sat", str(random.integers(9))] for n in range(1200)]
    found, halves = make_pseudo_words(text, num_words=3, per_side=20)
    assert sorted(word.share for word in found) == [0.0, 0.5, 1.0]
    assert set(halves) == {0, 1}
    for word in found:
        later = [occurrence.word for occurrence in word.occurrences[1]]
        assert later.count(word.second) == round(20 * word.share)
        assert {occurrence.word for occurrence in word.occurrences[0]} == {word.first}
    result = score_pseudo_change(
        BiLmEncoder(Embedder(tiny_lm())), text, num_words=3, per_side=20, quiet=True
    )
    rows = {row.vectors: row.correlations for row in result.rows}
    assert rows["token layer"][1] == pytest.approx(1)  # PRT: the spelling gives it away
    assert "static vectors, aligned" in rows
    with pytest.raises(InputError, match="4 pseudo-words need 8 words"):
        make_pseudo_words(text, num_words=4, per_side=20)
