"""How well measures of change detect change of a known degree.

A text is cut into two halves at random, sentence by sentence. Pairs of words (a, b) of similar
frequency become one pseudo-word each: in the first half it is always a; in the second half a share
of its occurrences is of b, from 0 to 1 in equal steps over the pairs (Schlechtweg and Schulte im
Walde 2020; Rosenfeld and Erk 2018). The truth is that share; a measure is good if it ranks the
pseudo-words as the truth does (Spearman).

The encoder reads real sentences with a or b in them, so the spelling alone reveals the share, and
the rows of the plain layers show little else. In the rows "context only" the word is replaced by a
neutral token before encoding, so that only its context can reveal the share.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.semantic_change.frequency import spearman
from elmokit.analysis.semantic_change.measures import (
    cluster_divergence,
    distances,
    same_corpus_floor,
)
from elmokit.analysis.semantic_change.procrustes import (
    CONTEXTS,
    aligned_distances,
    static_vectors,
)
from elmokit.analysis.words.occurrences import (
    ALL_LAYERS,
    LSTM_LAYERS,
    Occurrence,
    layer_name,
    occurrence_vectors,
    one_layer,
)
from elmokit.analysis.words.sample import count_words
from elmokit.errors import InputError
from elmokit.progress import meter

NEUTRAL = "something"
MEASURES = ("APD", "PRT", "mean", "APD above floor", "JSD")


class PseudoWord(NamedTuple):
    """Two words treated as one."""

    first: str
    second: str
    share: float
    """The share of the second word among the occurrences in the second half."""
    occurrences: tuple[list[Occurrence], list[Occurrence]]


class PseudoScore(NamedTuple):
    """Spearman's correlation of each measure with the truth."""

    vectors: str
    correlations: tuple[float, ...]
    """In the order of ``MEASURES``; static vectors have PRT alone, the others are NaN."""


@dataclass(frozen=True)
class PseudoChangeResult:
    """One row per layer, and one for aligned static vectors."""

    encoder: str
    num_words: int
    per_side: int
    num_sentences: int
    rows: tuple[PseudoScore, ...]


def make_pseudo_words(
    sentences: Sequence[Sequence[str]], num_words: int, per_side: int, seed: int = 0
) -> tuple[list[PseudoWord], list[int]]:
    """The pseudo-words, and the half (0 or 1) of each sentence."""
    random = np.random.default_rng(seed)
    halves = random.integers(2, size=len(sentences)).tolist()
    counts = count_words(sentences)
    enough = [
        word
        for word, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if number >= 4 * per_side and word.isalpha() and len(word) > 3
    ]
    if len(enough) < 2 * num_words:
        raise InputError(
            f"{num_words} pseudo-words need {2 * num_words} words of {4 * per_side} occurrences, "
            f"but the text has {len(enough)}; give more text, or lower --words or --occurrences"
        )
    enough = enough[-2 * num_words :]  # the rarest of them: content words rather than "with"
    order = random.permutation(num_words)
    places = _places(sentences, halves, set(enough), random)
    found = []
    for number in range(num_words):
        first, second = enough[2 * number], enough[2 * number + 1]  # neighbours in frequency
        share = float(order[number]) / max(num_words - 1, 1)
        from_second = round(share * per_side)
        later = places[second][1][:from_second] + places[first][1][: per_side - from_second]
        found.append(PseudoWord(first, second, share, (places[first][0][:per_side], later)))
    return found, halves


def _places(
    sentences: Sequence[Sequence[str]],
    halves: Sequence[int],
    words: set[str],
    random: np.random.Generator,
) -> dict[str, tuple[list[Occurrence], list[Occurrence]]]:
    found: dict[str, tuple[list[Occurrence], list[Occurrence]]] = {
        word: ([], []) for word in sorted(words)
    }
    for sentence, half in zip(sentences, halves, strict=True):
        for place, token in enumerate(sentence):
            if token.casefold() in words:
                found[token.casefold()][half].append(Occurrence(list(sentence), place))
    return {
        word: tuple([side[row] for row in random.permutation(len(side))] for side in sides)  # type: ignore[misc]
        for word, sides in found.items()
    }


