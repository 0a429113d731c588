"""Table 5, word senses: which layer best disambiguates a word in its context?

At each layer, the vectors of each sense in SemCor are averaged. A test word gets the sense of its
lemma whose mean vector is nearest by cosine, or WordNet's first sense if SemCor lacks the lemma.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis import paper
from elmokit.analysis.encoders.encoder import Encoder, Floats, document_layers, evenly, row_name
from elmokit.analysis.output.cached_rows import cached_rows, rows_folder
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.analysis.probes.mcnemar import Booleans, McNemar, mcnemar
from elmokit.analysis.probes.sense_data import (
    EVALUATION_SETS,
    Document,
    SemCor,
    SenseInstance,
    SenseSentence,
    read_evaluation_set,
    read_semcor,
)
from elmokit.analysis.probes.wordnet import WordNet, lemma_of, part_of_speech, read_wordnet
from elmokit.errors import InputError
from elmokit.progress import meter

METHOD = 2
"""The version of the method: cached rows of another version are not read."""
DEVELOPMENT_SET = "semeval2007"
FIRST_SENSE = "WordNet first sense"
EQUAL_COSINES = 1e-6
Doubles = npt.NDArray[np.float64]


class SenseData(NamedTuple):
    """A sense inventory, text to learn from, and the evaluation sets by name."""

    wordnet: WordNet
    semcor: SemCor
    evaluation: dict[str, list[Document]]


class SenseScore(NamedTuple):
    """One row: F1 in percent by evaluation set, by "ALL", and by "four" (without semeval2007)."""

    encoder: str
    layer: str
    f1: dict[str, float]
    against_lower: dict[str, McNemar] = {}  # noqa: RUF012  never changed
    """McNemar's test of this layer against the one below, by the same sets."""
    against_first: dict[str, McNemar] = {}  # noqa: RUF012  never changed
    """McNemar's test of this layer against WordNet's first sense ("lower")."""


@dataclass(frozen=True)
class SensesResult:
    """Table 5."""

    rows: tuple[SenseScore, ...]
    """WordNet's first sense, then each encoder's layers."""
    num_instances: dict[str, int]
    num_unseen: dict[str, int]
    """Instances whose lemma SemCor lacks; every encoder answers these with the first sense."""
    num_semcor_sentences: int
    num_repaired: int = 0
    """Sense keys of SemCor that this WordNet lacks but that could be mapped to it."""
    num_dropped: int = 0
    """Sense keys that could not be mapped."""


def read_sense_data(folder: Path, sets: Sequence[str] = EVALUATION_SETS) -> SenseData:
    """Read semcor30/, wordnet30/ and evaluation/ below ``folder``."""
    for part in ("semcor30", "wordnet30", "evaluation"):
        if not (folder / part).is_dir():
            raise InputError(f"{folder}: expected the folders semcor30, wordnet30 and evaluation")
    for name in sets:
        if name not in EVALUATION_SETS:
            known = ", ".join(EVALUATION_SETS)
            raise InputError(f"{name!r} is not an evaluation set; the sets are {known}")
    wordnet = read_wordnet(folder / "wordnet30")
    evaluation = {name: read_evaluation_set(folder / "evaluation", name) for name in sets}
    return SenseData(wordnet, read_semcor(folder / "semcor30", wordnet), evaluation)


def word_senses(
    encoders: Sequence[Encoder],
    data: SenseData,
    max_sentences: int | None = None,
    quiet: bool = False,
    cache: Path | None = None,
) -> SensesResult:
    """F1 of every layer of every encoder.

    Only senses of lemmas that occur in the evaluation sets are collected; the others cannot change
    an answer. ``max_sentences``: use about this many sentences of SemCor, for a quick result.
    ``cache``: see output/cached_rows.py.
    """
    answers = {name: _instances(documents) for name, documents in data.evaluation.items()}
    wanted = {(each.lemma, each.pos) for instances in answers.values() for each in instances}
    semcor = _some_documents(data.semcor.documents, max_sentences)
    senses = SenseNumbers([sentence for document in semcor for sentence in document], wanted)
    inventory = [data.wordnet.senses.get(lemma) for lemma in sorted(wanted)]
    evaluation = {name: _as_values(documents) for name, documents in data.evaluation.items()}
    folder = rows_folder(cache, "senses", METHOD, _as_values(semcor), evaluation, inventory)
    first = _with_unions(
        {name: _first_sense_is_right(found, data.wordnet) for name, found in answers.items()}
    )
    rows = [SenseScore(FIRST_SENSE, "", _scores(first))]
    for encoder in encoders:
        compute = partial(judge_encoder, encoder, semcor, senses, data, first, quiet)
        rows += cached_rows(folder, encoder, SenseScore, compute)
    unseen = {
        name: sum(not senses.candidates(instance.lemma, instance.pos) for instance in instances)
        for name, instances in answers.items()
    }
    sizes = {name: len(instances) for name, instances in answers.items()}
    return SensesResult(
        tuple(rows),
        _totals(sizes),
        _totals(unseen),
        sum(map(len, semcor)),
        data.semcor.num_repaired,
        data.semcor.num_dropped,
    )


