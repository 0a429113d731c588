"""The senses of a word, induced from its occurrences in a text: ``elmokit senses``.

Occurrences are clustered by their vectors (clusters.py). Each cluster is described by the
substitutes that distinguish it from the others and by the sentences nearest to its centre.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import unit
from elmokit.analysis.output.pictures import Picture, scatter, write_pictures
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.sense_induction.clusters import (
    MAX_CLUSTERS,
    Candidate,
    Criterion,
    cluster,
    cluster_into,
)
from elmokit.analysis.words.index import open_index
from elmokit.analysis.words.occurrences import (
    LSTM_LAYERS,
    Occurrence,
    layer_name,
    parse_layer,
    vectors_at,
)
from elmokit.analysis.words.sample import WordSample, sample_occurrences
from elmokit.analysis.words.sense_map import principal_components
from elmokit.analysis.words.texts import read_sentences
from elmokit.analysis.words.wug import Usage, is_uses_file, read_uses, write_clusters, write_uses
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.figures import can_draw
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.pretrain.substitutes import SubstituteReader
from elmokit.recipe import to_plain

MIN_OCCURRENCES = 10
MAX_OCCURRENCES = 500
NUM_EXAMPLES = 3
NUM_SUBSTITUTES = 8
MARK = "senses.json"
"""The file that identifies a folder written by this module."""


class InducedSense(NamedTuple):
    """One cluster of occurrences."""

    num_occurrences: int
    substitutes: tuple[str, ...]
    """Words that could replace it in this sense rather than in the others; empty if the model has
    no softmax."""
    examples: tuple[Occurrence, ...]
    """The occurrences nearest to its centre."""


@dataclass(frozen=True)
class InducedSenses:
    """The induced senses of a word, the most frequent first."""

    word: str
    encoder: str
    layer: str
    num_found: int
    """Number of occurrences in the text; ``occurrences`` holds those that were clustered."""
    occurrences: tuple[Occurrence, ...]
    labels: npt.NDArray[np.int64]  # (N,): the sense of each, from 0
    senses: tuple[InducedSense, ...]
    criterion: str
    candidates: tuple[Candidate, ...]
    """The numbers of senses that were tried."""
    points: npt.NDArray[np.float64]  # (N, 2): two principal components


def find_occurrences(
    word: str, sources: Sequence[str], limit: int = MAX_OCCURRENCES, pretokenized: bool = False
) -> WordSample:
    """Occurrences of a word in texts, in an index of ``elmokit index``, or in a DURel file."""
    if len(sources) == 1 and (Path(sources[0]) / "index.json").is_file():
        sample = sample_occurrences(open_index(Path(sources[0])).sentences(), [word], limit)
        return sample[word.casefold()]
    if len(sources) == 1 and is_uses_file(Path(sources[0])):
        usages = [each for each in read_uses(Path(sources[0])) if _is_of(each, word)]
        return WordSample(len(usages), [usage.occurrence for usage in usages][:limit])
    return sample_occurrences(read_sentences(sources, pretokenized), [word], limit)[word.casefold()]


def _is_of(usage: Usage, word: str) -> bool:
    return word.casefold() in (usage.lemma.casefold(), usage.occurrence.word.casefold())


def induce_senses(
    elmo: Embedder,
    word: str,
    sample: WordSample,
    layer: str = LSTM_LAYERS,
    num_senses: int | None = None,
    max_senses: int = MAX_CLUSTERS,
    criterion: Criterion = "bic",
    seed: int = 0,
) -> InducedSenses:
    """Cluster the occurrences of a word and describe each cluster.

    Args:
        elmo: what ``elmokit.load`` returns; substitutes need a model with a softmax.
        word: the word.
        sample: the occurrences, as ``find_occurrences`` returns them.
        layer: a layer's number, ``lstm`` (the mean of the LSTM layers) or ``all``.
        num_senses: the number of senses; None lets the criterion choose, up to ``max_senses``.
        max_senses: the largest number of senses to try.
        criterion: ``bic`` or ``silhouette``.
        seed: seed of the clustering.
    """
    encoder = BiLmEncoder(elmo)
    chosen = parse_layer(layer, encoder)
    occurrences = sample.occurrences
    if not occurrences:
        raise InputError(
            f"{word!r} does not occur in this text; give a word form that does (case is ignored)"
        )
    if len(occurrences) < MIN_OCCURRENCES:
        raise InputError(
            f"{word!r} occurs {sample.num_found} times; inducing its senses needs at least "
            f"{MIN_OCCURRENCES} occurrences, so give more text"
        )
    if num_senses is not None and not 1 <= num_senses <= len(occurrences):
        raise InputError(
            f"{num_senses} senses need at least as many occurrences, got {len(occurrences)}; ask "
            f"for fewer senses or give more text"
        )
    vectors = vectors_at(encoder, occurrences, chosen)
    clustering = cluster(vectors, max_senses, criterion, seed)
    labels = clustering.labels
    if num_senses is not None:
        labels = cluster_into(vectors, num_senses, seed)
    points, _ = principal_components(unit(vectors).astype(np.float64))
    return InducedSenses(
        word,
        encoder.name,
        layer_name(chosen, encoder),
        sample.num_found,
        tuple(occurrences),
        labels,
        _describe(elmo, occurrences, vectors, labels),
        criterion if num_senses is None else "given",
        clustering.candidates,
        points,
    )


def _describe(
    elmo: Embedder,
    occurrences: Sequence[Occurrence],
    vectors: npt.NDArray[np.float32],
    labels: npt.NDArray[np.int64],
) -> tuple[InducedSense, ...]:
    members = [np.flatnonzero(labels == sense) for sense in range(int(labels.max()) + 1)]
    substitutes: list[list[str]] = [[] for _ in members]
    if elmo.pretrained.output_words is not None:
        groups = [[occurrences[row] for row in rows.tolist()] for rows in members]
        substitutes = SubstituteReader(elmo).typical(groups, NUM_SUBSTITUTES)
    units = unit(vectors)
    senses = []
    for rows, words in zip(members, substitutes, strict=True):
        similarity = units[rows] @ units[rows].mean(axis=0)
        nearest = [
            occurrences[row] for row in rows[np.argsort(-similarity, kind="stable")].tolist()
        ]
        distinct = {tuple(each.tokens): each for each in reversed(nearest)}
        examples = tuple(reversed(distinct.values()))[:NUM_EXAMPLES]
        senses.append(InducedSense(len(rows), tuple(words), examples))
    return tuple(senses)


def senses_tables(result: InducedSenses) -> list[Table]:
    """The senses, and the scores of each number of senses."""
    rows = tuple(
        (
            str(number),
            f"{sense.num_occurrences} ({sense.num_occurrences / len(result.labels):.0%})",
            ", ".join(sense.substitutes),
            " / ".join(example.text() for example in sense.examples),
        )
        for number, sense in enumerate(result.senses, start=1)
    )
    drawn = count(len(result.occurrences))
    if result.num_found > len(result.occurrences):
        drawn = f"{drawn} of {count(result.num_found)}"
    found = Table(
        f"Senses of “{result.word}”, induced from {drawn} occurrences "
        f"({result.encoder}, {result.layer})",
        ("sense", "occurrences", "substitutes", "examples"),
        rows,
    )
    tried = tuple(
        (
            str(each.num_clusters),
            f"{each.bic:.0f}",
            "" if each.silhouette is None else f"{each.silhouette:.3f}",
        )
        for each in result.candidates
    )
    note = {
        "bic": "The lowest BIC decides.",
        "silhouette": "The highest silhouette decides.",
        "given": "The number of senses was given.",
    }[result.criterion]
    header = ("clusters", "BIC", "silhouette")
    return [found, Table("How many senses", header, tried, note)]


def senses_picture(result: InducedSenses) -> Picture:
    """One point per occurrence, coloured by its induced sense."""
    names = [
        f"{number}: {', '.join(sense.substitutes[:3])}" if sense.substitutes else str(number)
        for number, sense in enumerate(result.senses, start=1)
    ]
    caption = (
        f"Induced senses of “{result.word}” at the {result.layer} of {result.encoder}: two "
        "principal components"
    )
    labels = [names[label] for label in result.labels]
    return scatter(f"induced-senses-of-{result.word}", caption, result.points, labels)


def write_senses(result: InducedSenses, out: Path) -> None:
    """Write a folder: senses.json, senses.tsv, a picture, and DURel's uses.csv and clusters.csv."""
    require_replaceable(out, MARK, "senses")
    with replacing_folder(out) as aside:
        write_json(aside / MARK, to_plain(result))
        lines = ["sense\tsubstitutes\tword\tsentence"]
        for occurrence, label in zip(result.occurrences, result.labels.tolist(), strict=True):
            words = ", ".join(result.senses[label].substitutes)
            lines.append(f"{label + 1}\t{words}\t{occurrence.word}\t{occurrence.text()}")
        (aside / "senses.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        identifiers = [f"{result.word}-{number}" for number in range(len(result.occurrences))]
        usages = (
            Usage(result.word, "1", identifier, occurrence)
            for identifier, occurrence in zip(identifiers, result.occurrences, strict=True)
        )
        write_uses(aside / "uses.csv", usages)
        write_clusters(aside / "clusters.csv", identifiers, result.labels.tolist())
        if can_draw():
            write_pictures([senses_picture(result)._replace(name="senses")], aside)
