"""Sentences with offsets: default and trained Punkt, other scripts, any length."""

import json
import pickle
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.errors import InputError
from elmokit.text.sentences import SentenceSplitter

PIECES = ["Mr. X", "word. ", 'Why?" ', "ok! ", "。", "？」", "\n\n", "a. ", " ", "T"]
texts = st.text() | st.lists(st.sampled_from(PIECES)).map("".join)

RUNNING_TEXT = "\n".join(
    f"Im Jahr {1900 + n} kam ca. {n} Mal Nr. {n} an. Das war bzgl. Nr. {n} gut. Er ging heim."
    for n in range(60)
)


def split(text: str) -> list[str]:
    return [sentence.text for sentence in SentenceSplitter.default().split(text)]


@given(texts)
def test_sentences_are_pieces_of_the_text_and_nothing_but_space_is_lost(text: str) -> None:
    sentences = SentenceSplitter.default().split(text)
    assert all(s.text == text[s.start : s.end] == s.text.strip() != "" for s in sentences)
    assert all(a.end <= b.start for a, b in pairwise(sentences))
    assert "".join("".join(s.text for s in sentences).split()) == "".join(text.split())


def test_abbreviations_and_initials_do_not_end_a_sentence() -> None:
    text = "Dr. J. Smith of Acme Inc. met Mrs. Doe at 5 p.m. on Jan. 3. They left."
    assert split(text) == [text[:-11], "They left."]


def test_a_quote_followed_by_lower_case_goes_on() -> None:
    assert split('"Stop!" he said. "Why?" She left.') == ['"Stop!" he said.', '"Why?"', "She left."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("今日は。元気？」はい！", ["今日は。", "元気？」", "はい！"]),
        ("राम आया। वह गया।", ["राम आया।", "वह गया।"]),
        ("كيف حالك؟ أنا بخير", ["كيف حالك؟", "أنا بخير"]),
    ],
)
def test_other_scripts_end_sentences_with_their_own_marks(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_a_blank_line_ends_a_sentence_and_a_line_break_does_not() -> None:
    assert split("A title\n\nIt was\ncold.") == ["A title", "It was\ncold."]


def test_text_longer_than_a_window_is_split_as_if_it_were_seen_at_once() -> None:
    sentence = "This is the sentence that Mr. Doe repeats."
    assert split(" ".join([sentence] * 1500)) == [sentence] * 1500


def test_a_long_text_without_an_end_is_cut_at_spaces() -> None:
    pieces = split("word " * 10_000)
    assert {word for piece in pieces for word in piece.split()} == {"word"}
    assert max(map(len, pieces)) <= 20_000


def test_a_trained_splitter_learns_abbreviations_of_its_language() -> None:
    splitter = SentenceSplitter.train([RUNNING_TEXT])
    text = "Das ist bzgl. Nr. 5 klar. Er kam."
    assert [s.text for s in splitter.split(text)] == ["Das ist bzgl. Nr. 5 klar.", "Er kam."]
    assert {"bzgl", "nr"} <= set(splitter.to_dict()["abbreviations"])


def test_a_saved_splitter_is_the_same_splitter(tmp_path: Path) -> None:
    splitter = SentenceSplitter.train([RUNNING_TEXT])
    before = splitter.to_dict()
    splitter.split(RUNNING_TEXT)
    splitter.save(tmp_path / "splitter.json")
    loaded = SentenceSplitter.load(tmp_path / "splitter.json")
    assert loaded.to_dict() == pickle.loads(pickle.dumps(splitter)).to_dict() == before
    assert loaded.split(RUNNING_TEXT) == splitter.split(RUNNING_TEXT)


def test_training_does_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import json, sys; from elmokit.text.sentences import SentenceSplitter as S;"
        "print(json.dumps(S.train([sys.argv[1]]).to_dict()))"
    )
    other_order = subprocess.run(
        [sys.executable, "-c", program, RUNNING_TEXT],
        env={"PYTHONHASHSEED": "7"}, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert json.loads(other_order.stdout) == SentenceSplitter.train([RUNNING_TEXT]).to_dict()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"version": 9}', b'{"version": 1}', b"\xff"])
def test_a_file_that_is_no_splitter_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.json"):
        SentenceSplitter.load(tmp_path / "bad.json")


@pytest.mark.parametrize(
    "broken",
    [
        {"collocations": [["one"]]},
        {"orthography": {"word": "many"}},
        {"orthography": []},
        {"abbreviations": 3},
    ],
)
def test_a_splitter_with_wrong_values_is_refused_in_one_sentence(broken: dict[str, object]) -> None:
    with pytest.raises(InputError, match="sentence splitter: not a sentence splitter"):
        SentenceSplitter.from_dict(SentenceSplitter.default().to_dict() | broken)


WITHOUT_NLTK = """
import sys
sys.modules["nltk"] = None  # importing it fails, as if it were not installed
from elmokit.errors import InputError
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import tokenize
print([token.text for token in tokenize("It can't be. Mr. X left.")])
try:
    SentenceSplitter.train(["Some text."])
except InputError as error:
    print(error)
"""


def test_only_training_needs_nltk() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NLTK], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines() == [
        """['It', 'ca', "n't", 'be', '.', 'Mr.', 'X', 'left', '.']""",
        "training a sentence splitter needs nltk: install it with  pip install 'elmokit[pretrain]'",
    ]


def test_splitting_imports_neither_nltk_nor_scipy() -> None:
    program = (
        "import sys; from elmokit.text.tokenize import tokenize; tokenize('He left. (So.)');"
        "print({'nltk', 'scipy', 'sklearn', 'regex'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
