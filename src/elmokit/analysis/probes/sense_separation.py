"""How well a layer separates the two main senses of a word: a measure for choosing models.

For every noun and verb lemma of SemCor whose two most frequent senses have at least
``per_sense`` occurrences each, that many occurrences of each sense are drawn (with a fixed seed).
An occurrence a, another one b of the same sense and one c of the other sense make a triple; neither
b nor c may be in the document of a, because vectors of one document are alike for reasons other
than sense. The triple is right if cos(a, b) > cos(a, c), and half right if they are equal. A
lemma's score is the share of its triples that are right, a layer's score the mean over lemmas: 50 %
is chance. WordNet's senses are fine-grained; two senses from different lexicographer files (such as
act and communication) are called distant, and are closer to what people call homonyms.

The neighbouring tags (of the tokens before and after) separate syntax from sense: they favour the
right answer if b shares more of them with a than c does, and the wrong one if c does.

SemCor is development data here; the evaluation sets of Table 5 are not used.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.analysis.encoders.encoder import (
    DocumentEncoder,
    Encoder,
    Floats,
    document_layers,
    row_name,
    unit,
)
from elmokit.analysis.encoders.sentence_mean import mean_name, plus_mean, plus_mean_name
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.analysis.probes.mcnemar import Booleans
from elmokit.analysis.probes.sense_data import Document, SemCor, read_semcor
from elmokit.analysis.probes.senses import EQUAL_COSINES
from elmokit.analysis.probes.wordnet import lexicographer_file, read_wordnet
from elmokit.errors import InputError
from elmokit.progress import meter

PER_SENSE = 8
NUM_RESAMPLES = 2000
Doubles = npt.NDArray[np.float64]


class SenseOccurrence(NamedTuple):
    """One token of a lemma, with its sense and where it occurs."""

    sense: int
    """0 for the most frequent sense, 1 for the next."""
    document: int
    sentence: int
    place: int
    neighbours: tuple[str, str]
    """The tags of the tokens before and after."""


class LemmaSample(NamedTuple):
    """The occurrences drawn for one lemma."""

    is_noun: bool
    """False for a verb."""
    is_distant: bool
    """Whether its two senses are from different lexicographer files of WordNet."""
    occurrences: list[SenseOccurrence]


Sample = dict[str, LemmaSample]
"""By lemma, for example "play (noun)"."""


class SeparationScore(NamedTuple):
    """One row; all scores in percent."""

    encoder: str
    layer: str
    score: float
    """The mean over lemmas."""
    interval: tuple[float, float]
    """95 % interval, by resampling the lemmas."""
    nouns: float | None
    verbs: float | None
    distant: float | None
    """Score on lemmas whose two senses are distant."""
    tags_help: float | None
    """Score on triples in which the neighbouring tags favour the right answer."""
    tags_mislead: float | None
    """Score on triples in which they favour the wrong one."""
    by_lemma: dict[str, float]


@dataclass(frozen=True)
class SeparationResult:
    """Rows for every layer of every encoder: alone, plus its sentence mean, and the mean alone."""

    rows: tuple[SeparationScore, ...]
    num_nouns: int
    num_verbs: int
    num_distant: int
    """Number of lemmas whose two senses are distant."""
    num_occurrences: int
    num_triples: int
    num_tags_help: int
    num_tags_mislead: int
    per_sense: int


def read_separation_data(folder: Path) -> SemCor:
    """Read semcor30/ and wordnet30/ below ``folder``."""
    for part in ("semcor30", "wordnet30"):
        if not (folder / part).is_dir():
            raise InputError(f"{folder}: expected the folders semcor30 and wordnet30")
    return read_semcor(folder / "semcor30", read_wordnet(folder / "wordnet30"))


def sense_separation(
    encoders: Sequence[Encoder],
    semcor: SemCor,
    per_sense: int = PER_SENSE,
    seed: int = 0,
    quiet: bool = False,
) -> SeparationResult:
    """Score every layer of every encoder; the module docstring describes the measure.

    ``per_sense``: occurrences drawn per sense; lemmas whose senses have fewer are left out.
    """
    if per_sense < 2:
        raise InputError(f"occurrences per sense must be at least 2, got {per_sense}")
    sample = draw_sample(semcor.documents, per_sense, seed)
    triples = {lemma: _Triples(drawn.occurrences) for lemma, drawn in sample.items()}
    triples = {lemma: found for lemma, found in triples.items() if found.is_valid.any()}
    if not triples:
        raise InputError(
            f"SemCor has no noun or verb with two senses of {per_sense} occurrences in several "
            "documents; ask for fewer occurrences per sense"
        )
    sample = {lemma: sample[lemma] for lemma in triples}
    rows = [
        row
        for encoder in encoders
        for row in _score_encoder(encoder, semcor.documents, sample, triples, seed, quiet)
    ]
    return SeparationResult(
        tuple(rows),
        sum(drawn.is_noun for drawn in sample.values()),
        sum(not drawn.is_noun for drawn in sample.values()),
        sum(drawn.is_distant for drawn in sample.values()),
        sum(len(drawn.occurrences) for drawn in sample.values()),
        sum(int(found.is_valid.sum()) for found in triples.values()),
        sum(int(found.tags_help.sum()) for found in triples.values()),
        sum(int(found.tags_mislead.sum()) for found in triples.values()),
        per_sense,
    )


def draw_sample(documents: Sequence[Document], per_sense: int, seed: int = 0) -> Sample:
    """``per_sense`` occurrences of each of a lemma's two main senses, for all lemmas with enough.

    Only single tokens with exactly one sense count. What is drawn for a lemma depends on the seed
    and on that lemma alone.
    """
    found: dict[str, dict[str, list[SenseOccurrence]]] = {}
    for document, sentences in enumerate(documents):
        for number, sentence in enumerate(sentences):
            tags = ("<S>", *sentence.tags, "</S>")
            for lemma, pos, keys, start, end in sentence.instances:
                if pos in ("NOUN", "VERB") and len(keys) == 1 and end == start + 1:
                    neighbours = (tags[start], tags[start + 2]) if sentence.tags else ("", "")
                    by_sense = found.setdefault(f"{lemma} ({pos.lower()})", {})
                    occurrence = SenseOccurrence(0, document, number, start, neighbours)
                    by_sense.setdefault(keys[0], []).append(occurrence)
    sample: Sample = {}
    for lemma, by_sense in sorted(found.items()):
        main = sorted(by_sense, key=lambda key: (-len(by_sense[key]), key))[:2]
        if len(main) == 2 and len(by_sense[main[1]]) >= per_sense:
            generator = np.random.default_rng([seed, zlib.crc32(lemma.encode())])
            drawn = [
                by_sense[key][place]._replace(sense=sense)
                for sense, key in enumerate(main)
                for place in sorted(generator.permutation(len(by_sense[key]))[:per_sense])
            ]
            files = {lexicographer_file(key) for key in main}
            sample[lemma] = LemmaSample(lemma.endswith("(noun)"), len(files) == 2, drawn)
    return sample


class _Triples:
    """Which (a, b, c) of a lemma's N occurrences count, each (N, N, N)."""

    def __init__(self, occurrences: Sequence[SenseOccurrence]) -> None:
        senses = np.array([each.sense for each in occurrences])
        documents = np.array([each.document for each in occurrences])
        neighbours = np.array([each.neighbours for each in occurrences])
        is_elsewhere = documents[:, None] != documents
        is_same = (senses[:, None] == senses) & is_elsewhere
        is_other = (senses[:, None] != senses) & is_elsewhere
        shared = (neighbours[:, None] == neighbours).sum(axis=2)  # (N, N): 0, 1 or 2 tags
        self.is_valid: Booleans = is_same[:, :, None] & is_other[:, None, :]
        self.tags_help: Booleans = self.is_valid & (shared[:, :, None] > shared[:, None, :])
        self.tags_mislead: Booleans = self.is_valid & (shared[:, :, None] < shared[:, None, :])

    def judge(self, vectors: Floats) -> Doubles:
        """(num_layers, N, N, N) from (N, num_layers, D): 1 where right, 0.5 where equal."""
        units = unit(vectors)
        cosines = np.einsum("ald,bld->lab", units, units)  # (num_layers, N, N)
        nearer = cosines[:, :, :, None] - cosines[:, :, None, :]
        return np.where(np.abs(nearer) <= EQUAL_COSINES, 0.5, (nearer > 0).astype(np.float64))


