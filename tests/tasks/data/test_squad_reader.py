import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from elmokit.errors import InputError
from elmokit.tasks.data.squad import Answer, answer_spans, parse_questions, read_squad

CONTEXT = "Art matters. The art of war (1910-12) is no art."


def write(folder: Path, answers: list[dict[str, Any]], context: str = CONTEXT) -> Path:
    path = folder / "squad.json"
    question = {"id": "q7", "question": "What matters?", "answers": answers}
    paragraph = {"context": context, "qas": [question]}
    path.write_text(json.dumps({"data": [{"title": "T", "paragraphs": [paragraph]}]}))
    return path


def test_questions_are_read_and_tokenised(tmp_path: Path) -> None:
    (example,) = read_squad(write(tmp_path, [{"text": "Art", "answer_start": 0}]))
    assert example.name == "q7"
    assert example.question_words == ("What", "matters", "?")
    assert example.passage.words[:5] == ("Art", "matters", ".", "The", "art")
    assert example.answers == (Answer("Art", 0),)


def test_a_compressed_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    plain = write(tmp_path, [{"text": "Art", "answer_start": 0}])
    packed = tmp_path / "squad.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    (example,), (expected,) = read_squad(packed), read_squad(plain)
    assert example.passage.text == expected.passage.text and example.answers == expected.answers


def test_an_answer_becomes_the_tokens_it_covers(tmp_path: Path) -> None:
    start = CONTEXT.index("art of war")
    (example,) = read_squad(write(tmp_path, [{"text": "art of war", "answer_start": start}]))
    (span,) = answer_spans(example, every_occurrence=False)
    assert span == (4, 6)
    assert example.text_of(span) == "art of war"


def test_a_token_that_an_answer_cuts_belongs_to_it(tmp_path: Path) -> None:
    start = CONTEXT.index("1910")
    (example,) = read_squad(write(tmp_path, [{"text": "1910", "answer_start": start}]))
    (span,) = answer_spans(example, every_occurrence=False)
    assert example.text_of(span) == "1910-12"


def test_every_occurrence_as_whole_words_can_be_asked_for(tmp_path: Path) -> None:
    context = "The art of parting is an art."
    (example,) = read_squad(write(tmp_path, [{"text": "art", "answer_start": 4}], context))
    assert answer_spans(example, every_occurrence=True) == [(1, 1), (6, 6)]


def test_questions_on_one_context_share_it(tmp_path: Path) -> None:
    path = write(tmp_path, [{"text": "Art", "answer_start": 0}])
    values = json.loads(path.read_text())
    values["data"][0]["paragraphs"][0]["qas"] *= 2
    path.write_text(json.dumps(values))
    first, second = read_squad(path)
    assert first.passage is second.passage


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"text": "art", "answer_start": 1}], "question 'q7': the answer 'art' is not at"),
        ([{"text": "art"}], "question 'q7': not in SQuAD's form .*'answer_start' is missing"),
        ([{"text": 3, "answer_start": 1}], "question 'q7': expected text, got 3"),
    ],
)
def test_a_wrong_answer_is_named(
    tmp_path: Path, answers: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_squad(write(tmp_path, answers))


def test_broken_json_is_located(tmp_path: Path) -> None:
    path = tmp_path / "squad.json"
    path.write_text('{"data": [\n  {"title" 3}]}')
    with pytest.raises(InputError, match="line 2, column 12: broken JSON"):
        read_squad(path)


def test_an_empty_file_holds_no_questions(tmp_path: Path) -> None:
    path = tmp_path / "squad.json"
    path.write_text("")
    assert read_squad(path) == []


def test_a_file_without_any_answer_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    with pytest.raises(InputError, match=r"squad\.json: none of its 1 questions has an answer"):
        read_squad(path)
    assert len(list(parse_questions(path.open(), "-"))) == 1


def test_typed_questions_stand_before_a_tab() -> None:
    (example,) = parse_questions(["Who came?\tAnn came.\n"], "-")
    assert example.question_words == ("Who", "came", "?")
    assert example.passage.words == ("Ann", "came", ".")
    with pytest.raises(InputError, match="line 1: expected a question, a tab"):
        list(parse_questions(["Who came?\n"], "-"))


def test_json_given_for_prediction_loses_its_answers(tmp_path: Path) -> None:
    path = write(tmp_path, [{"text": "Art", "answer_start": 0}])
    values = json.dumps(json.loads(path.read_text()), indent=1)
    (example,) = parse_questions(values.splitlines(keepends=True), "-")
    assert (example.name, example.passage.text, example.answers) == ("q7", CONTEXT, ())
