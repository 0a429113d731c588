"""The senses of a word, induced from its occurrences in a text: ``elmokit senses``.

Occurrences are clustered by their vectors (clusters.py). Each cluster is described by the
substitutes that distinguish it from the others and by the sentences nearest to its centre.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import unit
from elmokit.analysis.output.pictures import Picture, scatter, write_pictures
from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.sense_induction.agreement import (
    ClusterAgreement,
    adjusted_rand_index,
    v_measure,
)
from elmokit.analysis.sense_induction.clusters import (
    MAX_CLUSTERS,
    ClusterCandidate,
    ClusterCriterion,
    cluster,
    cluster_into,
)
from elmokit.analysis.words.index import open_index
from elmokit.analysis.words.occurrences import (
    LSTM_LAYERS,
    Occurrence,
    in_tokens,
    layer_name,
    parse_layer,
    vectors_at,
)
from elmokit.analysis.words.sample import WordSample, sample_occurrences, sample_usages
from elmokit.analysis.words.sense_map import principal_components
from elmokit.analysis.words.substitutes_table import unknown_note
from elmokit.analysis.words.texts import read_sentences
from elmokit.analysis.words.wug import (
    NO_CLUSTER,
    Usage,
    is_uses_file,
    is_uses_folder,
    plain_origins,
    read_clusters,
    read_uses,
    write_clusters,
    write_uses,
)
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.figures import can_draw
from elmokit.files import replacing_folder, require_replaceable, write_json
from elmokit.pretrain.corpus.documents import find_sources
from elmokit.pretrain.substitutes import SubstituteReader
from elmokit.recipe import to_plain
from elmokit.text.tokenize import words
from elmokit.weights.load import read_softmax

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
    candidates: tuple[ClusterCandidate, ...]
    """The numbers of senses that were tried."""
    points: npt.NDArray[np.float64]  # (N, 2): two principal components
    usages: tuple[Usage, ...] | None = None
    """The occurrences with their origin, if they come from a file of usages."""
    is_unknown: bool = False
    """Whether the word is outside the vocabulary, so that the context alone gives substitutes."""
    agreement: ClusterAgreement | None = None
    """How far the senses agree with clusters of annotators, if they were compared."""

    def plain(self) -> dict[str, Any]:
        """What JSON can hold; ``usages`` leaves out the sentences, which are in ``occurrences``."""
        origins = None if self.usages is None else plain_origins(self.usages)
        return {**to_plain(replace(self, usages=None)), "usages": origins}


def find_occurrences(
    word: str, sources: Sequence[str], limit: int = MAX_OCCURRENCES, pretokenized: bool = False
) -> WordSample:
    """Find the occurrences of a word, ignoring case; of many, a random sample.

    Args:
        word: a word form.
        sources: files and folders of text, and indexes of ``elmokit index``; or one DURel file of
            usages, or one folder of them.
        limit: the largest number of occurrences to return.
        pretokenized: the text has one sentence per line, tokens separated by spaces.
    """
    for source in sources:
        if _has_usages(Path(source)):
            if len(sources) > 1:
                raise InputError(f"{source}: usages cannot be combined with text; give them alone")
            usages = [each for each in read_uses(Path(source)) if _is_of(each, word)]
            return sample_usages(usages, word, limit)
    return sample_occurrences(_sentences(sources, pretokenized), [word], limit)[word.casefold()]


def _has_usages(path: Path) -> bool:
    return is_uses_file(path) or (path.is_dir() and not _is_index(path) and is_uses_folder(path))


def _is_index(path: Path) -> bool:
    return (path / "index.json").is_file()


def _sentences(sources: Sequence[str], pretokenized: bool) -> Iterator[list[str]]:
    texts = [source for source in sources if not _is_index(Path(source))]
    if texts:
        find_sources(texts)  # reports a missing file before any is read
    for source in sources:
        if source not in texts:
            yield from open_index(Path(source)).sentences()
        else:
            yield from read_sentences([source], pretokenized)


def _is_of(usage: Usage, word: str) -> bool:
    return word.casefold() in (usage.lemma.casefold(), usage.occurrence.word.casefold())


def induce_senses(
    elmo: Embedder,
    word: str,
    sample: WordSample,
    layer: str = LSTM_LAYERS,
    num_senses: int | None = None,
    max_senses: int = MAX_CLUSTERS,
    criterion: ClusterCriterion = "bic",
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

    >>> import elmokit
    >>> lines = ["The bank raised its rates .", "We sat on the river bank ."]
    >>> uses = [elmokit.Occurrence(line.split(), line.split().index("bank")) for line in lines * 8]
    >>> sample = elmokit.WordSample(len(uses), uses)
    >>> found = elmokit.induce_senses(elmokit.load("en-small"), "bank", sample)
    >>> [sense.num_occurrences for sense in found.senses]
    [8, 8]
    """
    encoder = BiLmEncoder(elmo)
    chosen = parse_layer(layer, encoder)
    occurrences = sample.occurrences
    if not occurrences:
        tokens = words(word)
        if len(tokens) > 1:
            raise InputError(f"{in_tokens(word, tokens)}; give one of them")
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
    read_softmax(elmo.pretrained)
    output_words = elmo.pretrained.output_words
    is_known = output_words is None or any(
        each.word in output_words.vocabulary for each in occurrences
    )
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
        None if sample.usages is None else tuple(sample.usages),
        not is_known,
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
    for rows, named in zip(members, substitutes, strict=True):
        similarity = units[rows] @ units[rows].mean(axis=0)
        nearest = [
            occurrences[row] for row in rows[np.argsort(-similarity, kind="stable")].tolist()
        ]
        distinct = {tuple(each.tokens): each for each in reversed(nearest)}
        examples = tuple(reversed(distinct.values()))[:NUM_EXAMPLES]
        senses.append(InducedSense(len(rows), tuple(named), examples))
    return tuple(senses)


