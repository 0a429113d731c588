"""Tokens with offsets: NLTK's rules exactly, on anything a string can hold."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from elmokit.errors import InputError
from elmokit.text.tokenize import Overlap, Token, align, tokenize, tokenize_sentence, words

PIECES = ["word", "can't", "U.S.", '"', "''", "``", "'", "(", ")", ".", ",", "...", "--", "$5", " "]
HARD_SENTENCES = """
The tree ("Prunus cerasus") can't grow here, at 5,000 feet; it's 3.5% of "the whole".
He said: "I cannot go, I'm gonna stay -- or wanna -- in St. Louis."
'Tis the Joneses' house, isn't it? It's Mary's, O'Neill's and the '90s' [sic].
Prices rose from $1,234.56 to €2 (see p. 4), i.e. by half...
It was 'quoted' and ``quoted'' and ''quoted'' at 10:30 a.m. #1 @home & away!
A final period inside a quote: "Yes."
A final period before a bracket (so to speak.)
She'll've gone; they'd said d'ye more'n gimme lemme gotta Cannot CAN'T.
"""
texts = st.text() | st.lists(st.sampled_from(PIECES)).map("".join)


def texts_of(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


@given(texts)
def test_tokens_are_pieces_of_the_text_and_nothing_but_space_is_lost(text: str) -> None:
    tokens = tokenize(text)
    assert all(token.text == text[token.start : token.end] != "" for token in tokens)
    assert all(a.end <= b.start for a, b in pairwise(tokens))
    assert "".join(token.text for token in tokens) == "".join(text.split())


@given(texts)
def test_words_are_the_texts_of_the_tokens(sentence: str) -> None:
    assert words(sentence) == [token.text for token in tokenize_sentence(sentence)]


def test_remembered_runs_give_what_nltk_gives_for_the_whole_sentence() -> None:
    nltk = NLTKWordTokenizer()
    for sentence in HARD_SENTENCES.strip().split("\n"):
        expected = [sentence[start:end] for start, end in nltk.span_tokenize(sentence)]
        assert words(sentence) == expected


def test_final_periods_of_inner_sentences_come_off() -> None:
    assert texts_of("I came. I saw.") == ["I", "came", ".", "I", "saw", "."]


def test_abbreviations_keep_their_periods() -> None:
    assert texts_of("Dr. Who met J. R. Doe.") == ["Dr.", "Who", "met", "J.", "R.", "Doe", "."]


def test_a_double_quote_stays_itself() -> None:
    assert texts_of('He said "yes" twice.') == ["He", "said", '"', "yes", '"', "twice", "."]


def test_a_curly_apostrophe_splits_like_a_straight_one() -> None:
    assert texts_of("I don’t know Ann’s.") == ["I", "do", "n’t", "know", "Ann", "’s", "."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("مرحبا، كيف حالك؟", ["مرحبا", "،", "كيف", "حالك", "؟"]),
        ("元気ですか？はい。", ["元気ですか", "？", "はい", "。"]),
        ("¿Qué tal? ¡Bien!", ["¿", "Qué", "tal", "?", "¡", "Bien", "!"]),
        ("राम आया।", ["राम", "आया", "।"]),
    ],
)
def test_punctuation_of_other_scripts_comes_off(text: str, expected: list[str]) -> None:
    assert texts_of(text) == expected


@pytest.mark.parametrize("text", ["", " \t\n", "\u3000"])
def test_no_text_has_no_tokens(text: str) -> None:
    assert tokenize(text) == []


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "👩‍👩‍👧", "שלום"])
def test_odd_characters_stay_in_one_token(text: str) -> None:
    assert tokenize(text) == [Token(text, 0, len(text))]


def test_a_run_of_a_million_characters_is_no_trouble() -> None:
    assert sum(len(token.text) for token in tokenize("(" * 60_000 + "a" * 940_000)) == 1_000_000


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda p: (p[0], sum(p))))


@given(spans, spans)
def test_align_finds_every_pair_that_shares_a_character(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> None:
    tokens = [Token("x" * (end - start), start, end) for start, end in sorted(ours)]
    expected = {
        (i, j)
        for i, token in enumerate(tokens)
        for j, span in enumerate(theirs)
        if set(range(token.start, token.end)) & set(range(*span))
    }
    found = align(tokens, theirs)
    assert len(found) == len(expected)
    assert set(found) == expected


def test_align_takes_tokens_and_offset_pairs() -> None:
    ours = tokenize("unlock it")
    assert align(ours, ours) == [Overlap(0, 0), Overlap(1, 1)]
    assert align(ours, [(0, 0), (0, 2), (2, 6), (6, 9)]) == [
        Overlap(0, 1), Overlap(0, 2), Overlap(1, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("given", [None, ["two", "strings"], b"bytes"])
def test_only_strings_are_split(given: object) -> None:
    with pytest.raises(InputError, match="tokenize takes one string, got"):
        tokenize(given)  # type: ignore[arg-type]
