"""``word_change``: how much the use of each word differs between two corpora.

Each corpus is read once or twice (without targets, words are counted first). For every word a
sample of occurrences is kept, the same number from both corpora, so that no measure depends on how
frequent the word is in one of them. The vectors of one batch of words are in memory at a time.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks
from elmokit.analysis.semantic_change.frequency import q_values, spearman, without_frequency
from elmokit.analysis.semantic_change.measures import ChangeEvidence, ChangeMeasure, evidence
from elmokit.analysis.words.occurrences import (
    LSTM_LAYERS,
    Occurrence,
    layer_name,
    one_layer,
    parse_layer,
)
from elmokit.analysis.words.sample import (
    WordSample,
    count_words,
    sample_occurrences,
    sample_usages,
)
from elmokit.analysis.words.texts import corpus_of
from elmokit.analysis.words.wug import Usage, plain_origins, read_uses
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.progress import meter
from elmokit.recipe import to_plain
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
    evidence: ChangeEvidence
    q_value: float
    """The p-value, corrected for the number of words (Benjamini and Hochberg)."""
    adjusted_score: float
    """The score corrected for frequency; NaN if there are too few words."""
    occurrences: tuple[tuple[Occurrence, ...], tuple[Occurrence, ...]]
    usages: tuple[tuple[Usage, ...], tuple[Usage, ...]] | None = None
    """The occurrences with their origin, if they come from files of usages."""


@dataclass(frozen=True)
class ChangeResult:
    """All words, the most changed first."""

    encoder: str
    layer: str
    measure: ChangeMeasure
    """The measure by which words are ranked."""
    names: tuple[str, str]
    words: tuple[WordChange, ...]
    too_rare: tuple[str, ...]
    """Targets with fewer than ``MIN_OCCURRENCES`` occurrences in one of the corpora."""
    score_and_frequency: float
    """Spearman's correlation of the score with the smaller count."""
    too_rare_counts: tuple[tuple[int, int], ...] = ()
    """How often each of them occurs in the two corpora."""

    @property
    def absent(self) -> tuple[str, ...]:
        """The targets of ``too_rare`` that one of the corpora lacks."""
        pairs = zip(self.too_rare, self.too_rare_counts, strict=True)
        return tuple(word for word, counts in pairs if min(counts) == 0)

    def plain(self) -> dict[str, Any]:
        """What JSON can hold; ``usages`` leaves out the sentences, which are in ``occurrences``."""
        rows = [
            {
                **to_plain(replace(row, usages=None)),
                "usages": row.usages and [plain_origins(side) for side in row.usages],
            }
            for row in self.words
        ]
        return {**to_plain(replace(self, words=())), "words": rows}


class CorpusSamples(NamedTuple):
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
    first: str | Path | SentenceSource,
    second: str | Path | SentenceSource,
    targets: Sequence[str] | None = None,
    min_count: int = MIN_COUNT,
    limit: int = MAX_OCCURRENCES,
    seed: int = 0,
) -> CorpusSamples:
    """Find the occurrences of words in two corpora, ignoring case; of many, a random sample.

    Args:
        first: a file or folder of text, or a function that returns the sentences of a corpus as
            lists of tokens, and is called for each pass over them.
        second: the corpus to compare it with.
        targets: the words; the result has their spelling. None: all words that occur ``min_count``
            times in both corpora.
        min_count: see ``targets``.
        limit: the largest number of occurrences of a word from each corpus.
        seed: seed of the samples.
    """
    corpora = [
        corpus_of(str(corpus)) if isinstance(corpus, str | Path) else corpus
        for corpus in (first, second)
    ]
    if targets is None:
        counts = [count_words(corpus()) for corpus in corpora]
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
    found = [sample_occurrences(corpus(), targets, limit, seed) for corpus in corpora]
    return CorpusSamples(*({word: side[word.casefold()] for word in targets} for side in found))


