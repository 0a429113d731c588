"""Where sentences end: exactly where NLTK's Punkt says, for any parameters."""

import re
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktParameters as NltkParameters
from nltk.tokenize.punkt import PunktSentenceTokenizer
from real_text import real_texts

from elmokit.text import punkt
from elmokit.text.punkt import PunktParameters, sentence_spans
from elmokit.text.sentences import SentenceSplitter

WORDS = ["mr", "no", "e.g", "u.s", "a", "b", "the", "he", "bach", "1", "##number##", ".", "..", "é"]
SPACES = [" ", "\n", "\n\n", "\t", "\r", "\x0b", "\x85", "\u00a0", "\u3000", "\x1c", "\u2028"]
PIECES = re.split(
    "\n| ",
    """Mr mr No x-no U.S e.g a A B The the He Bach bach word a.b é Ⓐ 元 e\u0301 \u0301 _
. . .. ... ? ! ?! , : ; " ' ` ) ( ] [ } { - -- * & # @ ‘ ’ “ ” « » .) .' ." 。
1 12 3.5 -1. 1,000 ² ½ ٣""",
)
PIECES += [*SPACES, " ", " ", ". . .", ". "]
texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
words = st.sampled_from(WORDS)
parameters = st.builds(
    PunktParameters,
    abbreviations=st.frozensets(words),
    collocations=st.frozensets(st.tuples(words, words)),
    sentence_starters=st.frozensets(words),
    orthography=st.dictionaries(words, st.integers(0, 63).map(lambda flags: 2 * flags)),
)


def nltk_spans(text: str, ours: PunktParameters) -> list[tuple[int, int]]:
    theirs = NltkParameters()
    theirs.abbrev_types.update(ours.abbreviations)
    theirs.collocations.update(ours.collocations)
    theirs.sent_starters.update(ours.sentence_starters)
    theirs.ortho_context.update(ours.orthography)
    return list(PunktSentenceTokenizer(theirs).span_tokenize(text))


@settings(max_examples=1500)
@given(texts, parameters)
@example("Dr. Who?' he", PunktParameters(abbreviations=frozenset(["dr"])))
@example(" ?! x", PunktParameters())
@example("x. ?! x", PunktParameters())
@example("a.\u00a0b.\u00a0c. d", PunktParameters())
@example("a.\n\x1c\nb", PunktParameters())
def test_sentences_of_nasty_texts_are_those_of_nltk(text: str, learned: PunktParameters) -> None:
    assert list(sentence_spans(text, learned)) == nltk_spans(text, learned)


@given(st.text(), parameters)
def test_sentences_of_any_text_are_those_of_nltk(text: str, learned: PunktParameters) -> None:
    assert list(sentence_spans(text, learned)) == nltk_spans(text, learned)


@cache
def trained_parameters() -> PunktParameters:
    return SentenceSplitter.train(text[:60_000] for text in real_texts())._parameters


@pytest.mark.slow
@pytest.mark.parametrize("is_trained", [False, True])
def test_sentences_of_real_text_are_those_of_nltk(is_trained: bool) -> None:
    splitter = SentenceSplitter.default()
    learned = trained_parameters() if is_trained else splitter._parameters
    for text in real_texts():
        for piece in text.split("\n\n"):
            for start in range(0, len(piece), 20_000):  # NLTK gives up on long texts
                window = piece[start : start + 20_000]
                assert list(sentence_spans(window, learned)) == nltk_spans(window, learned)


def test_flags_are_those_of_nltk() -> None:
    from nltk.tokenize import punkt as nltk_punkt

    assert [punkt.SEEN_UPPER, punkt.SEEN_LOWER, punkt.INSIDE_UPPER, punkt.STARTED_LOWER] == [
        nltk_punkt._ORTHO_UC,
        nltk_punkt._ORTHO_LC,
        nltk_punkt._ORTHO_MID_UC,
        nltk_punkt._ORTHO_BEG_LC,
    ]


def test_parameters_cannot_be_changed_by_accident() -> None:
    with pytest.raises(AttributeError):
        PunktParameters().abbreviations = frozenset(["dr"])
