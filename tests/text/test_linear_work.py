"""Splitting takes work in proportion to the length of the text, whatever the text."""

import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from counted_work import CountedText, CountingPattern, Work, count_patterns, work_of

from elmokit.text import punkt, sentences, sources, token_ids, tokenize, treebank, vocabulary
from elmokit.text.sentences import SentenceSplitter

FAMILIES = {
    "periods": ".",
    "apostrophes": "'",
    "abbreviations": "a.",
    "spaced abbreviations": "a. ",
    "abbreviations and hard spaces": "a.\u00a0",
    "ellipses and quotes": "...'\"",
    "spaced ellipses": ". ",
    "ellipses and hard spaces": ".\u00a0",
    "hyphens": "-",
    "numbers": "1,",
    "commas": ",",
    "letters": "a",
    "brackets": "(",
    "closers": ".)'\"]",
    "closed sentences": 'A b.)" ',
    "questions": "?!",
    "questions and words": "?a ",
    "addresses": "http://a.b/c?d=e&f#g",
    "emoji": "\U0001f469\u200d\U0001f467",
    "combining marks": "e\u0301",
    "clitics": "n't's",
    "quotes and letters": "'a",
    "curly quotes": "a’",
    "contractions": "cannot'tis",
    "contractions in brackets": "(wanna)",
    "backticks": "`",
    "full stops of other scripts": "。」",
    "newlines": "\n",
    "newlines and spaces": "\n  a",
    "spaces": " ",
    "dates": "1. ",
}  # fmt: skip


def split_sentences(text: str) -> None:
    SentenceSplitter.default().split(text)


@pytest.fixture(autouse=True)
def counting_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (punkt, sentences, sources, token_ids, tokenize, treebank, vocabulary):
        count_patterns(module, monkeypatch)


def check_that_work_is_linear(function: Callable[[str], object], repeated: str) -> None:
    work = []
    for length in (150, 300, 600):
        tokenize._remembered_pieces.cache_clear()
        text = repeated * (length // len(repeated))
        work.append(work_of(function, f"A. {text} x. Y"))
    assert work[0] > 150
    assert work[1] < 2.3 * work[0]
    assert work[2] < 2.3 * work[1]


@pytest.mark.parametrize("family", FAMILIES)
def test_twice_the_text_takes_twice_the_work_to_tokenize(family: str) -> None:
    check_that_work_is_linear(tokenize.tokenize, FAMILIES[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_twice_the_text_takes_twice_the_work_to_split_in_sentences(family: str) -> None:
    check_that_work_is_linear(split_sentences, FAMILIES[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_windows_take_little_more_work_than_the_whole_text(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"A. {FAMILIES[family] * 400} x. Y"
    work_in_one_window = work_of(split_sentences, text)
    monkeypatch.setattr(sentences, "_WINDOW", 50)
    assert work_of(split_sentences, text) < 4 * work_in_one_window


def test_the_counter_sees_a_quadratic_pattern() -> None:
    pattern = CountingPattern(re.compile(r"\.[^\w\s]*\s+\S"))
    work = []
    for length in (60, 120):
        Work.num_steps = 0
        assert pattern.search("." * length) is None
        work.append(Work.num_steps)
    assert work[1] > 3.5 * work[0]


def test_the_counter_sees_copies() -> None:
    text, Work.num_steps = CountedText("a" * 100), 0
    assert isinstance(text[1:].lower(), CountedText)
    assert Work.num_steps >= 198


def test_all_patterns_of_a_module_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(one=re.compile("a"), two=(re.compile("b"), re.compile("c")), three=3)
    count_patterns(module, monkeypatch)
    assert [type(module.one), *map(type, module.two)] == [CountingPattern] * 3
