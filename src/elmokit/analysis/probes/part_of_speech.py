"""Table 6, part of speech: a linear classifier on each frozen layer, one token at a time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elmokit.analysis import paper
from elmokit.analysis.encoders.encoder import Encoder, Floats, chunks, evenly, row_name
from elmokit.analysis.output.cached_rows import cached_rows, rows_folder
from elmokit.analysis.output.pictures import Picture, dots
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.analysis.probes.linear_probe import Integers, ProbeData, fit_probe
from elmokit.analysis.probes.mcnemar import Booleans, McNemar, mcnemar
from elmokit.errors import InputError
from elmokit.progress import meter
from elmokit.text.sources import read_lines

MOST_FREQUENT = "most frequent tag of the word"
SPLITS = ("train", "dev", "test")


class TaggedSentence(NamedTuple):
    """Tokens and their tags."""

    tokens: list[str]
    tags: list[str]


class PosData(NamedTuple):
    """The three parts of a treebank."""

    train: list[TaggedSentence]
    dev: list[TaggedSentence]
    test: list[TaggedSentence]


class PosScore(NamedTuple):
    """One row: accuracy in percent on "all", "known", "unknown" and "covered" tokens."""

    encoder: str
    layer: str
    accuracy: dict[str, float]
    development: float
    """Accuracy on the development set, by which the penalty was chosen."""
    penalty: float
    against_lower: dict[str, McNemar] = {}  # noqa: RUF012  never changed
    """McNemar's test of this layer against the one below, by the same groups of tokens."""
    is_solved: bool = True
    """Whether the solver reached the optimum."""


@dataclass(frozen=True)
class PosResult:
    """The most frequent tag first, then each layer of each encoder."""

    rows: tuple[PosScore, ...]
    num_tokens: dict[str, int]
    """Test tokens: all, known and unknown to the training set, and covered by every encoder."""
    num_train_tokens: int


def read_tagged(path: Path) -> list[TaggedSentence]:
    """Words and XPOS tags of a CoNLL-U file; ranges (3-4) and empty nodes (3.1) are skipped."""
    sentences: list[TaggedSentence] = []
    current = TaggedSentence([], [])
    for number, line in read_lines(path):
        if not line:
            if current.tokens:
                sentences.append(current)
            current = TaggedSentence([], [])
        elif not line.startswith("#"):
            fields = line.split("\t")
            if len(fields) != 10:
                raise InputError(
                    f"{path}, line {number}: expected 10 columns (CoNLL-U), got {len(fields)}"
                )
            if fields[0].isdigit():
                if fields[4] == "_":
                    raise InputError(
                        f"{path}, line {number}: {fields[1]!r} has no tag in the fifth column "
                        f"(XPOS); give a treebank with XPOS tags"
                    )
                current.tokens.append(fields[1])
                current.tags.append(fields[4])
    if current.tokens:
        sentences.append(current)
    if not sentences:
        raise InputError(f"{path}: no sentences in this file")
    return sentences


def read_pos_data(folder: Path, max_train_sentences: int | None = None) -> PosData:
    """Read *-train.conllu, *-dev.conllu and *-test.conllu.

    ``max_train_sentences``: use only this many training sentences, evenly spaced.
    """
    parts = []
    for split in SPLITS:
        paths = sorted(folder.glob(f"*{split}.conllu"))
        if len(paths) != 1:
            raise InputError(f"{folder}: expected one *{split}.conllu, found {len(paths)}")
        parts.append(read_tagged(paths[0]))
    if max_train_sentences is not None:
        if max_train_sentences < 1:
            raise InputError(f"training sentences must be at least 1, got {max_train_sentences}")
        parts[0] = evenly(parts[0], max_train_sentences)
    return PosData(*parts)


def part_of_speech_probe(
    encoders: Sequence[Encoder], data: PosData, quiet: bool = False, cache: Path | None = None
) -> PosResult:
    """Accuracy on the test set for every layer of every encoder.

    ``cache``: a folder for finished rows, see output/cached_rows.py.
    """
    groups = _groups(encoders, data)
    folder = rows_folder(cache, "pos", data, groups["covered"].tolist())
    rows = [_most_frequent(data, groups)]
    for encoder in encoders:
        compute = partial(probe_encoder, encoder, data, groups, quiet)
        rows += cached_rows(folder, encoder, PosScore, compute)
    sizes = {name: int(members.sum()) for name, members in groups.items()}
    return PosResult(tuple(rows), sizes, len(_tokens(data.train)))


def probe_encoder(
    encoder: Encoder, data: PosData, groups: dict[str, Booleans], quiet: bool = False
) -> list[PosScore]:
    """One row per layer; ``groups``: by name, which tokens of the test set belong to the group."""
    tags = sorted({tag for sentence in data.train for tag in sentence.tags})
    number_of = {tag: number for number, tag in enumerate(tags)}
    labels = [_labels(split, number_of) for split in data]
    vectors = [_encode(encoder, split, quiet) for split in data]  # each (num_layers, N, D)
    own_rows = _own_rows(encoder, data)
    rows: list[PosScore] = []
    lower: dict[str, Booleans] = {}
    for layer, layer_name in enumerate(encoder.layer_names):
        of_layer = _distinct([part[layer] for part in vectors])
        train, dev, test = map(ProbeData, of_layer, labels, own_rows)
        probe = fit_probe(train, dev, len(tags))
        right = _by_group(probe.predict(test) == labels[2], groups)
        score = PosScore(
            encoder.name,
            layer_name,
            _accuracies(right),
            100 * probe.development_accuracy,
            probe.penalty,
            mcnemar(lower, right),
            probe.is_solved,
        )
        rows.append(score)
        lower = right
    return rows


