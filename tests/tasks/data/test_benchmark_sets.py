"""How files become training, development and test sets."""

import json
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.tasks.data.benchmark_sets import (
    HELD_OUT_ARTICLES,
    benchmark_splits,
    named_split,
    split_by_name,
)


def test_a_folder_splits_80_10_10_by_name(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02d}.conll").touch()
    split = split_by_name(tmp_path)
    assert [len(part) for part in split] == [16, 2, 2]
    assert [path.stem for path in split[1] + split[2]] == ["16", "17", "18", "19"]


def test_a_named_split_lists_the_files_that_exist(tmp_path: Path) -> None:
    path, splits = tmp_path / "GUM_a.conll", tmp_path / "splits.md"
    path.touch()
    splits.write_text("# Splits\n\n## dev\n\n  * GUM_b\n\n## test\n\n  * GUM_a\n  * GUM_c\n")
    assert named_split(tmp_path, splits, "test") == [path]


def test_questions_are_held_out_by_article(tmp_path: Path) -> None:
    def write(name: str, articles: range) -> None:
        asked = {"question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}
        values = [
            {
                "title": f"T{number:02d}",
                "paragraphs": [
                    {"context": "Ann slept.", "qas": [{"id": f"{number}{part}", **asked}]}
                    for part in "ab"
                ],
            }
            for number in articles
        ]
        (tmp_path / "squad").mkdir(exist_ok=True)
        (tmp_path / "squad" / name).write_text(json.dumps({"data": values}))

    write("dev.json", range(1))
    write("train.json", range(HELD_OUT_ARTICLES + 2))
    splits = benchmark_splits("squad", tmp_path)
    assert [len(part) for part in splits[:3]] == [4, 2 * HELD_OUT_ARTICLES, 2]
    assert {example.article for example in splits.train} == {"T00", "T01"}
    write("train.json", range(HELD_OUT_ARTICLES))
    with pytest.raises(InputError, match=r"train\.json: questions on 40 articles"):
        benchmark_splits("squad", tmp_path)
