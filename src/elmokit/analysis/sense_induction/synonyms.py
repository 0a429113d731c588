"""How often substitutes are synonyms: WordNet's synonyms of the sense that SemCor gives a word.

An instance counts if it is in its base form and in the vocabulary, and its sense has another lemma
in WordNet that is in the vocabulary too. The weight of the word itself as evidence was chosen on
the even documents of SemCor ("dev"); the odd ones ("test") are reported.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmokit.analysis.output.tables import Table, count
from elmokit.analysis.probes.sense_data import SemCor
from elmokit.analysis.sense_induction.semcor import Half
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.pretrain.substitutes import EVIDENCE, Place, SubstituteReader
from elmokit.progress import meter

WEIGHTS = (0.0, 5.0, 10.0, 20.0, EVIDENCE, 50.0, 1000.0)
TOP = 10


class SynonymScore(NamedTuple):
    """The rank of the best synonym among the substitutes."""

    evidence: float
    """The weight of the word itself; 0 for the context alone."""
    reciprocal_rank: float
    in_top: float
    """The share of instances with a synonym among the first ten."""


@dataclass(frozen=True)
class SynonymResult:
    """One row per weight of the evidence."""

    model: str
    half: str
    num_instances: int
    rows: tuple[SynonymScore, ...]


def read_synonyms(index_sense: Path) -> dict[str, set[str]]:
    """By sense key: all lemmas of its synset."""
    key_of: dict[str, tuple[str, str]] = {}
    lemmas: dict[tuple[str, str], set[str]] = defaultdict(set)
    for line in index_sense.read_text(encoding="utf-8").splitlines():
        key, offset = line.split()[:2]
        lemma, _, rest = key.partition("%")
        synset = ("3" if rest[0] == "5" else rest[0]), offset
        key_of[key] = synset
        lemmas[synset].add(lemma)
    return {key: lemmas[synset] for key, synset in key_of.items()}


def score_synonyms(
    elmo: Embedder,
    semcor: SemCor,
    synonyms: dict[str, set[str]],
    half: Half = "test",
    max_instances: int = 1000,
    weights: Sequence[float] = WEIGHTS,
    quiet: bool = False,
) -> SynonymResult:
    """The rank of the best synonym among the substitutes, for several weights of the evidence."""
    reader = SubstituteReader(elmo)
    items = _instances(reader, semcor, synonyms, half)
    if not items:
        raise InputError(f"SemCor's {half} half has no word with a synonym in the vocabulary")
    order = np.random.default_rng(0).permutation(len(items))[:max_instances]
    items = [items[number] for number in sorted(order)]
    ranks = []
    with meter("synonyms", "weights", len(weights), quiet) as progress:
        for weight in weights:
            reader.evidence = weight
            ranks.append(_ranks(reader, items))
            progress.advance()
    rows = tuple(
        SynonymScore(weight, float((1 / found).mean()), float((found <= TOP).mean()))
        for weight, found in zip(weights, ranks, strict=True)
    )
    return SynonymResult(elmo.name, half, len(items), rows)


def _instances(
    reader: SubstituteReader, semcor: SemCor, synonyms: dict[str, set[str]], half: Half
) -> list[tuple[Place, list[int]]]:
    """Each place, and the ids of the synonyms that could replace the word there."""
    found: list[tuple[Place, list[int]]] = []
    for document in semcor.documents[0 if half == "dev" else 1 :: 2]:
        for sentence in document:
            for lemma, _, keys, start, end in sentence.instances:
                word = sentence.tokens[start]
                if len(keys) != 1 or end != start + 1 or word.lower() != lemma:
                    continue
                others = synonyms.get(keys[0], set()) - {lemma}
                known = [reader.vocabulary.id_of(other) for other in others if reader.knows(other)]
                if known and reader.knows(word):
                    found.append(((sentence.tokens, start), known))
    return found


def _ranks(
    reader: SubstituteReader, items: Sequence[tuple[Place, list[int]]]
) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    ranks: list[int] = []
    for block in reader.log_probabilities([place for place, _ in items]):
        some = items[len(ranks) : len(ranks) + len(block)]
        others = reader.without_words(block, [tokens[place] for (tokens, place), _ in some])
        for row, (_, known) in zip(others, some, strict=True):
            ranks.append(int((row > row[known].max()).sum()) + 1)
    return np.array(ranks)


def synonyms_table(result: SynonymResult) -> Table:
    """One row per weight."""
    rows = tuple(
        (
            "context alone" if row.evidence == 0 else f"with the word, weight {row.evidence:g}",
            f"{row.reciprocal_rank:.3f}",
            f"{row.in_top:.1%}",
        )
        for row in result.rows
    )
    return Table(
        f"Substitutes that are synonyms ({result.model}, {result.half} half of SemCor)",
        ("", "reciprocal rank", f"one in the first {TOP}"),
        rows,
        f"{count(result.num_instances)} words in their base form whose sense has a synonym in the "
        "vocabulary.",
    )
