"""A 5-gram language model with interpolated modified Kneser-Ney smoothing, exact, in NumPy.

The baseline for a biLM's forward perplexity, on the same tokens, vocabulary and predictions
(Chen and Goodman, 1998; the counts are those of kenlm's lmplz, without pruning):

    p(w | c) = (a(c w) - D(a(c w))) / sum_v a(c v)  +  gamma(c) p(w | c without its first word)

a is the count at the highest order and, below it, the number of different words that come before
c w; an n-gram that starts with ``<S>`` has nothing before it and keeps its count. D has three
values per order, for counts of 1, 2 and more. Below the unigrams is 1 / (words that can follow).

N-grams are numbered order by order: an n-gram is (number of its last n - 1 words, first word), so
all the work is one sort of 64-bit numbers per order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Split
from elmokit.progress import meter
from elmokit.text.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

NOTHING = -1
"""Stands for a missing n-gram: too close to the start of its sentence, or not seen in training."""


class Row(NamedTuple):
    """Sentences in one row: <S> w w w </S> <S> w ..., and which places are predicted."""

    words: Ids
    is_first: npt.NDArray[np.bool_]  # the places of <S>

    @property
    def num_predictions(self) -> int:
        """Words and ends of sentences."""
        return int((~self.is_first).sum())


@dataclass(frozen=True)
class Order:
    """All n-grams of one order in the training text, numbered by their position in ``keys``."""

    keys: Numbers
    counts: Ids
    """a in the formula above."""
    totals: Ids
    """By context (the number of an (n - 1)-gram): the sum of a over the following words."""
    left_over: Doubles
    """By context: gamma, the probability mass left for the shorter context."""
    discounts: tuple[float, float, float]


@dataclass(frozen=True)
class KneserNey:
    """A counted model, from unigrams to the highest order."""

    orders: tuple[Order, ...]
    num_words: int
    """V, the size of the vocabulary."""

    def probabilities(self, row: Row) -> Doubles:
        """The probability of every predicted word, in order."""
        num_follow = self.num_words - 1  # <S> never does
        found = np.full(len(row.words), 1.0 / num_follow)
        suffix = row.words  # the number of the n-gram that ends at each place
        context = np.zeros_like(row.words)  # the empty one
        for number, order in enumerate(self.orders, start=1):
            if number > 1:
                context = _shift(suffix)  # the (n - 1)-gram that ends one place earlier
                suffix = _look_up(order.keys, *_keys(suffix, row, number, self.num_words), row)
            is_known = context != NOTHING
            is_known[is_known] = order.totals[context[is_known]] > 0
            where = np.flatnonzero(is_known)
            counts = np.where(suffix[where] == NOTHING, 0, order.counts[suffix[where]])
            kept = counts - _discount(counts, order.discounts)
            totals = order.totals[context[where]]
            found[where] = kept / totals + order.left_over[context[where]] * found[where]
        return found[~row.is_first]

    def perplexity(self, row: Row) -> float:
        """The perplexity of all predictions in a row of sentences."""
        return float(np.exp(-np.log(self.probabilities(row)).mean()))


class Seen(NamedTuple):
    """How much of a corpus a run has read in its first epoch: its tokens, batch_size, skip_tokens.

    The corpus is read by ``streams`` in parallel, each from its own position.
    """

    tokens: int
    streams: int = 1
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.tokens}:{self.streams}:{self.skipped}"


def parse_seen(text: str) -> Seen:
    """Parse "5900800:64" or, with skipped tokens, "13148160:256:23603200"."""
    numbers = text.split(":")
    if len(numbers) > 3 or not all(number.isdigit() for number in numbers):
        raise InputError(
            f"--seen {text}: write it as TOKENS, TOKENS:STREAMS or TOKENS:STREAMS:SKIPPED"
        )
    seen = Seen(*map(int, numbers))
    if seen.tokens < 1 or seen.streams < 1:
        raise InputError(f"--seen {text}: TOKENS and STREAMS must be at least 1")
    return seen


def row_of(split: Split, vocabulary: Vocabulary, seen: Sequence[Seen] = ()) -> Row:
    """The sentences of a prepared corpus; words outside the vocabulary become ``<UNK>``.

    ``seen``: only the sentences that these runs have read, partly or in full; (): all.
    """
    starts, tokens = _read(split, seen)
    if len(starts) == 0:
        raise InputError("the corpus has no sentences to count; prepare one with more text")
    words = np.where(tokens < len(vocabulary), tokens, vocabulary.unknown).astype(np.int32)
    ends = np.append(starts[1:], len(words))  # where </S> is inserted
    words = np.insert(words, ends, vocabulary.end)
    is_first = np.zeros(len(words), dtype=bool)
    is_first[starts + np.arange(len(starts))] = True
    return Row(words, is_first)


def _read(split: Split, seen: Sequence[Seen]) -> tuple[Numbers, npt.NDArray[np.uint32]]:
    """(starts, tokens) of the sentences that were read."""
    size, starts = len(split.tokens), np.asarray(split.starts)
    if not seen:
        return starts, np.asarray(split.tokens)
    is_read = np.zeros(len(starts), dtype=bool)
    for tokens_seen, streams, skipped in seen:
        places = np.searchsorted(starts, size * np.arange(streams) // streams)
        for stream in starts[places[places < len(starts)]]:
            begin = stream + skipped // streams
            first, end = np.searchsorted(starts, [begin, begin + -(-tokens_seen // streams)])
            is_read[first:end] = True
    lengths = np.diff(starts, append=size)
    tokens = np.asarray(split.tokens)[np.repeat(is_read, lengths)]
    return np.cumsum(lengths[is_read]) - lengths[is_read], tokens


def train_kneser_ney(row: Row, num_words: int, order: int = 5, quiet: bool = False) -> KneserNey:
    """Count n-grams order by order; 77 million words took two minutes of CPU time and 5.4 GB."""
    if order < 2:
        raise InputError(f"the order must be at least 2, got {order}")
    orders: list[Order] = []
    grams, suffix = _unigrams(row, num_words), row.words
    with meter("counting n-grams", "orders", order, quiet) as progress:
        for number in range(1, order + 1):
            num_contexts = 1 if number == 1 else len(orders[-1].keys)
            if number == order:
                counts = grams.frequencies
            else:
                longer, suffix = _longer(suffix, row, number + 1, num_words)
                counts = _different_words_before(grams, longer, row, number, num_words)
            orders.append(_order(grams, counts, num_contexts, number))
            grams = longer
            progress.advance()
    return KneserNey(tuple(orders), num_words)


class _Grams(NamedTuple):
    """The n-grams of one order, by number."""

    keys: Numbers  # sorted
    frequencies: Ids
    ends: Ids  # a position at which each ends
    contexts: Ids  # the number of its first n - 1 words


def _unigrams(row: Row, num_words: int) -> _Grams:
    """The unigrams, numbered like the words; all have the empty context."""
    ends = np.zeros(num_words, dtype=np.int32)
    ends[row.words] = np.arange(len(row.words), dtype=np.int32)
    frequencies = np.bincount(row.words, minlength=num_words).astype(np.int32)
    return _Grams(np.arange(num_words), frequencies, ends, np.zeros(num_words, dtype=np.int32))


def _longer(suffix: Ids, row: Row, number: int, num_words: int) -> tuple[_Grams, Ids]:
    """The n-grams one word longer than ``suffix``, and the one that ends at each position."""
    ends, keys = _keys(suffix, row, number, num_words)
    order = np.argsort(keys)
    keys = keys[order]
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = keys[1:] != keys[:-1]
    firsts = np.flatnonzero(is_new)
    frequencies = np.diff(firsts, append=len(keys)).astype(np.int32)
    ends = ends[order]
    del order
    numbers = np.full(len(suffix), NOTHING, dtype=np.int32)
    numbers[ends] = np.cumsum(is_new, dtype=np.int32) - 1
    ends = ends[firsts]
    return _Grams(keys[firsts], frequencies, ends, suffix[ends - 1]), numbers


def _keys(suffix: Ids, row: Row, number: int, num_words: int) -> tuple[Ids, Numbers]:
    """Where n-grams end, and the key of each: its last n - 1 words and its first."""
    reach = number - 1
    is_there = np.zeros(len(suffix), dtype=bool)
    # The n - 1 words must not begin with <S>: before it there is another sentence.
    is_there[reach:] = (suffix[reach:] != NOTHING) & ~row.is_first[1 : len(suffix) - reach + 1]
    ends = np.flatnonzero(is_there).astype(np.int32)
    return ends, suffix[ends] * np.int64(num_words) + row.words[ends - reach]


def _shift(numbers: Ids) -> Ids:
    return np.concatenate([np.array([NOTHING], dtype=np.int32), numbers[:-1]])


def _look_up(keys: Numbers, ends: Ids, wanted: Numbers, row: Row) -> Ids:
    found = np.full(len(row.words), NOTHING, dtype=np.int32)
    places = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    found[ends] = np.where(keys[places] == wanted, places, NOTHING)
    return found


def _different_words_before(
    grams: _Grams, longer: _Grams, row: Row, number: int, num_words: int
) -> Ids:
    """a below the highest order; nothing comes before an n-gram that starts with <S>."""
    counts = np.bincount(longer.keys // num_words, minlength=len(grams.keys)).astype(np.int32)
    starts_sentence = row.is_first[grams.ends - (number - 1)]
    # <S> itself is never predicted.
    return np.where(starts_sentence, 0 if number == 1 else grams.frequencies, counts)


def _order(grams: _Grams, counts: Ids, num_contexts: int, number: int) -> Order:
    """The order with its discounts, and the mass that each context leaves over."""
    discounts = _discounts(counts, number)
    totals = np.bincount(grams.contexts, counts, num_contexts)
    shares = np.bincount(grams.contexts, _discount(counts, discounts), num_contexts)
    left_over = np.ones(num_contexts)
    np.divide(shares, totals, out=left_over, where=totals > 0)
    return Order(grams.keys, counts, totals.astype(np.int32), left_over, discounts)


def _discounts(counts: Ids, number: int) -> tuple[float, float, float]:
    """Chen and Goodman's estimates, from how many n-grams have counts of 1, 2, 3 and 4."""
    of_count = [int((counts == value).sum()) for value in range(5)]
    if min(of_count[1:]) == 0:
        raise InputError(
            f"too little text (or too few words) for Kneser-Ney: no {number}-gram has a count of "
            f"{of_count.index(0, 1)}; use a larger corpus or a lower order"
        )
    rest = of_count[1] / (of_count[1] + 2 * of_count[2])
    found = [k - (k + 1) * rest * of_count[k + 1] / of_count[k] for k in (1, 2, 3)]
    return found[0], found[1], found[2]


def _discount(counts: Ids, discounts: tuple[float, float, float]) -> Doubles:
    return np.array([0.0, *discounts])[np.minimum(counts, 3)]