def _instances(documents: Sequence[Document]) -> list[SenseInstance]:
    return [each for document in documents for sentence in document for each in sentence.instances]


def _as_values(documents: Sequence[Document]) -> list[list[tuple[list[str], list[SenseInstance]]]]:
    """Everything that the rows depend on, for the name of their cache."""
    return [[(sentence.tokens, sentence.instances) for sentence in each] for each in documents]


def _first_sense_is_right(instances: Sequence[SenseInstance], wordnet: WordNet) -> Booleans:
    return np.array(
        [_is_right(each, wordnet.first_sense(each.lemma, each.pos)) for each in instances]
    )


def judge_encoder(
    encoder: Encoder,
    semcor: Sequence[Document],
    senses: "SenseNumbers",
    data: SenseData,
    first: dict[str, Booleans],
    quiet: bool = False,
) -> list[SenseScore]:
    """One row per layer; ``first``: by set, for which instances WordNet's first sense is right."""
    means = sense_means(encoder, semcor, senses, quiet)
    right = {
        name: _judge(encoder, documents, means, senses, data.wordnet)
        for name, documents in data.evaluation.items()
    }
    rows: list[SenseScore] = []
    lower: dict[str, Booleans] = {}
    for layer, layer_name in enumerate(encoder.layer_names):
        by_set = _with_unions({name: found[:, layer] for name, found in right.items()})
        rows.append(
            SenseScore(
                encoder.name,
                layer_name,
                _scores(by_set),
                mcnemar(lower, by_set),
                mcnemar(first, by_set),
            )
        )
        lower = by_set
    return rows


class SenseNumbers:
    """Numbers the senses that SemCor has for the wanted lemmas; candidates in WordNet's order."""

    def __init__(self, sentences: Sequence[SenseSentence], wanted: set[tuple[str, str]]) -> None:
        found = {
            key
            for sentence in sentences
            for instance in sentence.instances
            for key in instance.keys
            if (lemma_of(key), part_of_speech(key)) in wanted
        }
        self.keys = sorted(found)
        self.number_of = {key: number for number, key in enumerate(self.keys)}
        self._by_lemma: dict[tuple[str, str], list[int]] = {}
        for number, key in enumerate(self.keys):
            self._by_lemma.setdefault((lemma_of(key), part_of_speech(key)), []).append(number)

    def of(self, instance: SenseInstance) -> list[int]:
        """The numbers of the senses of an instance."""
        return [self.number_of[key] for key in instance.keys if key in self.number_of]

    def candidates(self, lemma: str, pos: str) -> list[int]:
        """The numbers of all senses of a lemma."""
        return self._by_lemma.get((lemma, pos), [])


def sense_means(
    encoder: Encoder, documents: Sequence[Document], senses: SenseNumbers, quiet: bool = False
) -> Doubles:
    """(senses, num_layers, D): the mean vector of each sense, from one pass over the text."""
    if not senses.keys:
        raise InputError(
            "SemCor has none of the lemmas of these evaluation sets; use more of its sentences"
        )
    sums: Doubles | None = None
    counts = np.zeros(len(senses.keys), dtype=np.int64)
    num_tokens = sum(len(sentence.tokens) for document in documents for sentence in document)
    with meter(f"SemCor through {encoder.name}", "tokens", num_tokens, quiet) as progress:
        for sentence, vectors in _encoded(encoder, documents):
            if sums is None:
                sums = np.zeros((len(senses.keys), vectors.shape[0], vectors.shape[2]))
            for instance in sentence.instances:
                for number in senses.of(instance):
                    sums[number] += instance_vector(vectors, instance)
                    counts[number] += 1
            progress.advance(len(sentence.tokens))
    assert sums is not None
    sums /= counts[:, None, None]
    return sums


def _encoded(
    encoder: Encoder, documents: Sequence[Document]
) -> Iterator[tuple[SenseSentence, Floats]]:
    """Every sentence with its layers (num_layers, T, D)."""
    tokens = [[sentence.tokens for sentence in document] for document in documents]
    for document, layers in zip(documents, document_layers(encoder, tokens), strict=True):
        yield from zip(document, layers, strict=True)


def instance_vector(layers: Floats, instance: SenseInstance) -> Floats:
    """(num_layers, D): the token's vectors, or their mean if a word has several tokens."""
    if instance.end == instance.start + 1:
        return np.asarray(layers[:, instance.start])
    return np.asarray(layers[:, instance.start : instance.end].mean(axis=1, dtype=np.float32))


