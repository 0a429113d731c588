"""The 5-gram against definitions written out by hand."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from zipf_text import NUM_WORDS, corpus_and_model, sentences

from elmokit.analysis.lm.kneser_ney import (
    KneserNey,
    Row,
    Seen,
    parse_seen,
    row_of,
    train_kneser_ney,
)
from elmokit.analysis.lm.perplexities import perplexities
from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus, Split
from elmokit.text.vocabulary import Vocabulary

BEGIN, END, UNKNOWN = 0, 1, 2
Gram = tuple[int, ...]


def row(text: list[list[int]]) -> Row:
    words = [word for sentence in text for word in (BEGIN, *sentence, END)]
    array = np.array(words, dtype=np.int32)
    return Row(array, array == BEGIN)


class SlowKneserNey:
    """The same model from dictionaries of tuples, one n-gram at a time."""

    def __init__(self, text: list[list[int]], order: int) -> None:
        self.order = order
        raw: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
        for sentence in text:
            padded = (BEGIN, *sentence, END)
            for end in range(1, len(padded) + 1):
                for n in range(1, min(order, end) + 1):
                    raw[n][padded[end - n : end]] += 1
        self.counts: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
        self.counts[order] = raw[order]
        for n in range(1, order):
            for gram in raw[n + 1]:
                self.counts[n][gram[1:]] += 1
            for gram, count in raw[n].items():
                if gram[0] == BEGIN:
                    self.counts[n][gram] = count
        self.counts[1].pop((BEGIN,))
        self.discounts = [(0.0, 0.0, 0.0, 0.0)]
        for n in range(1, order + 1):
            t = Counter(self.counts[n].values())
            y = t[1] / (t[1] + 2 * t[2])
            values = [k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3)]
            self.discounts.append((0.0, *values))
        self.followers: dict[Gram, list[Gram]] = defaultdict(list)
        for n in range(1, order + 1):
            for gram in self.counts[n]:
                self.followers[gram[:-1]].append(gram)

    def probability(self, word: int, context: Gram) -> float:
        context = context[-(self.order - 1) :] if self.order > 1 else ()
        shorter = self.probability(word, context[1:]) if context else 1 / (NUM_WORDS - 1)
        n = len(context) + 1
        followers = self.followers.get(context, [])
        if not followers:
            return shorter
        counts, discounts = self.counts[n], self.discounts[n]
        total = sum(counts[gram] for gram in followers)
        left_over = sum(discounts[min(counts[gram], 3)] for gram in followers) / total
        count = counts[(*context, word)]
        return (count - discounts[min(count, 3)]) / total + left_over * shorter


def predictions(text: list[list[int]]) -> list[tuple[int, Gram]]:
    found = []
    for sentence in text:
        padded = (BEGIN, *sentence, END)
        found += [(padded[place], padded[:place]) for place in range(1, len(padded))]
    return found


@pytest.fixture(scope="module")
def trained() -> tuple[KneserNey, SlowKneserNey]:
    text = sentences(0, 150)
    fast = train_kneser_ney(row(text), NUM_WORDS, order=3, quiet=True)
    return fast, SlowKneserNey(text, 3)


def test_discounts_are_chen_and_goodmans(trained: tuple[KneserNey, SlowKneserNey]) -> None:
    fast, slow = trained
    for n, order in enumerate(fast.orders, start=1):
        assert order.discounts == pytest.approx(slow.discounts[n][1:])


def test_every_probability_equals_the_slow_model(
    trained: tuple[KneserNey, SlowKneserNey],
) -> None:
    fast, slow = trained
    for text in (sentences(0, 150), sentences(1, 40)):
        expected = [slow.probability(word, context) for word, context in predictions(text)]
        assert fast.probabilities(row(text)) == pytest.approx(expected)


def test_probabilities_of_all_words_sum_to_one(trained: tuple[KneserNey, SlowKneserNey]) -> None:
    fast, _ = trained
    for start in ([], [4], [4, 5, 5], [8, 60, 59, 2]):
        inside = [fast.probabilities(row([[*start, word]]))[-2] for word in range(2, NUM_WORDS)]
        end = fast.probabilities(row([start]))[-1]
        assert sum(inside) + end == pytest.approx(1)


def test_five_grams_know_more_than_chance() -> None:
    text, unseen = sentences(0, 150), row(sentences(1, 100))
    five, two = (train_kneser_ney(row(text), NUM_WORDS, n, quiet=True) for n in (5, 2))
    assert len(five.orders) == 5
    assert five.perplexity(unseen) < 30 < NUM_WORDS
    assert five.perplexity(unseen) == pytest.approx(two.perplexity(unseen), rel=0.1)


def test_corpus_becomes_a_row_with_both_markers() -> None:
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "cat"])
    split = Split(
        np.array([0, 3, 4, 0, 17, 0, 4], dtype=np.uint32), np.array([0, 3, 5], dtype=np.int64)
    )
    found = row_of(split, vocabulary)
    assert found.words.tolist() == [0, 3, 4, 1, 0, 2, 1, 0, 4, 1]  # 17 is no target
    assert np.flatnonzero(found.is_first).tolist() == [0, 4, 7]
    assert found.num_predictions == 7


def test_ngram_counts_what_lanes_have_read() -> None:
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c", "d", "e", "f"])
    split = Split(
        np.array([0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8], dtype=np.uint32),
        np.array([0, 2, 4, 6, 8, 10], dtype=np.int64),
    )

    def words(*seen: str) -> list[int]:
        found = row_of(split, vocabulary, [parse_seen(each) for each in seen])
        return [int(word) for word in found.words if word > 2]

    assert words("4") == [3, 4]
    assert words("4:2") == [3, 6]  # the second lane begins in the middle
    assert words("6:2") == [3, 4, 6, 7]  # a sentence that was begun counts whole
    assert words("6:6") == [3, 4, 5, 6, 7, 8]
    assert words("99:2") == words() == [3, 4, 5, 6, 7, 8]
    assert words("4:2:4") == [4, 7]  # each lane has skipped two tokens
    assert words("4:1", "4:2:4") == [3, 4, 7]  # one run, then another that went on elsewhere


@pytest.mark.parametrize("text", ["0", "5:0", "5:1:0:2", "many", "-3", ""])
def test_what_was_seen_is_read_or_refused(text: str) -> None:
    with pytest.raises(InputError, match="--seen"):
        parse_seen(text)
    assert parse_seen(str(parse_seen("7:2"))) == Seen(7, 2, 0)


def test_too_little_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too little text"):
        train_kneser_ney(row([[3, 4, 5]]), NUM_WORDS, quiet=True)
    empty = Split(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))
    with pytest.raises(InputError, match="no sentences"):
        row_of(empty, Vocabulary(["<S>", "</S>", "<UNK>"]))


def test_bilm_and_ngram_predict_the_same_words(tmp_path: Path, tiny_elmo: Path) -> None:
    path, model = corpus_and_model(tmp_path, tiny_elmo)
    corpus = Corpus.open(path)
    result = perplexities([str(model)], path, order=2, quiet=True)
    ngram, fresh, carried = result.rows
    assert result.num_predictions == corpus.heldout.num_tokens + corpus.heldout.num_sentences
    assert (ngram.backward, fresh.start, carried.start) == (None, "fresh", "carried")
    assert ngram.forward < fresh.forward  # the biLM is untrained
