"""All uses of a word in a corpus as points of a plane (PCA), coloured by their sense in SemCor."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders import Encoder, chunks, evenly
from elmokit.analysis.pictures import Picture, scatter
from elmokit.analysis.sense_data import SenseSentence, read_semcor
from elmokit.analysis.tables import Table, count
from elmokit.analysis.texts import read_sentences
from elmokit.analysis.uses import Use, use_vectors
from elmokit.analysis.wordnet import WordNet, lemma_of, part_of_speech, read_wordnet
from elmokit.errors import InputError

NO_SENSE = "no sense given"
MAX_USES = 3000


class SensedUse(NamedTuple):
    use: Use
    sense: str
    """A sense key or name, or ``NO_SENSE``."""


@dataclass(frozen=True)
class SenseMap:
    word: str
    encoder: str
    layer: str
    uses: tuple[SensedUse, ...]
    points: npt.NDArray[np.float64]  # (N, 2)
    explained: tuple[float, float]
    """Share of the variance that each axis holds."""
    num_found: int
    """Uses there were; ``uses`` are those that are drawn."""


def read_uses(data: Path, word: str, texts: Sequence[str] = ()) -> list[SensedUse]:
    """The word's uses in SemCor (``data`` holds semcor30 and wordnet30) and in further text."""
    wordnet = read_wordnet(data / "wordnet30")
    found = [
        use._replace(sense=sense_name(use.sense, wordnet))
        for use in uses_in_semcor(read_semcor(data / "semcor30", wordnet).sentences, word)
    ]
    if texts:
        return found + uses_in_text(read_sentences(texts), word)
    if not any(use.sense != NO_SENSE for use in found):
        raise InputError(f"SemCor has no use of {word!r} with a sense; give more text to map it")
    return found


def sense_name(key: str, wordnet: WordNet) -> str:
    """A key as people say it: play%1:10:01:: is "play, noun 1"."""
    if key == NO_SENSE:
        return key
    lemma, pos = lemma_of(key), part_of_speech(key)
    return f"{lemma}, {pos.lower()} {wordnet.senses[lemma, pos].index(key) + 1}"


def uses_in_semcor(sentences: Iterable[SenseSentence], word: str) -> list[SensedUse]:
    """Every token of this form (play, not plays), with its sense where it is tagged."""
    found = []
    for sentence in sentences:
        senses = {use.start: use.keys[0] for use in sentence.uses if use.end == use.start + 1}
        for place, token in enumerate(sentence.tokens):
            if token.casefold() == word.casefold():
                found.append(SensedUse(Use(sentence.tokens, place), senses.get(place, NO_SENSE)))
    return found


def uses_in_text(sentences: Iterable[Sequence[str]], word: str) -> list[SensedUse]:
    """Every token of this form in plain text."""
    return [
        SensedUse(Use(list(tokens), place), NO_SENSE)
        for tokens in sentences
        for place, token in enumerate(tokens)
        if token.casefold() == word.casefold()
    ]


def sense_map(
    encoder: Encoder, word: str, uses: Sequence[SensedUse], layer: int | None = None
) -> SenseMap:
    """The first two principal components of the uses at a layer (default: the top)."""
    layer = len(encoder.layer_names) - 1 if layer is None else layer
    if not 0 <= layer < len(encoder.layer_names):
        raise InputError(f"{encoder.name} has layers 0 to {len(encoder.layer_names) - 1}")
    if len(uses) < 3:
        raise InputError(f"{word!r} occurs {len(uses)} times; a map needs at least 3 uses")
    drawn = _thinned(uses)
    parts = [use_vectors(encoder, [u.use for u in chunk])[:, layer] for chunk in chunks(drawn)]
    vectors = np.concatenate(parts).astype(np.float64)  # (N, D)
    points, explained = principal_components(vectors)
    layer_name = encoder.layer_names[layer]
    return SenseMap(word, encoder.name, layer_name, tuple(drawn), points, explained, len(uses))


def _thinned(uses: Sequence[SensedUse]) -> list[SensedUse]:
    """At most MAX_USES; those with a sense are kept before those without."""
    sensed = [use for use in uses if use.sense != NO_SENSE]
    others = [use for use in uses if use.sense == NO_SENSE]
    sensed = evenly(sensed, MAX_USES)
    return sensed + evenly(others, MAX_USES - len(sensed))


def principal_components(
    vectors: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """(N, 2) and the shares of variance; the largest entry of each axis points up."""
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
    drawn = count(len(result.uses))
    if result.num_found > len(result.uses):
        drawn = f"{drawn} of {count(result.num_found)}"
    caption = (
        f"{drawn} uses of “{result.word}” at {result.layer} of {result.encoder}: two "
        f"principal components ({result.explained[0]:.0%} and {result.explained[1]:.0%} of the "
        "variance)"
    )
    labels = [use.sense for use in result.uses]
    return scatter(f"senses-of-{result.word}", caption, result.points, labels, NO_SENSE)


def sense_map_table(result: SenseMap) -> Table:
    """Each sense, how often, and one sentence of it."""
    first: dict[str, Use] = {}
    counts: dict[str, int] = {}
    for use, sense in result.uses:
        first.setdefault(sense, use)
        counts[sense] = counts.get(sense, 0) + 1
    names = sorted(counts, key=lambda sense: (sense == NO_SENSE, -counts[sense], sense))
    rows = tuple((name, count(counts[name]), first[name].text()) for name in names)
    return Table(f"uses of {result.word}", ("sense", "uses", "for example"), rows)
