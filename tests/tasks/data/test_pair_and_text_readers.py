"""Sentiment trees and tables, entailment JSON lines and tables."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.tasks.data.entailment import parse_pairs, read_entailment
from elmokit.tasks.data.sentiment import Phrase, parse_tree, read_sentiment


def test_a_tree_gives_tokens_label_and_inner_phrases() -> None:
    text = parse_tree("(3 (2 It) (4 (2 's) (3 (2 not) (1 bad))))", "here")
    assert text.tokens == ("It", "'s", "not", "bad")
    assert text.label == "3"
    assert text.phrases == (Phrase(2, 4, "3"), Phrase(1, 4, "4"))


def test_treebank_escapes_become_the_characters_they_stand_for() -> None:
    assert parse_tree(r"(2 (2 -LRB-) (2 and\/or) (2 ``))", "here").tokens == ("(", "and/or", '"')


@pytest.mark.parametrize("line", ["(3 (2 a)", "(3 a))", "(3 (2 a)) b", "( (2 a))", "()"])
def test_broken_trees_are_refused_with_their_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("(3 (2 fine))\n" + line + "\n")
    with pytest.raises(InputError, match="line 2"):
        read_sentiment(path)


def test_a_heading_names_the_columns_of_a_sentiment_table(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("label\tsentence\n1\tgood film\n")
    assert read_sentiment(path)[0].tokens == ("good", "film")
    path.write_text("good film\tpositive\n")
    assert read_sentiment(path)[0].label == "positive"


@pytest.mark.parametrize(
    ("reader", "line", "complaint"),
    [
        (read_sentiment, "sentence\tpolarity", "'sentence' but no label; .* label or sentiment or"),
        (read_entailment, "Premise\tHypothesis\tGold", "'premise' but no label; .* gold_label or"),
        (read_entailment, "label\tfirst\tsecond", "'label' but no premise"),
    ],
)
def test_a_heading_known_in_part_is_no_example(
    reader: Callable[[Path], object], line: str, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=f"line 1: a heading with {complaint}"):
        reader(path)


def test_a_table_may_begin_with_a_bracket(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("(Good) film\t1\n")
    assert read_sentiment(path) == [(("(", "Good", ")", "film"), "1", ())]


@pytest.mark.parametrize(
    ("reader", "line"),
    [
        (read_sentiment, "1\tthis is quite a long sentence indeed"),
        (read_entailment, "neutral\tA man sleeps .\tThis man is sleeping now ."),
    ],
)
def test_swapped_columns_are_noticed(
    reader: Callable[[Path], object], line: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match="line 1: expected a label"):
        reader(path)


def test_too_few_columns_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("a\tb\tneutral\nonly one\n")
    with pytest.raises(InputError, match="line 2: 1 columns"):
        read_entailment(path)


def test_snli_lines_without_agreement_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"sentence1": "A man.", "sentence2": "Two men.", "gold_label": "neutral"},
        {"sentence1": "A man.", "sentence2": "A dog.", "gold_label": "-"},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (pair,) = read_entailment(path)
    assert pair == (("A", "man", "."), ("Two", "men", "."), "neutral")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"sentence1": "a", ', "line 1: broken JSON"),
        ("[1, 2]", "line 1: expected a JSON object"),
        ('{"sentence1": "a", "gold_label": "x"}', "line 1: 'sentence2' is missing"),
    ],
)
def test_broken_json_is_named(line: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(InputError, match=complaint):
        read_entailment(path)


def test_a_pair_typed_without_a_tab_is_refused() -> None:
    with pytest.raises(InputError, match="typed, line 2"):
        list(parse_pairs(["a\tb", "no tab"], "typed"))


def test_sst_and_snli_have_the_counts_of_their_readme(shared_data: Path) -> None:
    counts = [len(read_sentiment(shared_data / "sst" / f"{name}.txt")) for name in ("dev", "test")]
    assert counts == [1101, 2210]
    assert len(read_entailment(shared_data / "nli" / "snli_1.0_dev.jsonl")) == 9842
    assert len(read_entailment(shared_data / "nli" / "counterfactual-all-train.tsv")) == 8330