def _judge(
    encoder: Encoder,
    documents: Sequence[Document],
    means: Doubles,
    senses: SenseNumbers,
    wordnet: WordNet,
) -> Booleans:
    """(instances, num_layers): is the answer right?"""
    unit = _unit(means)
    right: list[list[bool]] = []
    for sentence, vectors in _encoded(encoder, documents):
        for instance in sentence.instances:
            candidates = _in_order(senses, instance, wordnet)
            if not candidates:
                first = wordnet.first_sense(instance.lemma, instance.pos)
                right.append([_is_right(instance, first)] * means.shape[1])
                continue
            vector = _unit(instance_vector(vectors, instance).astype(np.float64))  # (num_layers, D)
            cosines = np.einsum("cld,ld->cl", unit[candidates], vector)
            # Ties go to the first sense in WordNet's order; rounding must not break them.
            best = (cosines >= cosines.max(axis=0) - EQUAL_COSINES).argmax(axis=0)
            right.append([_is_right(instance, senses.keys[candidates[row]]) for row in best])
    return np.array(right, dtype=bool).reshape(len(right), means.shape[1])


def _unit(vectors: Doubles) -> Doubles:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def _in_order(senses: SenseNumbers, instance: SenseInstance, wordnet: WordNet) -> list[int]:
    order = {
        key: place
        for place, key in enumerate(wordnet.senses.get((instance.lemma, instance.pos), []))
    }
    candidates = senses.candidates(instance.lemma, instance.pos)
    return sorted(candidates, key=lambda number: order.get(senses.keys[number], len(order)))


def _is_right(instance: SenseInstance, answer: str | None) -> bool:
    return answer in instance.keys


def _with_unions(right: dict[str, Booleans]) -> dict[str, Booleans]:
    """The sets; if all five are present, also the unions "ALL" and "four"."""
    if not set(EVALUATION_SETS) <= set(right):
        return right
    four = [found for name, found in right.items() if name != DEVELOPMENT_SET]
    return {**right, "ALL": np.concatenate(list(right.values())), "four": np.concatenate(four)}


def _scores(right: dict[str, Booleans]) -> dict[str, float]:
    """F1; since every instance is answered, it equals precision, recall and accuracy."""
    return {name: 100 * float(found.mean()) for name, found in right.items()}


def _totals(counts: dict[str, int]) -> dict[str, int]:
    if not set(EVALUATION_SETS) <= set(counts):
        return counts
    total = sum(counts.values())
    return {**counts, "ALL": total, "four": total - counts[DEVELOPMENT_SET]}


def _some_documents(documents: list[Document], num_sentences: int | None) -> list[Document]:
    """Evenly spaced documents with at most ``num_sentences`` sentences; the last is cut."""
    total = sum(map(len, documents))
    if num_sentences is None or num_sentences >= total:
        return documents
    if num_sentences < 1:
        raise InputError(f"the number of SemCor sentences must be at least 1, got {num_sentences}")
    num_documents = -(-len(documents) * num_sentences // total)
    some: list[Document] = []
    for document in evenly(documents, num_documents):
        left = num_sentences - sum(map(len, some))
        some.append(document[:left])
    return some


def senses_table(result: SensesResult) -> Table:
    """Our rows, then the paper's, which are for the four sets without semeval2007."""
    columns = list(result.rows[0].f1)
    titles = {"four": "four sets"}
    rows = [
        (row_name(row.encoder, row.layer), *(percent(row.f1[column]) for column in columns))
        for row in result.rows
    ]
    if "four" in columns:
        for name, f1 in paper.SENSES:
            cells = (percent(f1) if column == "four" else "" for column in columns)
            rows.append((f"paper: {name}", *cells))
    sizes = tuple(f"{count(result.num_instances[column])}" for column in columns)
    unseen = ", ".join(f"{titles.get(c, c)} {result.num_unseen[c]}" for c in columns)
    return Table(
        "Word senses: F1, nearest SemCor sense (Table 5)",
        ("", *(titles.get(column, column) for column in columns)),
        (*rows, ("instances", *sizes)),
        f"Sense vectors from {count(result.num_semcor_sentences)} SemCor sentences. First sense "
        f"where SemCor lacks the lemma: {unseen}. The four sets are all but semeval2007. Of "
        f"SemCor's keys that WordNet lacks, {count(result.num_repaired)} were repaired and "
        f"{count(result.num_dropped)} left out.",
    )


def senses_picture(result: SensesResult) -> Picture:
    """One dot per layer, with WordNet's first sense as a line."""
    column = "four" if "four" in result.rows[0].f1 else next(iter(result.rows[0].f1))
    title = "the four sets" if column == "four" else column
    return dots(
        "senses",
        f"Word senses: F1 on {title}, nearest SemCor sense",
        [row_name(row.encoder, row.layer) for row in result.rows[1:]],
        {"F1": [row.f1[column] for row in result.rows[1:]]},
        "F1",
        line=(FIRST_SENSE, result.rows[0].f1[column]),
    )