def samples_of_usages(
    path: Path,
    limit: int = MAX_OCCURRENCES,
    targets: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[CorpusSamples, tuple[str, str]]:
    """The usages of DURel files; their two groupings, whose names are returned, are the corpora.

    Args:
        path: a file of usages, or a folder of them.
        limit: the largest number of usages of a lemma from each grouping; of more, a random sample.
        targets: the lemmas, in any case; None: all.
        seed: seed of the samples.
    """
    usages = read_uses(path)
    groupings = sorted({usage.grouping for usage in usages})
    if len(groupings) != 2:
        raise InputError(
            f"{path}: change is measured between two groupings, but the file has {len(groupings)} "
            f"({', '.join(groupings[:5])})"
        )
    words = sorted({usage.lemma for usage in usages}) if targets is None else list(targets)
    known = str if targets is None else str.casefold
    found: dict[tuple[str, str], list[Usage]] = {}
    for usage in usages:
        found.setdefault((known(usage.lemma), usage.grouping), []).append(usage)
    first, second = (
        {
            word: sample_usages(found.get((known(word), grouping), []), word, limit, seed)
            for word in words
        }
        for grouping in groupings
    )
    return CorpusSamples(first, second), (groupings[0], groupings[1])


def word_change(
    model: Embedder | Encoder,
    samples: CorpusSamples,
    names: tuple[str, str],
    layer: str = LSTM_LAYERS,
    measure: ChangeMeasure = "excess",
    seed: int = 0,
    quiet: bool = False,
) -> ChangeResult:
    """Compare the occurrences of each word in two corpora.

    Args:
        model: what ``elmokit.load`` returns, or another encoder of analysis/encoders.
        samples: as ``sample_corpora`` or ``samples_of_usages`` return them.
        names: names of the corpora.
        layer: a layer's number, ``lstm`` (the mean of the LSTM layers) or ``all``.
        measure: the measure by which words are ranked; see measures.py.
        seed: seed of samples, clusters, permutations and resamples.
        quiet: show no progress.

    >>> import elmokit
    >>> old = ["We sat on the river bank .".split()] * 10
    >>> new = ["The bank raised its rates .".split()] * 10
    >>> samples = elmokit.sample_corpora(lambda: old, lambda: new, targets=["bank"])
    >>> result = elmokit.word_change(elmokit.load("en-small"), samples, ("old", "new"), quiet=True)
    >>> result.words[0].word, result.words[0].counts, result.words[0].evidence.excess > 0.1
    ('bank', (10, 10), True)
    """
    encoder = BiLmEncoder(model) if isinstance(model, Embedder) else model
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
    rare_counts = tuple(_counts(samples, word) for word in too_rare)
    return ChangeResult(
        encoder.name, name, measure, names, tuple(rows), too_rare, correlation, rare_counts
    )


def _counts(samples: CorpusSamples, word: str) -> tuple[int, int]:
    return samples.first[word].num_found, samples.second[word].num_found


def _num_compared(samples: CorpusSamples, word: str) -> int:
    return min(len(side[word].occurrences) for side in samples)


def _compare(
    encoder: Encoder, samples: CorpusSamples, words: Sequence[str], layer: int | str, seed: int
) -> Iterator[WordChange]:
    """Compare words one by one; a sentence with several of them is encoded once."""
    chosen = {word: _equally_many(samples, word, seed) for word in words}
    wanted: dict[tuple[str, ...], list[tuple[str, int, int, int]]] = {}
    for word, sides in chosen.items():
        for side, sample in enumerate(sides):
            for row, (tokens, place) in enumerate(sample.occurrences):
                wanted.setdefault(tuple(tokens), []).append((word, side, row, place))
    vectors: dict[str, tuple[list[Floats], list[Floats]]] = {
        word: tuple([np.empty(0, np.float32)] * len(side.occurrences) for side in sides)  # type: ignore[misc]
        for word, sides in chosen.items()
    }
    for sentences in chunks(wanted):
        for sentence, layers in zip(sentences, encoder.layers(sentences), strict=True):
            for word, side, row, place in wanted[sentence]:
                vectors[word][side][row] = one_layer(layers[:, place], layer)
    for word in words:
        one, other = (np.stack(rows).astype(np.float64) for rows in vectors.pop(word))
        number = zlib.crc32(word.casefold().encode())
        first, second = chosen[word]
        yield WordChange(
            word,
            _counts(samples, word),
            len(one),
            evidence(one, other, seed ^ number),
            np.nan,
            np.nan,
            (tuple(first.occurrences), tuple(second.occurrences)),
            (tuple(first.usages), tuple(second.usages)) if first.usages and second.usages else None,
        )


def _equally_many(samples: CorpusSamples, word: str, seed: int) -> tuple[WordSample, WordSample]:
    number = _num_compared(samples, word)
    random = np.random.default_rng([seed, zlib.crc32(word.casefold().encode())])
    sides = []
    for side in samples:
        places = random.permutation(len(side[word].occurrences))[:number]
        sides.append(side[word].rows(sorted(places.tolist())))
    return sides[0], sides[1]
