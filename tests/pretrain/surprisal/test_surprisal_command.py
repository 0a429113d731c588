"""``elmokit surprisal`` as a person types it: a table of tokens, or of words."""

import csv
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_lm import tiny_lm
from typer.testing import CliRunner

from elmokit.cli import app, lexical
from elmokit.errors import InputError
from elmokit.pretrain.surprisal import to_file
from elmokit.pretrain.surprisal.frequencies import read_frequencies
from elmokit.pretrain.surprisal.measure import surprisal
from elmokit.pretrain.surprisal.to_file import SurprisalOptions, surprisal_to_file
from elmokit.text.vocabulary import MARKERS, UNKNOWN
from elmokit.weights.native import write_native

assert lexical.surprisal  # imported for its command
TEXT = "The cat don't sat. A zebra sat on the mat.\n\nthe dog\nsat\n"


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm") / "tiny-lm"
    write_native(tiny_lm(), folder)
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_tokens_have_their_place_in_the_text(lm: Path, text: Path, tmp_path: Path) -> None:
    said = run("surprisal", lm, text, "-o", tmp_path / "out.tsv", "-q")
    assert "16 tokens of 4 sentences" in said
    rows = rows_of(tmp_path / "out.tsv")
    lines = TEXT.split("\n")
    for row in rows:
        assert lines[int(row["line"]) - 1][int(row["start"]) : int(row["end"])] == row["word"]
    assert [row["word"] for row in rows if row["sentence"] == "1"] == [
        "The", "cat", "do", "n't", "sat", ".",
    ]  # fmt: skip
    zebra = next(row for row in rows if row["word"] == "zebra")
    assert (zebra["forward"], zebra["forward_rank"], zebra["is_unk"]) == ("NA", "NA", "1")
    assert next(row for row in rows if row["word"] == "cat")["frequency_rank"] == "2"


def test_whole_words_are_the_sums_of_their_tokens(lm: Path, text: Path, tmp_path: Path) -> None:
    run("surprisal", lm, text, "-o", tmp_path / "tokens.tsv", "-q")
    run("surprisal", lm, text, "-o", tmp_path / "words.tsv", "-q", "--words")
    tokens = {row["word"]: row for row in rows_of(tmp_path / "tokens.tsv")[:6]}
    words = {row["word"]: row for row in rows_of(tmp_path / "words.tsv")}
    for way in ("forward", "backward"):
        expected = sum(float(tokens[part][way]) for part in ("do", "n't"))
        assert float(words["don't"][way]) == pytest.approx(expected)
    assert words["don't"]["tokens"] == "2"
    assert words["don't"]["forward_entropy"] == tokens["do"]["forward_entropy"]
    assert words["don't"]["backward_entropy"] == tokens["n't"]["backward_entropy"]
    assert words["don't"]["combined"] == "NA"
    assert words["cat"]["combined"] == tokens["cat"]["combined"]
    assert "mat." in words


def test_all_rows_with_the_ends_add_up_to_the_summary(text: Path, tmp_path: Path) -> None:
    options = SurprisalOptions(keep_unknown=True, with_ends=True, quiet=True)
    found = surprisal_to_file(tiny_lm(), [str(text)], tmp_path / "out.tsv", options)
    rows = rows_of(tmp_path / "out.tsv")
    assert len(rows) == found.num_predictions
    assert sum(float(row["forward"]) for row in rows) == pytest.approx(found.forward_bits)
    assert found.perplexity[0] == pytest.approx(2 ** (found.forward_bits / len(rows)))