def score_pseudo_change(
    encoder: Encoder,
    sentences: Iterable[Sequence[str]],
    num_words: int = 40,
    per_side: int = 30,
    seed: int = 0,
    quiet: bool = False,
) -> PseudoChangeResult:
    """Spearman's correlation of every measure with the truth, for each layer and static vectors."""
    text = [list(sentence) for sentence in sentences]
    words, halves = make_pseudo_words(text, num_words, per_side, seed)
    truth = [word.share for word in words]
    layers: list[int | str] = [*range(len(encoder.layer_names)), LSTM_LAYERS, ALL_LAYERS]
    scores: dict[str, list[tuple[float, ...]]] = {}
    with meter("pseudo-change", "words", 2 * num_words, quiet) as progress:
        for is_neutral in (False, True):
            for word in words:
                sides = [_vectors(encoder, side, is_neutral) for side in word.occurrences]
                for layer in layers:
                    if is_neutral and layer == 0:
                        continue  # the same vector everywhere
                    name = layer_name(layer, encoder) + (", context only" if is_neutral else "")
                    one, other = (one_layer(side, layer).astype(float) for side in sides)
                    scores.setdefault(name, []).append(_measures(one, other, seed))
                progress.advance()
    rows = [
        PseudoScore(
            name, tuple(spearman(truth, list(column)) for column in zip(*all_, strict=True))
        )
        for name, all_ in scores.items()
    ]
    static = spearman(truth, _static_change(text, halves, words, seed).tolist())
    nothing = float("nan")
    rows.append(
        PseudoScore("static vectors, aligned", (nothing, static, nothing, nothing, nothing))
    )
    return PseudoChangeResult(encoder.name, num_words, per_side, len(text), tuple(rows))


def _vectors(encoder: Encoder, occurrences: Sequence[Occurrence], is_neutral: bool) -> Floats:
    if is_neutral:
        occurrences = [
            Occurrence([*tokens[:place], NEUTRAL, *tokens[place + 1 :]], place)
            for tokens, place in occurrences
        ]
    return np.concatenate([occurrence_vectors(encoder, some) for some in chunks(occurrences)])


def _measures(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64], seed: int
) -> tuple[float, ...]:
    found = distances(one, other)
    floor = same_corpus_floor(_unit(one), _unit(other), np.random.default_rng(seed))
    divergence, _ = cluster_divergence(one, other, seed)
    return found.apd, found.prt, found.mean, found.apd - floor.apd, divergence


def _unit(vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def _static_change(
    text: Sequence[Sequence[str]], halves: Sequence[int], words: Sequence[PseudoWord], seed: int
) -> npt.NDArray[np.float64]:
    """The aligned distance of each pseudo-word; other frequent words are used for the alignment.

    Unlike the encoder, static vectors are computed from all occurrences in each half.
    """
    random = np.random.default_rng(seed)
    counts = count_words(text)
    common = sorted(counts, key=lambda word: (-counts[word], word))
    own = {each for word in words for each in (word.first, word.second)}
    contexts = [word for word in common if word not in own][:CONTEXTS]
    names = [f"<{number}>" for number in range(len(words))]
    rows = [*names, *[word for word in contexts if word.isalpha()][:1000]]
    renamed: list[list[list[str]]] = [[], []]
    name_of = {word.first: number for number, word in enumerate(words)}
    second_of = {word.second: number for number, word in enumerate(words)}
    for sentence, half in zip(text, halves, strict=True):
        tokens = [token.casefold() for token in sentence]
        for place, token in enumerate(tokens):
            if token in name_of:
                number = name_of[token]
                is_kept = half == 0 or random.random() >= words[number].share
                tokens[place] = names[number] if is_kept else "<other>"
            elif token in second_of:
                number = second_of[token]
                is_taken = half == 1 and random.random() < words[number].share
                tokens[place] = names[number] if is_taken else "<other>"
        renamed[half].append(tokens)
    first, second = (static_vectors(side, rows, contexts) for side in renamed)
    return aligned_distances(first, second)[: len(words)]


def pseudo_change_table(result: PseudoChangeResult) -> Table:
    """One row per layer."""
    rows = tuple(
        (row.vectors, *("" if np.isnan(value) else f"{value:.3f}" for value in row.correlations))
        for row in result.rows
    )
    return Table(
        f"Change of a known degree: Spearman with the truth ({result.encoder})",
        ("", *MEASURES),
        rows,
        f"{result.num_words} pseudo-words of {result.per_side} occurrences on each side; "
        f"{count(result.num_sentences)} sentences. “Context only”: the word itself is hidden from "
        "the encoder. Static vectors use all occurrences.",
    )


def pseudo_change_picture(result: PseudoChangeResult) -> Picture:
    """One dot per layer and measure."""
    rows = [row for row in result.rows if not np.isnan(row.correlations[0])]
    static = next(row.correlations[1] for row in result.rows if np.isnan(row.correlations[0]))
    series = {name: [row.correlations[n] for row in rows] for n, name in enumerate(MEASURES)}
    del series["mean"]  # all but equal to PRT
    return dots(
        "pseudo-change",
        f"Change of a known degree: rank correlation with the truth, {result.encoder}",
        [row.vectors for row in rows],
        series,
        "Spearman",
        line=("static vectors, aligned", static),
    )
