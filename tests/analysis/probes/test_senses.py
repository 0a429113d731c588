"""Table 5 on data small enough to know the answers."""

import tarfile
from pathlib import Path

import numpy as np
import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.probes.mcnemar import McNemar
from elmokit.analysis.probes.sense_data import (
    SemCor,
    SenseInstance,
    SenseSentence,
    read_evaluation_set,
    read_semcor,
)
from elmokit.analysis.probes.senses import (
    SenseData,
    SensesResult,
    read_sense_data,
    senses_table,
    word_senses,
)
from elmokit.analysis.probes.wordnet import WordNet, read_wordnet
from elmokit.errors import InputError
from elmokit.recipe import from_plain, to_plain


def seen_before(layer: int, sentence: list[str], place: int) -> list[float]:
    """Layer 0 knows only the word; layer 1 knows the word before it."""
    before = sentence[place - 1] if place else ""
    return [1.0, 0.0, 0.0] if layer == 0 else [0.1, before == "ball", before == "Broadway"]


def test_layer_that_knows_the_context_finds_the_sense(wsd: Path) -> None:
    result = word_senses([ToyEncoder(seen_before, 2)], read_sense_data(wsd), quiet=True)
    first, blind, knowing = result.rows
    assert first.f1["ALL"] == 50  # zebra right, play (theatre first) wrong
    assert blind.f1["ALL"] == 50  # both senses equally near: WordNet's order decides
    assert knowing.f1["ALL"] == knowing.f1["semeval2007"] == 100
    assert blind.against_lower == {}
    assert knowing.against_lower["ALL"] == McNemar(only_lower=0, only_upper=5)
    assert knowing.against_lower["four"] == McNemar(only_lower=0, only_upper=4)
    assert from_plain(SensesResult, to_plain(result), "stored") == result
    assert result.num_instances["ALL"] == 10
    assert result.num_instances["four"] == 8
    assert result.num_unseen["ALL"] == 5  # zebra, in each set


def test_where_a_layer_and_the_first_sense_differ_is_counted(wsd: Path) -> None:
    result = word_senses([ToyEncoder(seen_before, 2)], read_sense_data(wsd), quiet=True)
    _, blind, knowing = result.rows
    assert blind.against_first["ALL"] == McNemar(only_lower=0, only_upper=0)
    assert knowing.against_first["four"] == McNemar(only_lower=0, only_upper=4)


@pytest.mark.parametrize("num_uses", [3, 7, 10])
def test_senses_of_one_vector_are_equal_however_often_they_were_seen(num_uses: int) -> None:
    """Sums of equal vectors, divided again, differ in the last bit: rounding must not decide."""
    vectors = np.random.default_rng(num_uses).normal(size=(50, 9))
    keys = [("play%1:10:01::",)] * num_uses + [("play%1:04:00::",)]
    semcor = [SenseSentence(["play"], [SenseInstance("play", "NOUN", key, 0, 1)]) for key in keys]
    judged = [SenseSentence(["play"], [SenseInstance("play", "NOUN", ("play%1:10:01::",), 0, 1)])]
    senses = {("play", "NOUN"): ["play%1:10:01::", "play%1:04:00::"]}
    for vector in vectors.tolist():
        encoder = ToyEncoder(lambda layer, sentence, place, vector=vector: vector, 1)
        data = SenseData(WordNet(senses), SemCor([semcor], 0, 0), {"senseval2": [judged]})
        result = word_senses([encoder], data, quiet=True)
        assert result.rows[1].f1 == {"senseval2": 100}


def test_rows_that_are_kept_are_not_computed_again(wsd: Path, tmp_path: Path) -> None:
    data, keep = read_sense_data(wsd), tmp_path / "keep"
    first = word_senses([ToyEncoder(seen_before, 2)], data, quiet=True, cache=keep)
    blind = ToyEncoder(lambda layer, sentence, place: [1.0, 0.0, 0.0], 2)  # the same fingerprint
    blind.name = "again"
    again = word_senses([blind], data, quiet=True, cache=keep)
    assert [row._replace(encoder="toy") for row in again.rows[1:]] == list(first.rows[1:])
    assert {row.encoder for row in again.rows[1:]} == {"again"}
    fewer = word_senses([blind], data, 1, quiet=True, cache=keep)
    assert fewer.rows[2].f1["ALL"] == 50  # other data, other rows
    assert len(list(keep.glob("senses-*/toy.json"))) == 2