def _distinct(parts: list[Floats]) -> list[Floats]:
    """Each (N, D), without the second half if it repeats the first, as in a token layer."""
    half = parts[0].shape[1] // 2
    is_twice = all(np.array_equal(part[:, :half], part[:, half:]) for part in parts)
    return [part[:, :half] for part in parts] if is_twice else parts


def _labels(sentences: Sequence[TaggedSentence], number_of: dict[str, int]) -> Integers:
    found = [number_of.get(tag, -1) for sentence in sentences for tag in sentence.tags]
    return np.array(found, dtype=np.int64)


def _tokens(sentences: Sequence[TaggedSentence]) -> list[str]:
    return [token for sentence in sentences for token in sentence.tokens]


def _groups(encoders: Sequence[Encoder], data: PosData) -> dict[str, Booleans]:
    known = set(_tokens(data.train))
    test = _tokens(data.test)
    is_known = np.array([token in known for token in test])
    is_covered = np.array([all(encoder.covers(t) for encoder in encoders) for t in test])
    everything = np.ones(len(test), dtype=bool)
    return {"all": everything, "known": is_known, "unknown": ~is_known, "covered": is_covered}


def _by_group(right: Booleans, groups: dict[str, Booleans]) -> dict[str, Booleans]:
    return {name: right[members] for name, members in groups.items() if members.any()}


def _accuracies(right: dict[str, Booleans]) -> dict[str, float]:
    return {name: 100 * float(found.mean()) for name, found in right.items()}


def _encode(encoder: Encoder, sentences: Sequence[TaggedSentence], quiet: bool) -> Floats:
    total = sum(len(sentence.tokens) for sentence in sentences)
    parts: list[Floats] = []
    with meter(f"text through {encoder.name}", "tokens", total, quiet) as progress:
        for chunk in chunks(sentences):
            layers = encoder.layers([sentence.tokens for sentence in chunk])
            parts.append(np.concatenate(layers, axis=1))
            progress.advance(parts[-1].shape[1])
    return np.concatenate(parts, axis=1)


def _own_rows(encoder: Encoder, data: PosData) -> list[Integers | None]:
    """Words that the encoder lacks get a learned vector: their own if they occur at least twice
    in training, otherwise a shared one (row 0).
    """
    lacking = Counter(token for token in _tokens(data.train) if not encoder.covers(token))
    often = sorted(word for word, count in lacking.items() if count >= 2)
    row_of = {word: row for row, word in enumerate(often, start=1)}

    def row(token: str) -> int:
        return -1 if encoder.covers(token) else row_of.get(token, 0)

    rows = [np.array([row(token) for token in _tokens(split)], dtype=np.int64) for split in data]
    return list(rows) if any((found >= 0).any() for found in rows) else [None, None, None]


def _most_frequent(data: PosData, groups: dict[str, Booleans]) -> PosScore:
    """A baseline without vectors: each word's most frequent tag, or that of rare words."""
    counts: dict[str, Counter[str]] = {}
    for sentence in data.train:
        for token, tag in zip(sentence.tokens, sentence.tags, strict=True):
            counts.setdefault(token, Counter())[tag] += 1
    rare: Counter[str] = Counter()
    for found in counts.values():
        if found.total() == 1:
            rare.update(found)
    best = {token: found.most_common(1)[0][0] for token, found in counts.items()}
    fallback = rare.most_common(1)[0][0] if rare else "NN"

    def right(sentences: Sequence[TaggedSentence]) -> Booleans:
        pairs = ((t, tag) for s in sentences for t, tag in zip(s.tokens, s.tags, strict=True))
        return np.array([best.get(token, fallback) == tag for token, tag in pairs])

    development = 100 * float(right(data.dev).mean())
    accuracy = _accuracies(_by_group(right(data.test), groups))
    return PosScore(MOST_FREQUENT, "", accuracy, development, 0.0)


def pos_table(result: PosResult) -> Table:
    """Our rows, then the paper's (on another corpus, the Penn Treebank)."""
    groups = list(result.num_tokens)
    rows = [
        (
            row_name(row.encoder, row.layer),
            *(percent(row.accuracy.get(group)) for group in groups),
            percent(row.development),
        )
        for row in result.rows
    ]
    blanks = ("",) * len(groups)
    for name, accuracy in paper.PART_OF_SPEECH:
        rows.append((f"paper (Penn Treebank): {name}", percent(accuracy), *blanks))
    sizes = (count(result.num_tokens[group]) for group in groups)
    unsolved = [row_name(row.encoder, row.layer) for row in result.rows if not row.is_solved]
    return Table(
        "Part of speech: accuracy of a linear classifier (Table 6)",
        ("", *groups, "dev, all"),
        (*rows, ("test tokens", *sizes, "")),
        f"Trained on {count(result.num_train_tokens)} tokens. Known: the training set has the "
        "word. Covered: every encoder has a vector for it; words that static vectors lack get "
        "a learned one."
        + (f" Not solved to the optimum: {', '.join(unsolved)}." if unsolved else ""),
    )


def pos_picture(result: PosResult) -> Picture:
    """Known and unknown words as separate series."""
    groups = [group for group in ("all", "known", "unknown") if result.num_tokens[group]]
    return dots(
        "part-of-speech",
        "Part of speech: accuracy of a linear classifier on one vector",
        [row_name(row.encoder, row.layer) for row in result.rows],
        {group: [row.accuracy[group] for row in result.rows] for group in groups},
        "accuracy, %",
    )
