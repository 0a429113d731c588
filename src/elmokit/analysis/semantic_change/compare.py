"""``word_change``: how much the use of each word differs between two corpora.

Each corpus is read once or twice (without targets, words are counted first). For every word a
sample of occurrences is kept, the same number from both corpora, so that no measure depends on how
frequent the word is in one of them. The vectors of one batch of words are in memory at a time.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks
from elmokit.analysis.semantic_change.frequency import q_values, spearman, without_frequency
from elmokit.analysis.semantic_change.measures import Evidence, Measure, evidence
from elmokit.analysis.words.occurrences import (
    LSTM_LAYERS,
    Occurrence,
    layer_name,
    one_layer,
    parse_layer,
)
from elmokit.analysis.words.sample import WordSample, count_words, sample_occurrences
from elmokit.analysis.words.wug import Usage, read_uses
from elmokit.errors import InputError
from elmokit.progress import meter
from elmokit.text.sources import read_lines

MIN_COUNT = 50
MIN_OCCURRENCES = 10
MAX_OCCURRENCES = 100
WORDS_AT_ONCE = 500
SentenceSource = Callable[[], Iterable[Sequence[str]]]
"""Returns the sentences of a corpus; called again for a second pass."""


@dataclass(frozen=True)
class WordChange:
    """One word in two corpora."""

    word: str
    counts: tuple[int, int]
    num_compared: int
    """The number of occurrences from each corpus."""
    evidence: Evidence
    q_value: float
    """The p-value, corrected for the number of words (Benjamini and Hochberg)."""
    adjusted_score: float
    """The score corrected for frequency; NaN if there are too few words."""
    occurrences: tuple[tuple[Occurrence, ...], tuple[Occurrence, ...]]


@dataclass(frozen=True)
class ChangeResult:
    """All words, the most changed first."""

    encoder: str
    layer: str
    measure: Measure
    """The measure by which words are ranked."""
    names: tuple[str, str]
    words: tuple[WordChange, ...]
    too_rare: tuple[str, ...]
    """Targets with fewer than ``MIN_OCCURRENCES`` occurrences in one of the corpora."""
    score_and_frequency: float
    """Spearman's correlation of the score with the smaller count."""


class Samples(NamedTuple):
    """The occurrences of each word in the two corpora."""

    first: dict[str, WordSample]
    second: dict[str, WordSample]


def read_targets(path: Path) -> list[str]:
    """One word per line, as in SemEval-2020's targets.txt."""
    words = [line.strip() for _, line in read_lines(path)]
    words = [word for word in dict.fromkeys(words) if word]
    if not words:
        raise InputError(f"{path}: no targets found; give one word per line")
    return words


def sample_corpora(
    first: SentenceSource,
    second: SentenceSource,
    targets: Sequence[str] | None,
    min_count: int = MIN_COUNT,
    limit: int = MAX_OCCURRENCES,
    seed: int = 0,
) -> Samples:
    """Occurrences of the targets, or of all words that occur ``min_count`` times in both."""
    if targets is None:
        counts = [count_words(corpus()) for corpus in (first, second)]
        targets = [
            word
            for word, count in counts[0].items()
            if min(count, counts[1].get(word, 0)) >= min_count and any(map(str.isalpha, word))
        ]
        if not targets:
            raise InputError(
                f"no word occurs {min_count} times in both corpora; give more text, lower "
                f"--min-count or name --targets"
            )
    return Samples(*(sample_occurrences(each(), targets, limit, seed) for each in (first, second)))


def samples_of_usages(path: Path, limit: int = MAX_OCCURRENCES) -> tuple[Samples, tuple[str, str]]:
    """The usages of DURel files; their two groupings are the corpora."""
    usages = read_uses(path)
    groupings = sorted({usage.grouping for usage in usages})
    if len(groupings) != 2:
        raise InputError(
            f"{path}: change is measured between two groupings, but the file has {len(groupings)} "
            f"({', '.join(groupings[:5])})"
        )
    lemmas = sorted({usage.lemma for usage in usages})
    first, second = (
        {lemma: _of_lemma(usages, lemma, grouping, limit) for lemma in lemmas}
        for grouping in groupings
    )
    return Samples(first, second), (groupings[0], groupings[1])


