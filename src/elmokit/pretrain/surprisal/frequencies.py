"""Word frequencies per million in a reference corpus, to compare with surprisal."""

from pathlib import Path

import numpy as np

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.text.sources import read_lines

Frequencies = dict[str, float]
"""Occurrences per million words."""


def read_frequencies(path: Path) -> Frequencies:
    """Read a corpus made by ``elmokit prepare``, or a file of lines ``WORD<TAB>COUNT``."""
    counts = _corpus_counts(path) if path.is_dir() else _file_counts(path)
    total = sum(counts.values())
    if total <= 0:
        raise InputError(f"{path}: no counts found; give lines of WORD<TAB>COUNT")
    return {word: count * 1e6 / total for word, count in counts.items()}


def _corpus_counts(path: Path) -> dict[str, float]:
    lexicon = Corpus.open(path).lexicon
    words = lexicon.words(np.arange(lexicon.num_types))
    return dict(zip(words, lexicon.counts.astype(float).tolist(), strict=True))


def _file_counts(path: Path) -> dict[str, float]:
    counts: dict[str, float] = {}
    for number, line in read_lines(path):
        word, tab, count = line.partition("\t")
        try:
            value = float(count)
        except ValueError:
            value = -1.0
        if not tab or not value >= 0:
            raise InputError(
                f"{path}: line {number}: expected a word, a tab and a count, got {line[:40]!r}"
            )
        counts[word] = counts.get(word, 0.0) + value
    return counts