def test_a_blank_line_starts_a_new_document(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_lm()
    expected = surprisal(model, [["the", "dog"], ["sat"]], start="carried")
    alone = surprisal(model, [["sat"]])
    for window in (1, 1000):  # documents that go on from one window to the next, and all in one
        monkeypatch.setattr(to_file, "WINDOW_TOKENS", window)
        options = SurprisalOptions(start="carried", quiet=True)
        surprisal_to_file(model, [str(text)], tmp_path / "out.tsv", options)
        last = float(rows_of(tmp_path / "out.tsv")[-1]["forward"])
        assert last == pytest.approx(expected[1].forward.bits[0], rel=1e-4)
        assert not math.isclose(last, alone[0].forward.bits[0], rel_tol=1e-3)


def test_pretokenised_text_is_taken_as_it_is(lm: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("don't  sat. .\n")
    out = tmp_path / "out.tsv"
    run("surprisal", lm, tmp_path / "text.txt", "-o", out, "-q", "--pretokenized")
    assert [(row["word"], row["start"]) for row in rows_of(out)] == [
        ("don't", "0"), ("sat.", "7"), (".", "12"),
    ]  # fmt: skip
    with pytest.raises(InputError, match="--words joins the tokens"):
        run("surprisal", lm, tmp_path / "text.txt", "--pretokenized", "--words")


def test_frequencies_come_from_a_corpus_or_a_list(
    lm: Path, text: Path, tiny_data: Path, tmp_path: Path
) -> None:
    counts, out = tmp_path / "counts.tsv", tmp_path / "out.tsv"
    counts.write_text("cat\t3\nsat\t1\n")
    run("surprisal", lm, text, "-o", out, "-q", "--frequencies", counts)
    found = {row["word"]: row["frequency"] for row in rows_of(out)}
    assert (found["cat"], found["sat"], found["zebra"]) == ("750000", "250000", "NA")
    run("surprisal", lm, text, "-o", out, "-q", "--frequencies", tiny_data)
    found = {row["word"]: row["frequency"] for row in rows_of(out)}
    assert 0 < float(found["cat"]) < 1e6
    assert found["zebra"] == "0"  # the corpus holds all words of its text, and this is none of them
    counts.write_text("cat three\n")
    with pytest.raises(InputError, match="line 1: expected a word, a tab and a count"):
        run("surprisal", lm, text, "-o", out, "--frequencies", counts)


def test_a_word_with_punctuation_has_the_frequency_of_the_word(lm: Path, tmp_path: Path) -> None:
    (tmp_path / "counts.tsv").write_text("cat\t3\nmat\t1\n")
    (tmp_path / "text.txt").write_text('The cat, "mat". don\'t\n')
    out = tmp_path / "out.tsv"
    run(
        "surprisal", lm, tmp_path / "text.txt", "-o", out, "-q", "--words",
        "--frequencies", tmp_path / "counts.tsv",
    )  # fmt: skip
    rows = {row["word"]: row for row in rows_of(out)}
    assert (rows["cat,"]["frequency"], rows["cat,"]["frequency_rank"]) == ("750000", "2")
    assert (rows['"mat".']["frequency"], rows['"mat".']["frequency_rank"]) == ("250000", "7")
    assert rows["don't"]["frequency_rank"] == "NA"


def test_a_corpus_that_dropped_words_does_not_know_that_a_word_is_absent(
    tiny_data: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(tiny_data, copy)
    (path,) = copy.rglob("counts.npy")
    counts = np.load(path)
    assert read_frequencies(copy).of("zebra") == 0
    counts[MARKERS.index(UNKNOWN)] = 5
    np.save(path, counts)
    assert math.isnan(read_frequencies(copy).of("zebra"))


def test_pandas_reads_every_word_as_it_was_written(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    words = ["the", '"', "NA", "null", "None", "'", "nan", '"', "1.50", "\\", "#"]
    (tmp_path / "text.txt").write_text(" ".join(words) + "\n")
    options = SurprisalOptions(pretokenized=True, quiet=True)
    surprisal_to_file(tiny_lm(), [str(tmp_path / "text.txt")], tmp_path / "out.tsv", options)
    out = tmp_path / "out.tsv"  # read as in docs/guide/words.md
    missing = {name: "NA" for name in pandas.read_csv(out, sep="\t", nrows=0) if name != "word"}
    rows = pandas.read_csv(out, sep="\t", quoting=3, keep_default_na=False, na_values=missing)
    assert rows["word"].tolist() == words
    assert rows["forward"].isna().tolist() == [word != "the" for word in words]


def test_text_without_words_leaves_no_file(lm: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="there is no text to measure"):
        run("surprisal", lm, tmp_path / "empty.txt", "-o", tmp_path / "out.tsv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt"]


def test_a_picture_that_cannot_be_drawn_is_refused_before_the_work(
    lm: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "o.tsv"
    with pytest.raises(InputError, match=r"s\.gif: a picture must end in \.png or \.svg"):
        run("surprisal", lm, text, "-o", out, "--picture", tmp_path / "s.gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"needs matplotlib: .* 'elmokit\[plot\]'"):
        run("surprisal", lm, text, "-o", out, "--picture", tmp_path / "s.svg")
    assert not out.exists()


def test_the_picture_shows_the_first_words(lm: Path, text: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("surprisal", lm, text, "-o", tmp_path / "o.tsv", "--picture", tmp_path / "s.svg", "--words")
    drawn = (tmp_path / "s.svg").read_text()
    assert "don't" in drawn