def _of_lemma(usages: Sequence[Usage], lemma: str, grouping: str, limit: int) -> WordSample:
    found = [
        usage.occurrence for usage in usages if (usage.lemma, usage.grouping) == (lemma, grouping)
    ]
    return WordSample(len(found), found[:limit])


def word_change(
    encoder: Encoder,
    samples: Samples,
    names: tuple[str, str],
    layer: str = LSTM_LAYERS,
    measure: Measure = "excess",
    seed: int = 0,
    quiet: bool = False,
) -> ChangeResult:
    """Compare the occurrences of each word in two corpora.

    Args:
        encoder: computes the vectors.
        samples: as ``sample_corpora`` or ``samples_of_usages`` return them.
        names: names of the corpora.
        layer: a layer's number, ``lstm`` (the mean of the LSTM layers) or ``all``.
        measure: the measure by which words are ranked; see measures.py.
        seed: seed of samples, clusters, permutations and resamples.
        quiet: show no progress.
    """
    chosen = parse_layer(layer, encoder)
    words = [word for word in samples.first if _num_compared(samples, word) >= MIN_OCCURRENCES]
    too_rare = tuple(word for word in samples.first if word not in set(words))
    if not words:
        shown = ", ".join(repr(word) for word in too_rare[:5])
        raise InputError(
            f"none of the words ({shown} ...) occurs {MIN_OCCURRENCES} times in both corpora; give "
            f"more text or other targets"
        )
    rows = []
    with meter("comparing", "words", len(words), quiet) as progress:
        for some in chunks(words, WORDS_AT_ONCE):
            for row in _compare(encoder, samples, some, chosen, seed):
                rows.append(row)
                progress.advance()
    scores = [row.evidence.score(measure) for row in rows]
    adjusted = without_frequency(scores, [row.counts for row in rows])
    correlation = spearman(scores, [min(row.counts) for row in rows])
    corrected = q_values([row.evidence.p_value for row in rows])
    rows = [
        replace(row, adjusted_score=float(one), q_value=float(other))
        for row, one, other in zip(rows, adjusted, corrected, strict=True)
    ]
    rows.sort(key=lambda row: (-row.evidence.score(measure), row.word))
    name = layer_name(chosen, encoder)
    return ChangeResult(encoder.name, name, measure, names, tuple(rows), too_rare, correlation)


def _num_compared(samples: Samples, word: str) -> int:
    return min(len(side[word].occurrences) for side in samples)


def _compare(
    encoder: Encoder, samples: Samples, words: Sequence[str], layer: int | str, seed: int
) -> Iterator[WordChange]:
    """Compare words one by one; a sentence with several of them is encoded once."""
    chosen = {word: _equally_many(samples, word, seed) for word in words}
    wanted: dict[tuple[str, ...], list[tuple[str, int, int, int]]] = {}
    for word, sides in chosen.items():
        for side, occurrences in enumerate(sides):
            for row, (tokens, place) in enumerate(occurrences):
                wanted.setdefault(tuple(tokens), []).append((word, side, row, place))
    vectors: dict[str, tuple[list[Floats], list[Floats]]] = {
        word: ([np.empty(0, np.float32)] * len(one), [np.empty(0, np.float32)] * len(other))
        for word, (one, other) in chosen.items()
    }
    for sentences in chunks(wanted):
        for sentence, layers in zip(sentences, encoder.layers(sentences), strict=True):
            for word, side, row, place in wanted[sentence]:
                vectors[word][side][row] = one_layer(layers[:, place], layer)
    for word in words:
        one, other = (np.stack(rows).astype(np.float64) for rows in vectors.pop(word))
        number = zlib.crc32(word.encode())
        yield WordChange(
            word,
            (samples.first[word].num_found, samples.second[word].num_found),
            len(one),
            evidence(one, other, seed ^ number),
            np.nan,
            np.nan,
            chosen[word],
        )


def _equally_many(
    samples: Samples, word: str, seed: int
) -> tuple[tuple[Occurrence, ...], tuple[Occurrence, ...]]:
    number = _num_compared(samples, word)
    random = np.random.default_rng([seed, zlib.crc32(word.encode())])
    sides = []
    for side in samples:
        occurrences = side[word].occurrences
        places = sorted(random.permutation(len(occurrences))[:number])
        sides.append(tuple(occurrences[place] for place in places))
    return sides[0], sides[1]
