"""WORDS <-> IDS: the targets of the softmax, or the rows of a word table."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.text.sources import read_lines

BEGIN_OF_SENTENCE = "<S>"
END_OF_SENTENCE = "</S>"
UNKNOWN = "<UNK>"
MARKERS = (BEGIN_OF_SENTENCE, END_OF_SENTENCE, UNKNOWN)
MOST_BYTES = 1 << 30
"""The maximum size of an unpacked vocabulary; the largest published one has 10 MB."""


class Vocabulary:
    """Words in order of their ids; the markers may be anywhere, in our own files they are first.

    >>> Vocabulary(["<S>", "</S>", "<UNK>", "the"]).ids(["the", "zyx"]).tolist()
    [3, 2]
    """

    def __init__(self, words: Sequence[str], where: str = "vocabulary") -> None:
        self.words = list(words)
        self._id_of = {word: number for number, word in enumerate(self.words)}
        for marker in MARKERS:
            if marker not in self._id_of:
                raise InputError(f"{where}: the vocabulary lacks {marker}")
        self.begin, self.end, self.unknown = (self._id_of[marker] for marker in MARKERS)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._id_of

    def id_of(self, word: str) -> int:
        """The id of a word, or that of ``<UNK>``."""
        return self._id_of.get(word, self.unknown)

    def ids(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """The ids (N,) of N words; unknown words have the id of ``<UNK>``."""
        return np.fromiter((self.id_of(word) for word in words), dtype=np.int64)

    def save(self, path: Path) -> None:
        """Write one word per line, as ``read_vocabulary`` reads it."""
        with replacing_file(path) as aside:
            text = "".join(f"{word}\n" for word in self.words)
            aside.write_text(text, encoding="utf-8", newline="\n")


def read_vocabulary(path: Path) -> Vocabulary:
    """Read one word per line, from a plain or compressed file."""
    words = [line for _, line in read_lines(path, max_bytes=MOST_BYTES)]
    while words and not words[-1]:
        words.pop()
    return Vocabulary(words, str(path))
