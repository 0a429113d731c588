"""All occurrences of a word in a corpus, projected to a plane (PCA) and coloured by their sense."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, chunks, evenly
from elmokit.analysis.output.pictures import Picture, scatter
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.probes.sense_data import SenseSentence, read_semcor
from elmokit.analysis.probes.wordnet import WordNet, lemma_of, part_of_speech, read_wordnet
from elmokit.analysis.words.occurrences import Occurrence, occurrence_vectors
from elmokit.analysis.words.texts import read_sentences
from elmokit.errors import InputError

NO_SENSE = "no sense given"
MAX_OCCURRENCES = 3000


class SensedOccurrence(NamedTuple):
    """An occurrence and its sense."""

    occurrence: Occurrence
    sense: str
    """A sense key or name, or ``NO_SENSE``."""


@dataclass(frozen=True)
class SenseMap:
    """Occurrences of a word as points in a plane."""

    word: str
    encoder: str
    layer: str
    occurrences: tuple[SensedOccurrence, ...]
    points: npt.NDArray[np.float64]  # (N, 2)
    explained: tuple[float, float]
    """Share of the variance that each axis explains."""
    num_found: int
    """Number of occurrences found; ``occurrences`` holds those that are drawn."""


def read_occurrences(data: Path, word: str, texts: Sequence[str] = ()) -> list[SensedOccurrence]:
    """The occurrences of ``word`` in SemCor (in ``data``, with wordnet30) and in other texts."""
    wordnet = read_wordnet(data / "wordnet30")
    found = [
        occurrence._replace(sense=sense_name(occurrence.sense, wordnet))
        for occurrence in occurrences_in_semcor(
            read_semcor(data / "semcor30", wordnet).sentences, word
        )
    ]
    if texts:
        return found + occurrences_in_text(read_sentences(texts), word)
    if not any(occurrence.sense != NO_SENSE for occurrence in found):
        raise InputError(
            f"SemCor has no occurrence of {word!r} with a sense; give more text to map it"
        )
    return found


def sense_name(key: str, wordnet: WordNet) -> str:
    """A readable name of a sense key: play%1:10:01:: is "play, noun 1"."""
    if key == NO_SENSE:
        return key
    lemma, pos = lemma_of(key), part_of_speech(key)
    return f"{lemma}, {pos.lower()} {wordnet.senses[lemma, pos].index(key) + 1}"


def occurrences_in_semcor(sentences: Iterable[SenseSentence], word: str) -> list[SensedOccurrence]:
    """Every token of this form (play, not plays), with its sense where it is tagged."""
    found = []
    for sentence in sentences:
        senses = {
            occurrence.start: occurrence.keys[0]
            for occurrence in sentence.instances
            if occurrence.end == occurrence.start + 1
        }
        for place, token in enumerate(sentence.tokens):
            if token.casefold() == word.casefold():
                found.append(
                    SensedOccurrence(
                        Occurrence(sentence.tokens, place), senses.get(place, NO_SENSE)
                    )
                )
    return found


def occurrences_in_text(sentences: Iterable[Sequence[str]], word: str) -> list[SensedOccurrence]:
    """Every token of this form in plain text."""
    return [
        SensedOccurrence(Occurrence(list(tokens), place), NO_SENSE)
        for tokens in sentences
        for place, token in enumerate(tokens)
        if token.casefold() == word.casefold()
    ]


def sense_map(
    encoder: Encoder, word: str, occurrences: Sequence[SensedOccurrence], layer: int | None = None
) -> SenseMap:
    """The first two principal components of the occurrences at a layer (default: the top)."""
    layer = len(encoder.layer_names) - 1 if layer is None else layer
    if not 0 <= layer < len(encoder.layer_names):
        top = len(encoder.layer_names) - 1
        raise InputError(f"{encoder.name} has layers 0 to {top}, not {layer}")
    if len(occurrences) < 3:
        raise InputError(
            f"{word!r} occurs {len(occurrences)} times; a map needs at least 3 occurrences"
        )
    drawn = _thinned(occurrences)
    parts = [
        occurrence_vectors(encoder, [u.occurrence for u in chunk])[:, layer]
        for chunk in chunks(drawn)
    ]
    vectors = np.concatenate(parts).astype(np.float64)  # (N, D)
    points, explained = principal_components(vectors)
    layer_name = encoder.layer_names[layer]
    return SenseMap(
        word, encoder.name, layer_name, tuple(drawn), points, explained, len(occurrences)
    )


def _thinned(occurrences: Sequence[SensedOccurrence]) -> list[SensedOccurrence]:
    """At most ``MAX_OCCURRENCES``; those with a sense are kept first."""
    sensed = [occurrence for occurrence in occurrences if occurrence.sense != NO_SENSE]
    others = [occurrence for occurrence in occurrences if occurrence.sense == NO_SENSE]
    sensed = evenly(sensed, MAX_OCCURRENCES)
    return sensed + evenly(others, MAX_OCCURRENCES - len(sensed))


def principal_components(
    vectors: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """(N, 2) and the shares of variance; signs make the largest entry of each axis positive."""
    centred = vectors - vectors.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    if len(axes) < 2:
        axes, lengths = np.pad(axes, ((0, 1), (0, 0))), np.pad(lengths, (0, 1))
    largest = np.abs(axes[:2]).argmax(axis=1)
    axes = axes[:2] * np.where(axes[[0, 1], largest] < 0, -1, 1)[:, None]
    total = float((lengths**2).sum()) or 1.0
    shares = lengths[:2] ** 2 / total
    return centred @ axes.T, (float(shares[0]), float(shares[1]))


def sense_map_picture(result: SenseMap) -> Picture:
    """One point per occurrence, coloured by sense."""
    drawn = count(len(result.occurrences))
    if result.num_found > len(result.occurrences):
        drawn = f"{drawn} of {count(result.num_found)}"
    caption = (
        f"{drawn} occurrences of “{result.word}” at {result.layer} of {result.encoder}: two "
        f"principal components ({result.explained[0]:.0%} and {result.explained[1]:.0%} of the "
        "variance)"
    )
    labels = [occurrence.sense for occurrence in result.occurrences]
    return scatter(f"senses-of-{result.word}", caption, result.points, labels, NO_SENSE)


def sense_map_table(result: SenseMap) -> Table:
    """One row per sense: its number of occurrences and an example."""
    first: dict[str, Occurrence] = {}
    counts: dict[str, int] = {}
    for occurrence, sense in result.occurrences:
        first.setdefault(sense, occurrence)
        counts[sense] = counts.get(sense, 0) + 1
    names = sorted(counts, key=lambda sense: (sense == NO_SENSE, -counts[sense], sense))
    rows = tuple((name, count(counts[name]), first[name].text()) for name in names)
    return Table(f"occurrences of {result.word}", ("sense", "occurrences", "for example"), rows)
