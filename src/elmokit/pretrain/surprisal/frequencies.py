"""Word frequencies per million in a reference corpus, to compare with surprisal."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.text.sources import read_lines
from elmokit.text.vocabulary import UNKNOWN


@dataclass(frozen=True)
class Frequencies:
    """How often words occur, per million words."""

    per_million: dict[str, float]
    absent: float = math.nan
    """The frequency of all other words: 0 if they are known not to occur, else NaN."""

    def of(self, word: str) -> float:
        """The frequency of a word."""
        return self.per_million.get(word, self.absent)


def read_frequencies(path: Path) -> Frequencies:
    """Read a corpus made by ``elmokit prepare``, or a file of lines ``WORD<TAB>COUNT``.

    A word that a corpus lacks has frequency 0, unless the corpus dropped its rarest words; nothing
    is known of a word that a file lacks.
    """
    counts, absent = _corpus_counts(path) if path.is_dir() else (_file_counts(path), math.nan)
    total = sum(counts.values())
    if total <= 0:
        raise InputError(f"{path}: no counts found; give lines of WORD<TAB>COUNT")
    return Frequencies({word: count * 1e6 / total for word, count in counts.items()}, absent)


def _corpus_counts(path: Path) -> tuple[dict[str, float], float]:
    """The count of each word, and that of words which are not listed."""
    lexicon = Corpus.open(path).lexicon
    words = lexicon.words(np.arange(lexicon.num_types))
    counts = dict(zip(words, lexicon.counts.astype(float).tolist(), strict=True))
    return counts, math.nan if counts[UNKNOWN] else 0.0  # dropped words are counted as <UNK>


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
