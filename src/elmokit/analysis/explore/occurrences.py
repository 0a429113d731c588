"""The occurrences of a word in a corpus: found, sampled, encoded and labelled."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks, unit
from elmokit.analysis.explore.corpus import ExploredCorpus, year_of
from elmokit.analysis.explore.exploration import Labels
from elmokit.analysis.words.occurrences import Occurrence, occurrence_vectors
from elmokit.errors import InputError

MOST_PERIODS = 7
"""As many as there are distinguishable colours."""
PERIODS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Clusters(NamedTuple):
    """Groups of occurrences that were found without labels."""

    names: tuple[str, ...]
    of_use: tuple[int, ...]


Induce = Callable[[Sequence[Occurrence], Floats], Clusters | None]
"""Occurrences and their vectors (N, num_layers, D) -> clusters; None if there are too few."""


class FoundOccurrences(NamedTuple):
    """The occurrences of a word that are shown."""

    word: str
    num_found: int
    places: list[tuple[int, int]]
    """Sentence number in the corpus and position in the sentence."""
    vectors: Floats  # (N, num_layers, D)
    labels: tuple[Labels, ...]


def sample_occurrences(
    encoder: Encoder,
    corpus: ExploredCorpus,
    word: str,
    most: int,
    seed: int,
    induce: Induce | None = None,
) -> FoundOccurrences:
    """All occurrences of ``word``, or a sample of ``most``; those with a known sense come first."""
    found = corpus.find(word)
    if not found:
        raise InputError(f"{word!r} is not a token of {corpus.name}; name a word that occurs in it")
    places = _sampled(corpus, found, most, seed)
    occurrences = [Occurrence(corpus.sentences[number].tokens, place) for number, place in places]
    parts = [occurrence_vectors(encoder, part) for part in chunks(occurrences)]
    vectors = np.concatenate(parts)
    labels = _labels(corpus, places)
    clusters = None if induce is None else induce(occurrences, vectors)
    if clusters is not None:
        found_labels = Labels("cluster", clusters.names, clusters.of_use, "induced, not given")
        labels = (*labels[:1], found_labels, *labels[1:])
    return FoundOccurrences(word, len(found), places, vectors, labels)


def _sampled(
    corpus: ExploredCorpus, found: list[tuple[int, int]], most: int, seed: int
) -> list[tuple[int, int]]:
    sensed = [each for each in found if each[1] in corpus.sentences[each[0]].senses]
    others = [each for each in found if each[1] not in corpus.sentences[each[0]].senses]
    kept = _sample(sensed, most, seed)
    return sorted(kept + _sample(others, most - len(kept), seed))


def _sample(items: list[tuple[int, int]], most: int, seed: int) -> list[tuple[int, int]]:
    if len(items) <= most:
        return items
    chosen = np.random.default_rng(seed).choice(len(items), most, replace=False)
    return [items[number] for number in np.sort(chosen)]


def _labels(corpus: ExploredCorpus, places: list[tuple[int, int]]) -> tuple[Labels, ...]:
    """The known labels of the occurrences; a kind with only one label is left out."""
    sentences = [corpus.sentences[number] for number, _ in places]
    senses = [one.senses.get(place, "") for one, (_, place) in zip(sentences, places, strict=True)]
    documents = [one.document for one in sentences]
    found = [Labels("sense", *numbered(senses))] if any(senses) else []
    if len(set(documents)) > 1:
        found.append(Labels("document", *numbered(documents)))
    years = [year_of(document) for document in documents]
    if len({year for year in years if year is not None}) > 1:
        found.append(Labels("date", *_periods(years), "the year in the file's name"))
    return tuple(found)


def numbered(values: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The distinct names, most common first, and each value's index; -1 for an empty value.

    >>> numbered(["b", "a", "", "a"])
    (('a', 'b'), (1, 0, -1, 0))
    """
    counts = Counter(value for value in values if value)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    number_of = {name: number for number, name in enumerate(names)}
    return tuple(names), tuple(number_of.get(value, -1) for value in values)


def _periods(years: Sequence[int | None]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Years, or periods of equal length if there are many years, in chronological order."""
    known = [year for year in years if year is not None]
    length = next(
        size
        for size in PERIODS
        if len({year // size for year in known}) <= MOST_PERIODS or size == PERIODS[-1]
    )
    starts = sorted({year // length * length for year in known})
    names = [str(s) if length == 1 else f"{s}-{s + length - 1}" for s in starts]
    number_of = {start: number for number, start in enumerate(starts)}
    places = (-1 if year is None else number_of[year // length * length] for year in years)
    return tuple(names), tuple(places)


def mean_similarity(
    vectors: Floats, labels: Labels | None
) -> tuple[tuple[float, float | None, float | None], ...]:
    """At each layer, the mean cosine over all pairs, pairs of equal and of different labels."""
    of_use = np.full(len(vectors), -1) if labels is None else np.array(labels.of_use)
    pairs = ~np.eye(len(vectors), dtype=bool)
    known = (of_use[:, None] >= 0) & (of_use[None] >= 0)
    equal = of_use[:, None] == of_use[None]
    result = []
    for layer in range(vectors.shape[1]):
        rows = unit(vectors[:, layer])
        cosines = rows @ rows.T
        whole = _mean(cosines, pairs)
        same, apart = (_mean(cosines, pairs & known & chosen) for chosen in (equal, ~equal))
        result.append((1.0 if whole is None else whole, same, apart))
    return tuple(result)


def _mean(values: Floats, chosen: npt.NDArray[np.bool_]) -> float | None:
    return round(float(values[chosen].mean()), 4) if chosen.any() else None