def test_names_are_no_uses_and_multiwords_are_split(wsd: Path) -> None:
    semcor = read_semcor(wsd / "semcor30", read_wordnet(wsd / "wordnet30"))
    assert semcor.sentences[0].tokens == ["Broadway", "play", '"']
    assert semcor.sentences[2].tokens == ["Play", "Group", "single", "gone"]
    assert [instance.keys for instance in semcor.sentences[2].instances] == [
        ("single%5:00:00:individual:00",)
    ]
    assert (semcor.num_repaired, semcor.num_dropped) == (1, 1)


def test_instances_of_several_tokens_keep_their_span(wsd: Path) -> None:
    ((sentence,),) = read_evaluation_set(wsd / "evaluation", "senseval2")
    assert sentence.tokens == ["ball", "play", "(", "striped", "zebras"]
    assert [(instance.start, instance.end) for instance in sentence.instances] == [(1, 2), (3, 5)]


@pytest.mark.parametrize(
    ("lemma", "sense", "number", "expected"),
    [
        ("play", "1:10:01::", 1, "play%1:10:01::"),
        ("single", "5:00:00:individual(a):00", 0, "single%5:00:00:individual:00"),
        ("play", "1:10:09::", 2, "play%1:04:00::"),  # by its number
        ("play", "1:04:07::", 0, "play%1:04:00::"),  # the only one in its file
        ("zebra", "1:03:00::", 0, "zebra%1:05:00::"),  # the only one
        ("n't", "4:02:00::", 0, "not%4:02:00::"),
        ("play", "1:99:00::", 0, None),
        ("gone", "3:00:00::", 0, None),
    ],
)
def test_keys_are_repaired_in_a_fixed_order(
    wsd: Path, lemma: str, sense: str, number: int, expected: str | None
) -> None:
    assert read_wordnet(wsd / "wordnet30").repair(lemma, sense, number) == expected


def test_fewer_semcor_sentences_leave_senses_unseen(wsd: Path) -> None:
    encoder = ToyEncoder(seen_before, 2)
    result = word_senses([encoder], read_sense_data(wsd, ["senseval2"]), 1, quiet=True)
    assert result.num_semcor_sentences == 1
    assert result.rows[2].f1 == {"senseval2": 50}  # only the theatre is known


def test_table_has_the_papers_rows_beside_ours(wsd: Path) -> None:
    result = word_senses([ToyEncoder(seen_before, 2)], read_sense_data(wsd), quiet=True)
    text = senses_table(result).markdown()
    assert "| toy, layer 1 " in text
    assert "paper: biLM, layer 2" in text
    assert "1 were repaired and 1 left out" in text


@pytest.mark.parametrize(
    ("sets", "complaint"), [(["semeval2099"], "not an evaluation set"), ([], "none of the lemmas")]
)
def test_sets_that_are_not_there_are_refused(wsd: Path, sets: list[str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        word_senses([ToyEncoder(seen_before)], read_sense_data(wsd, sets), quiet=True)


def test_missing_answer_is_named(wsd: Path) -> None:
    (wsd / "evaluation" / "senseval2" / "senseval2.gold.key.txt").write_text("d0.s0.t0 a%1\n")
    with pytest.raises(InputError, match=r"no answer for d0\.s0\.t1"):
        read_evaluation_set(wsd / "evaluation", "senseval2")


@pytest.mark.slow
def test_first_sense_on_the_real_sets_is_the_published_one(shared: Path, tmp_path: Path) -> None:
    archive = shared / "data" / "wsd.tar.xz"
    if not archive.exists():
        pytest.skip(f"{archive} is absent: the evaluation sets cannot be read")
    with tarfile.open(archive) as tar:
        wanted = [
            member
            for member in tar
            if "/evaluation/" in f"/{member.name}" or member.name.endswith("index.sense")
        ]
        tar.extractall(tmp_path, wanted, filter="data")
    (root,) = {path.parent.parent for path in tmp_path.rglob("index.sense")}
    result = first_sense_alone(root)
    assert result.num_instances["ALL"] == 7253
    assert round(result.rows[0].f1["ALL"], 1) == 65.2
    assert round(result.rows[0].f1["four"], 1) == 65.9


def first_sense_alone(root: Path) -> SensesResult:
    wordnet = read_wordnet(root / "wordnet30")
    names = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
    evaluation = {name: read_evaluation_set(root / "evaluation", name) for name in names}
    return word_senses([], SenseData(wordnet, SemCor([], 0, 0), evaluation), quiet=True)


def test_wordnet_says_which_line_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "index.sense").write_text("play%1:04:00:: 1 2 8\nplay 1\n")
    with pytest.raises(InputError, match="line 2"):
        read_wordnet(tmp_path)
    assert WordNet({}).first_sense("play", "NOUN") is None
