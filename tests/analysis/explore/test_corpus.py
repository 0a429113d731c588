"""The text that the explorer looks at."""

from pathlib import Path

import pytest
from tiny_senses import write_senses
from toy_encoder import ToyEncoder

from elmokit.analysis.explore.builtin import FEATURED, SENSES
from elmokit.analysis.explore.choice import example_sentences, promising_words
from elmokit.analysis.explore.corpus import builtin_corpus, open_corpus, year_of
from elmokit.analysis.words.build_index import build_index
from elmokit.errors import InputError


def test_every_builtin_sentence_has_its_word_with_its_sense() -> None:
    corpus = open_corpus([])
    assert corpus.num_tokens == sum(len(sentence.tokens) for sentence in corpus.sentences)
    for word, senses in SENSES.items():
        labels = [corpus.sentences[n].senses.get(place) for n, place in corpus.find(word)]
        assert {label for label in labels if label} == set(senses)
        assert len(labels) >= 8


def test_a_word_is_found_in_any_case() -> None:
    assert len(builtin_corpus().find("APPLE")) == 12


def test_sentences_remember_their_files(tmp_path: Path) -> None:
    (tmp_path / "a-1901.txt").write_text("The bank is old. A river.\n")
    (tmp_path / "b-1999.txt").write_text("A bank.\n")
    corpus = open_corpus([str(tmp_path)])
    assert [(s.tokens[-2], s.document) for s in corpus.sentences] == [
        ("old", "a-1901.txt"),
        ("river", "a-1901.txt"),
        ("bank", "b-1999.txt"),
    ]


def test_an_index_is_read_as_text_and_kept_for_neighbours(tmp_path: Path) -> None:
    sentences = [["the", "cat"], ["a", "dog", "ran"]]
    encoder = ToyEncoder(lambda layer, sentence, place: [1.0, place], num_layers=2)
    build_index(encoder, sentences, tmp_path / "index", quiet=True)
    corpus = open_corpus([str(tmp_path / "index")])
    assert [sentence.tokens for sentence in corpus.sentences] == sentences
    assert corpus.index is not None


def test_semcor_brings_senses(tmp_path: Path) -> None:
    write_senses(tmp_path)
    corpus = open_corpus([], senses=tmp_path)
    senses = [corpus.sentences[n].senses.get(place) for n, place in corpus.find("play")]
    assert senses[:2] == ["play, noun 1", "play, noun 2"] or set(senses[:2]) == {
        "play, noun 1",
        "play, noun 2",
    }


def test_text_beyond_the_limit_is_left_unread_and_said_so(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a b\nc d\ne f\n")
    corpus = open_corpus([str(tmp_path / "t.txt")], pretokenized=True, most_tokens=5)
    assert corpus.is_cut and corpus.num_tokens == 4


def test_empty_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("\n")
    with pytest.raises(InputError, match=r"t\.txt: no text found"):
        open_corpus([str(tmp_path / "t.txt")])


def test_years_are_read_from_names() -> None:
    names = ("speech-1961-01-20.txt", "v2019b.txt", "12345.txt", "")
    assert [year_of(name) for name in names] == [1961, 2019, None, None]


def test_promising_words_are_frequent_but_not_function_words(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("the bank of the river\n" * 9 + "a rare word\n")
    corpus = open_corpus([str(tmp_path / "t.txt")], pretokenized=True)
    assert promising_words(corpus, ["the", "of"], 5) == ["bank", "river"]
    assert example_sentences(corpus, ["bank"])[:2] == list(FEATURED[:2])
