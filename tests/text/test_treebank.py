"""Words of a run: exactly those of NLTK, which does the same with 25 regular expressions."""

import re
import unicodedata
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk import redos
from nltk.tokenize import NLTKWordTokenizer
from real_text import real_texts

from elmokit.text.treebank import is_word_character, split_run

# Characters that NLTK does not know, and those that it treats as we treat these. NLTK replaces a
# double quote by two characters, so it is shown a curly one.
SHOWN_AS = str.maketrans(
    {'"': "”", "…": ";", "‚": "„", "‹": "«", "›": "»", "،": ",", "、": ";", "，": ";", "：": ";"}
    | dict.fromkeys("؛；・׃", ";")
    | dict.fromkeys("؟。！？｡।॥۔։።။។¿¡", "!")
    | dict.fromkeys("「『（【《〈［｛", "(")
    | dict.fromkeys("」』）】》〉］｝", ")")
)
PIECES = re.split(
    "\n| ",
    """a x n t s d m S D ll LL re VE is was n't N'T 's 't 'n 'm 're 'll 's' word U.S a. é e\u0301
' '' ’ ‘ “ ” " ` `` . .. , : ، ; - -- --- – — ( ) [ ] < > { } « » ‹ › ! ? * $ % & @ # …
。 ？ 」 「 、 cannot CanNot d'ye d’ye gimme gonna gotta lemme more'n wanna 'tis 'twas 'TİS 'tıſ
1 2, ٣ ½ \u0301 _ Ⓐ 🅰 \u200d ſ 元 \U0001f600 \x00 \ud800""",
)
runs = st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join)


def nltk_words(run: str, is_final: bool) -> tuple[str, ...]:
    """The words of ``run`` as the last of a sentence, or in front of another word."""
    shown = re.sub(r"(?<=\w)’(?=\w)", "'", run.translate(SHOWN_AS))
    words = NLTKWordTokenizer().tokenize(shown if is_final else f"{shown} x")
    ends = [0, *accumulate(map(len, words if is_final else words[:-1]))]
    return tuple(run[start:end] for start, end in pairwise(ends))


def is_assigned(text: str) -> bool:
    """Python's and NLTK's tables of Unicode are of different age."""
    return not any(unicodedata.category(character) == "Cn" for character in text)


@settings(max_examples=1500)
@given(runs, st.booleans())
@example("cannot'tis'twas", True)
@example("cannot'twas'tis", True)
@example("Ann's'?", False)
@example("Ann's')", False)
@example("Ann's'", False)
@example(",,,5", True)
@example("she'll've", True)
@example("wannan't", True)
def test_words_of_nasty_runs_are_those_of_nltk(run: str, is_final: bool) -> None:
    assert split_run(run, is_final) == nltk_words(run, is_final)


@given(st.text(min_size=1).map(lambda text: "".join(text.split())).filter(bool), st.booleans())
def test_words_of_any_run_are_those_of_nltk(run: str, is_final: bool) -> None:
    if is_assigned(run):
        assert split_run(run, is_final) == nltk_words(run, is_final)


@pytest.mark.slow
def test_words_of_real_text_are_those_of_nltk() -> None:
    distinct = {run for text in real_texts() for run in text.split() if not run.isalpha()}
    for run in sorted(distinct):
        for is_final in (True, False):
            assert split_run(run, is_final) == nltk_words(run, is_final)


@given(runs, st.booleans())
def test_words_joined_are_the_run(run: str, is_final: bool) -> None:
    words = split_run(run, is_final)
    assert "".join(words) == run
    assert all(words)


def test_characters_of_words_are_those_of_nltk() -> None:
    pattern = redos.compile(r"\w")
    for character in filter(is_assigned, map(chr, range(0x20000))):
        assert is_word_character(character) == bool(pattern.match(character)), hex(ord(character))
