"""How well induced senses agree with those of SemCor, for every lemma that has enough of both.

A lemma counts if at least two of its senses have ``MIN_PER_SENSE`` occurrences each, all of these
together at least ``MIN_OCCURRENCES``, and the most frequent one no more than ``MAX_SHARE`` of
them. Rarer senses are left out. Lemmas are split in two by a checksum of their name: on one half
("dev") the settings of the clustering were chosen, the other ("test") is reported.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks, evenly
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.probes.sense_data import Document, SemCor
from elmokit.analysis.sense_induction.agreement import adjusted_rand_index, v_measure
from elmokit.analysis.sense_induction.clusters import cluster, cluster_into
from elmokit.analysis.words.occurrences import (
    ALL_LAYERS,
    LSTM_LAYERS,
    Occurrence,
    layer_name,
    occurrence_vectors,
    one_layer,
)
from elmokit.errors import InputError
from elmokit.progress import meter

MIN_PER_SENSE, MIN_OCCURRENCES, MAX_OCCURRENCES, MAX_SHARE = 5, 30, 120, 0.9
Half = Literal["dev", "test"]
Labels = npt.NDArray[np.int64]


class LemmaSenses(NamedTuple):
    """The occurrences of a lemma with their senses in SemCor."""

    lemma: str
    occurrences: list[Occurrence]
    senses: list[str]


class InductionScore(NamedTuple):
    """One method of clustering, averaged over lemmas."""

    encoder: str
    way: str
    adjusted_rand_index: float
    interval: tuple[float, float]
    """95 % interval of the adjusted Rand index, by resampling the lemmas."""
    v_measure: float
    homogeneity: float
    completeness: float
    num_clusters: float


@dataclass(frozen=True)
class InductionResult:
    """Rows of every encoder: its layers, and baselines."""

    rows: tuple[InductionScore, ...]
    half: str
    num_lemmas: int
    num_occurrences: int
    mean_senses: float


def read_lemmas(
    documents: Iterable[Document], half: Half, max_lemmas: int | None = None
) -> list[LemmaSenses]:
    """The nouns and verbs of one half that have enough occurrences of several senses."""
    found: dict[str, list[tuple[Occurrence, str]]] = {}
    for sentence in (sentence for document in documents for sentence in document):
        for lemma, pos, keys, start, end in sentence.instances:
            if pos in ("NOUN", "VERB") and len(keys) == 1 and end == start + 1:
                name = f"{lemma} ({pos.lower()})"
                found.setdefault(name, []).append((Occurrence(sentence.tokens, start), keys[0]))
    lemmas = []
    for name in sorted(found):
        if (zlib.crc32(name.encode()) % 2 == 0) != (half == "dev"):
            continue
        counts = Counter(key for _, key in found[name])
        kept = [pair for pair in found[name] if counts[pair[1]] >= MIN_PER_SENSE]
        counts = Counter(key for _, key in kept)
        is_enough = len(counts) > 1 and len(kept) >= MIN_OCCURRENCES
        if is_enough and max(counts.values()) <= MAX_SHARE * len(kept):
            some = evenly(kept, MAX_OCCURRENCES)
            lemmas.append(LemmaSenses(name, [o for o, _ in some], [key for _, key in some]))
    return lemmas if max_lemmas is None else evenly(lemmas, max_lemmas)


def score_induction(
    encoders: Sequence[Encoder],
    semcor: SemCor,
    half: Half = "test",
    max_lemmas: int | None = None,
    seed: int = 0,
    quiet: bool = False,
) -> InductionResult:
    """Induce the senses of each lemma at every layer, and compare them with SemCor's."""
    lemmas = read_lemmas(semcor.documents, half, max_lemmas)
    if not lemmas:
        raise InputError(
            f"SemCor has no lemma of the {half} half with two senses of {MIN_PER_SENSE} "
            f"occurrences each, {MIN_OCCURRENCES} in all"
        )
    rows = _baselines(lemmas, seed)
    for encoder in encoders:
        rows += _score_encoder(encoder, lemmas, seed, quiet)
    senses = [len(set(lemma.senses)) for lemma in lemmas]
    num_occurrences = sum(len(lemma.senses) for lemma in lemmas)
    return InductionResult(
        tuple(rows), half, len(lemmas), num_occurrences, sum(senses) / len(senses)
    )