def _score_encoder(
    encoder: Encoder,
    documents: Sequence[Document],
    sample: Sample,
    triples: dict[str, _Triples],
    seed: int,
    quiet: bool,
) -> Iterator[SeparationScore]:
    own, means = _sampled_vectors(encoder, documents, sample, quiet)
    ways: dict[str, Callable[[str], Floats]] = {
        encoder.name: lambda lemma: own[lemma],
        plus_mean_name(encoder.name): lambda lemma: plus_mean(own[lemma], means[lemma]),
        mean_name(encoder.name): lambda lemma: means[lemma],
    }
    for name, vectors in ways.items():
        judged = {lemma: _shares(triples[lemma], vectors(lemma)) for lemma in sample}
        for layer, layer_name in enumerate(encoder.layer_names):
            parts = {lemma: shares[:, layer] for lemma, shares in judged.items()}
            yield _score(name, layer_name, parts, sample, seed)


def _sampled_vectors(
    encoder: Encoder, documents: Sequence[Document], sample: Sample, quiet: bool
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """For each lemma (N, num_layers, D): its occurrences, and the means of their sentences."""
    wanted: dict[tuple[int, int], list[tuple[str, int, int]]] = {}
    for lemma, drawn in sample.items():
        for row, each in enumerate(drawn.occurrences):
            where = wanted.setdefault((each.document, each.sentence), [])
            where.append((lemma, row, each.place))
    reads_all = isinstance(encoder, DocumentEncoder)
    numbers = [
        [n for n in range(len(document)) if reads_all or (d, n) in wanted]
        for d, document in enumerate(documents)
    ]
    texts = [
        [document[n].tokens for n in chosen]
        for document, chosen in zip(documents, numbers, strict=True)
    ]
    nothing = np.empty(0, dtype=np.float32)
    own = {lemma: [nothing] * len(drawn.occurrences) for lemma, drawn in sample.items()}
    means = {lemma: list(rows) for lemma, rows in own.items()}
    total = sum(len(tokens) for text in texts for tokens in text)
    with meter(f"SemCor through {encoder.name}", "tokens", total, quiet) as progress:
        for d, layers_of in enumerate(document_layers(encoder, texts)):
            for n, layers in zip(numbers[d], layers_of, strict=True):
                for lemma, row, place in wanted.get((d, n), ()):
                    own[lemma][row] = layers[:, place].copy()
                    means[lemma][row] = layers.mean(axis=1)
                progress.advance(layers.shape[1])
    stacked = [{lemma: np.stack(rows) for lemma, rows in part.items()} for part in (own, means)]
    return stacked[0], stacked[1]


def _shares(triples: _Triples, vectors: Floats) -> Doubles:
    """(3, num_layers): the share of right triples, of all and of those where tags help or mislead.

    NaN if a lemma has no such triple.
    """
    judged = triples.judge(vectors)
    groups = (triples.is_valid, triples.tags_help, triples.tags_mislead)
    none = np.full(len(judged), np.nan)
    return np.stack([judged[:, group].mean(axis=1) if group.any() else none for group in groups])


def _score(
    encoder: str, layer: str, parts: dict[str, Doubles], sample: Sample, seed: int
) -> SeparationScore:
    """One row; ``parts``: the three shares of ``_shares`` for each lemma."""
    shares = 100 * np.array(list(parts.values()))  # (lemmas, 3)
    is_noun = np.array([sample[lemma].is_noun for lemma in parts])
    is_distant = np.array([sample[lemma].is_distant for lemma in parts])
    return SeparationScore(
        encoder,
        layer,
        float(shares[:, 0].mean()),
        bootstrap_interval(shares[:, 0], seed),
        nouns=_mean(shares[is_noun, 0]),
        verbs=_mean(shares[~is_noun, 0]),
        distant=_mean(shares[is_distant, 0]),
        tags_help=_mean(shares[:, 1]),
        tags_mislead=_mean(shares[:, 2]),
        by_lemma={lemma: float(share) for lemma, share in zip(parts, shares[:, 0], strict=True)},
    )


def _mean(values: Doubles) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def bootstrap_interval(values: Doubles, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the mean.

    To compare two rows on the same lemmas, pass their differences lemma by lemma.
    """
    generator = np.random.default_rng(seed)
    rows = generator.integers(len(values), size=(NUM_RESAMPLES, len(values)))
    low, high = np.quantile(values[rows].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def separation_table(result: SeparationResult) -> Table:
    """One row per layer and kind of vector."""
    rows = [
        (
            row_name(row.encoder, row.layer),
            percent(row.score),
            f"{row.interval[0]:.1f} to {row.interval[1]:.1f}",
            *map(percent, (row.nouns, row.verbs, row.distant, row.tags_help, row.tags_mislead)),
        )
        for row in result.rows
    ]
    num_lemmas = result.num_nouns + result.num_verbs
    return Table(
        "Sense separation: same-sense occurrences nearer than those of the other sense, %",
        ("", "all", "95 % interval", "nouns", "verbs", "distant", "tags help", "tags mislead"),
        tuple(rows),
        f"Mean over {count(num_lemmas)} lemmas of SemCor ({count(result.num_nouns)} nouns, "
        f"{count(result.num_verbs)} verbs; {count(result.num_distant)} with distant senses, of "
        f"different lexicographer files), {result.per_sense} occurrences of each of their two main "
        f"senses; {count(result.num_triples)} comparisons, none within a document; chance is 50. "
        "The tags before and after the word favour the right answer in "
        f"{count(result.num_tags_help)} of them (tags help) and the wrong one in "
        f"{count(result.num_tags_mislead)} (tags mislead).",
    )


def separation_picture(result: SeparationResult) -> Picture:
    """One dot per layer and kind of vector, with chance as a line."""
    return dots(
        "sense-separation",
        "Same-sense occurrences nearer than those of the other sense, mean over lemmas",
        [row_name(row.encoder, row.layer) for row in result.rows],
        {"score": [row.score for row in result.rows]},
        "comparisons that are right, %",
        line=("chance", 50.0),
    )