def compare_with_annotators(result: InducedSenses, clusters: Path) -> InducedSenses:
    """The result with its agreement with the clusters of a DURel file, by the usages' identifiers.

    Usages that the file lacks, or that annotators could not place (cluster -1), are left out.
    """
    if result.usages is None:
        raise InputError(
            f"{clusters}: clusters belong to the identifiers of usages; give a uses.csv, not text"
        )
    wanted = {name: label for name, label in read_clusters(clusters).items() if label != NO_CLUSTER}
    labels = [
        (wanted[usage.identifier], label)
        for usage, label in zip(result.usages, result.labels.tolist(), strict=True)
        if usage.identifier in wanted
    ]
    if not labels:
        raise InputError(
            f"{clusters}: none of the usages is in a cluster here, such as "
            f"{result.usages[0].identifier!r}; give the clusters of these usages"
        )
    gold, found = zip(*labels, strict=True)
    agreement = ClusterAgreement(
        len(gold), len(set(gold)), adjusted_rand_index(gold, found), v_measure(gold, found)
    )
    return replace(result, agreement=agreement)


def senses_tables(result: InducedSenses) -> list[Table]:
    """The senses, the scores of each number of senses, and the agreement with annotators."""
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
        unknown_note(result.word) if result.is_unknown else "",
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
    tables = [found, Table("How many senses", header, tried, note)]
    return tables if result.agreement is None else [*tables, _agreement_table(result.agreement)]


def _agreement_table(found: ClusterAgreement) -> Table:
    header = ("usages", "their clusters", "ARI", "V-measure", "homogeneity", "completeness")
    scores = (found.ari, found.v.score, found.v.homogeneity, found.v.completeness)
    counts = (count(found.num_usages), count(found.num_clusters))
    return Table("Beside the annotators", header, ((*counts, *(f"{x:z.3f}" for x in scores)),))


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
    """Write a folder: senses.json, senses.tsv, a picture, and DURel's uses.csv and clusters.csv.

    Senses are counted from 1, as in the tables; the clusters of clusters.csv from 0, as in the Word
    Usage Graphs. senses.tsv has both.
    """
    require_replaceable(out, MARK, "senses")
    usages = result.usages or [
        Usage(result.word, "1", f"{result.word}-{number}", occurrence)
        for number, occurrence in enumerate(result.occurrences)
    ]
    labels = result.labels.tolist()
    with replacing_folder(out) as aside:
        write_json(aside / MARK, result.plain())
        lines = ["sense\tsubstitutes\tword\tsentence\tidentifier\tcluster"]
        for usage, label in zip(usages, labels, strict=True):
            named, occurrence = ", ".join(result.senses[label].substitutes), usage.occurrence
            cells = (label + 1, named, occurrence.word, occurrence.text(), usage.identifier, label)
            lines.append("\t".join(map(str, cells)))
        (aside / "senses.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        write_uses(aside / "uses.csv", usages)
        write_clusters(aside / "clusters.csv", [usage.identifier for usage in usages], labels)
        if can_draw():
            write_pictures([senses_picture(result)._replace(name="senses")], aside)