def _baselines(lemmas: Sequence[LemmaSenses], seed: int) -> list[InductionScore]:
    random = np.random.default_rng(seed)
    ways: dict[str, Callable[[LemmaSenses], Labels]] = {
        "one cluster": lambda lemma: np.zeros(len(lemma.senses), dtype=np.int64),
        "random, as many as there are senses": lambda lemma: random.integers(
            len(set(lemma.senses)), size=len(lemma.senses)
        ),
        "random, six": lambda lemma: random.integers(6, size=len(lemma.senses)),
        "word forms": _word_forms,
    }
    return [
        _score("baseline", name, lemmas, [way(lemma) for lemma in lemmas], seed)
        for name, way in ways.items()
    ]


def _word_forms(lemma: LemmaSenses) -> Labels:
    """One cluster for each spelling: all that a layer without context can know."""
    forms = [occurrence.word for occurrence in lemma.occurrences]
    return np.unique(forms, return_inverse=True)[1].astype(np.int64)


def _score_encoder(
    encoder: Encoder, lemmas: Sequence[LemmaSenses], seed: int, quiet: bool
) -> list[InductionScore]:
    layers: list[int | str] = list(range(len(encoder.layer_names)))
    if len(layers) > 2:
        layers += [LSTM_LAYERS, ALL_LAYERS]
    found: dict[str, list[Labels]] = {}
    total = sum(len(lemma.senses) for lemma in lemmas)
    with meter(f"senses by {encoder.name}", "occurrences", total, quiet) as progress:
        for lemma in lemmas:
            vectors = _vectors(encoder, lemma)
            for layer in layers:
                name, chosen = layer_name(layer, encoder), one_layer(vectors, layer)
                found.setdefault(name, []).append(cluster(chosen, seed=seed).labels)
                if layer == LSTM_LAYERS:
                    given = cluster_into(chosen, len(set(lemma.senses)), seed)
                    found.setdefault(f"{name}, number of senses given", []).append(given)
                    by_silhouette = cluster(chosen, criterion="silhouette", seed=seed).labels
                    found.setdefault(f"{name}, by silhouette", []).append(by_silhouette)
            progress.advance(len(lemma.senses))
    return [_score(encoder.name, name, lemmas, labels, seed) for name, labels in found.items()]


def _vectors(encoder: Encoder, lemma: LemmaSenses) -> Floats:
    return np.concatenate([occurrence_vectors(encoder, some) for some in chunks(lemma.occurrences)])


def _score(
    encoder: str, way: str, lemmas: Sequence[LemmaSenses], labels: Sequence[Labels], seed: int
) -> InductionScore:
    rand, parts, sizes = [], [], []
    for lemma, found in zip(lemmas, labels, strict=True):
        rand.append(adjusted_rand_index(lemma.senses, found.tolist()))
        parts.append(v_measure(lemma.senses, found.tolist()))
        sizes.append(len(set(found.tolist())))
    draws = np.random.default_rng(seed).integers(len(rand), size=(2000, len(rand)))
    low, high = np.percentile(np.array(rand)[draws].mean(axis=1), [2.5, 97.5])
    return InductionScore(
        encoder,
        way,
        float(np.mean(rand)),
        (float(low), float(high)),
        float(np.mean([part.score for part in parts])),
        float(np.mean([part.homogeneity for part in parts])),
        float(np.mean([part.completeness for part in parts])),
        float(np.mean(sizes)),
    )


def induction_table(result: InductionResult) -> Table:
    """One row per method."""
    rows = tuple(
        (
            f"{row.encoder}, {row.way}",
            f"{row.adjusted_rand_index:.3f}",
            f"{row.interval[0]:.3f} to {row.interval[1]:.3f}",
            f"{row.v_measure:.3f}",
            f"{row.homogeneity:.3f}",
            f"{row.completeness:.3f}",
            f"{row.num_clusters:.1f}",
        )
        for row in result.rows
    )
    return Table(
        f"Induced senses beside SemCor's ({result.half} half of the lemmas)",
        ("", "ARI", "95 % interval", "V-measure", "homogeneity", "completeness", "clusters"),
        rows,
        f"Mean over {count(result.num_lemmas)} nouns and verbs, {count(result.num_occurrences)} "
        f"occurrences, {result.mean_senses:.1f} senses each; up to 6 clusters, chosen by "
        "BIC unless stated otherwise.",
    )


def induction_picture(result: InductionResult) -> Picture:
    """One dot per method and score."""
    return dots(
        "sense-induction",
        f"Induced senses beside SemCor's, mean over {result.num_lemmas} lemmas",
        [f"{row.encoder}, {row.way}" for row in result.rows],
        {
            "adjusted Rand index": [row.adjusted_rand_index for row in result.rows],
            "V-measure": [row.v_measure for row in result.rows],
        },
        "agreement",
    )
