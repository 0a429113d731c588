"""A prepared corpus on disk, opened for training: memory-mapped, checked, never copied.

docs/corpus-format.md describes the files; ``pretrain/prepare.py`` writes them.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.text.characters import BEGIN_OF_SENTENCE, END_OF_SENTENCE, Ids, Utf8Characters
from elmokit.text.vocabulary import MARKERS, Vocabulary, read_vocabulary

FORMAT = "elmokit-corpus"
VERSION = 1

_MARKERS_WITH_CHARACTERS = (BEGIN_OF_SENTENCE, END_OF_SENTENCE)


@dataclass(frozen=True)
class Split:
    """Sentences one after the other, each preceded by the type of ``<S>``: 0 w w w 0 w w ..."""

    tokens: npt.NDArray[np.uint32]  # type ids
    starts: npt.NDArray[np.int64]  # positions of the zeros

    @property
    def num_sentences(self) -> int:
        return len(self.starts)

    @property
    def num_tokens(self) -> int:
        """Words; the markers are not counted."""
        return len(self.tokens) - len(self.starts)

    def head(self, max_tokens: int | None) -> "Split":
        """The first sentences, about ``max_tokens`` tokens of them; None: all."""
        if max_tokens is None or max_tokens >= len(self.tokens):
            return self
        count = max(1, int(np.searchsorted(self.starts, max_tokens)))
        end = int(self.starts[count]) if count < len(self.starts) else len(self.tokens)
        return Split(self.tokens[:end], self.starts[:count])


@dataclass(frozen=True)
class Lexicon:
    """The spelling of every word type; the first ``len(vocabulary)`` types are the targets."""

    letters: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]  # (N + 1,) where each type's letters start in ``letters``
    counts: npt.NDArray[np.int64]  # (N,) occurrences in the training part

    @property
    def num_types(self) -> int:
        return len(self.counts)

    def characters(self, type_ids: npt.NDArray[np.int64], characters: Utf8Characters) -> Ids:
        """(N, C) character ids of N types, without a Python object a word."""
        starts = self.offsets[type_ids]
        ids = characters.encode_bytes(self.letters, starts, self.offsets[type_ids + 1] - starts)
        rows = characters.encode(_MARKERS_WITH_CHARACTERS)  # (2, C)
        is_marker = type_ids < len(rows)
        ids[is_marker] = rows[type_ids[is_marker]]
        return ids

    def words(self, type_ids: npt.NDArray[np.int64]) -> list[str]:
        starts, ends = self.offsets[type_ids], self.offsets[type_ids + 1]
        return [
            self.letters[start:end].tobytes().decode()
            for start, end in zip(starts, ends, strict=True)
        ]


@dataclass(frozen=True)
class Corpus:
    """A folder written by ``elmokit prepare``."""

    path: Path
    vocabulary: Vocabulary
    lexicon: Lexicon
    train: Split
    heldout: Split
    facts: dict[str, Any]
    """corpus.json: counts, settings, checksum of the inputs."""

    @classmethod
    def open(cls, path: Path | str) -> "Corpus":
        path = Path(path)
        facts = _read_facts(path)
        vocabulary = read_vocabulary(_existing(path / "vocab.txt"))
        _require_size(path / "vocab.txt", len(vocabulary), facts["vocabulary_size"], "words")
        if tuple(vocabulary.words[: len(MARKERS)]) != MARKERS:
            raise InputError(f"{path / 'vocab.txt'}: must begin with {', '.join(MARKERS)}")
        return cls(
            path,
            vocabulary,
            _open_lexicon(path / "lexicon", facts),
            _open_split(path / "train", facts["train"]),
            _open_split(path / "heldout", facts["heldout"]),
            facts,
        )


def _read_facts(path: Path) -> dict[str, Any]:
    file = path / "corpus.json"
    if not file.is_file():
        raise InputError(f"{path}: no corpus.json here; make a corpus with  elmokit prepare")
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
        is_ours, version = facts["format"] == FORMAT, facts["version"]
        for part in ("train", "heldout"):
            _ = facts[part]["num_sentences"] + facts[part]["num_tokens"]
        _ = facts["vocabulary_size"] + facts["num_types"] + facts["num_letters"]
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{file}: not the description of a corpus ({error!r})") from None
    if not is_ours or version != VERSION:
        raise InputError(
            f"{file}: {facts['format']!r} version {version!r}, this elmokit reads "
            f"{FORMAT!r} version {VERSION}; prepare the corpus again"
        )
    return dict(facts)


def _open_lexicon(path: Path, facts: dict[str, Any]) -> Lexicon:
    letters = _map_raw(path / "letters.bin", np.uint8)
    offsets = _map_npy(path / "offsets.npy")
    counts = _map_npy(path / "counts.npy")
    _require_size(path / "letters.bin", len(letters), facts["num_letters"], "bytes")
    _require_size(path / "offsets.npy", len(offsets), facts["num_types"] + 1, "offsets")
    _require_size(path / "counts.npy", len(counts), facts["num_types"], "counts")
    if offsets[0] != 0 or offsets[-1] != len(letters):
        raise InputError(f"{path / 'offsets.npy'}: does not fit letters.bin; prepare again")
    return Lexicon(letters, offsets, counts)


def _open_split(path: Path, facts: dict[str, Any]) -> Split:
    split = Split(_map_raw(path / "tokens.bin", np.uint32), _map_npy(path / "starts.npy"))
    num_sentences = facts["num_sentences"]
    _require_size(path / "starts.npy", split.num_sentences, num_sentences, "sentences")
    _require_size(
        path / "tokens.bin", len(split.tokens), facts["num_tokens"] + num_sentences, "tokens"
    )
    if num_sentences and not (split.starts[0] == 0 and split.starts[-1] < len(split.tokens)):
        raise InputError(f"{path / 'starts.npy'}: does not fit tokens.bin; prepare again")
    return split


def _map_raw(path: Path, dtype: type[Any]) -> npt.NDArray[Any]:
    num_bytes = _existing(path).stat().st_size
    if num_bytes % np.dtype(dtype).itemsize:
        raise InputError(f"{path}: truncated at {num_bytes} bytes; prepare the corpus again")
    if num_bytes == 0:  # an empty file cannot be mapped
        return np.zeros(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r")


def _map_npy(path: Path) -> npt.NDArray[np.int64]:
    try:
        array = np.load(_existing(path), mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: truncated or no .npy file ({error}); prepare again") from None
    if array.dtype != np.int64 or array.ndim != 1:
        raise InputError(f"{path}: expected a row of int64, got {array.dtype} {array.shape}")
    return np.asarray(array)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: missing; prepare the corpus again")
    return path


def _require_size(path: Path, found: int, expected: Any, unit: str) -> None:
    if found != expected:
        raise InputError(
            f"{path}: {found} {unit}, but corpus.json says {expected}; prepare the corpus again"
        )
