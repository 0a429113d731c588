"""A prepared corpus on disk, opened for training: memory-mapped, checked, never copied.

docs/reference/corpus-format.md describes the files; ``pretrain/corpus/prepare.py`` writes them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError, reason_of
from elmokit.files.arrays import map_npy
from elmokit.files.checksums import check_files
from elmokit.recipe import parse_json
from elmokit.text.token_ids import Ids, Utf8Characters
from elmokit.text.vocabulary import (
    BEGIN_OF_SENTENCE,
    END_OF_SENTENCE,
    MARKERS,
    Vocabulary,
    read_vocabulary,
)

FORMAT = "elmokit-corpus"
VERSION = 1

ENOUGH_HELDOUT_TOKENS = 2_000
"""A perplexity measured on fewer tokens is unreliable."""
_NATS_DEVIATION = 3.7
"""The standard deviation of the loss of a prediction, measured with en-small on EWT's test set."""


@contextmanager
def _damage_said_plainly() -> Iterator[None]:
    """Opening a corpus does not read all of it, so damage may show only when it is used."""
    try:
        yield
    except (IndexError, ValueError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the corpus is damaged ({reason_of(error)}); find the file with `elmokit verify`, or "
            f"prepare the corpus again"
        ) from None


def _require_within(lengths: npt.NDArray[np.int64], most: int) -> None:
    """Check lengths before allocating memory, because damaged offsets may be huge."""
    if len(lengths) and (lengths.min() < 0 or lengths.max() > most or lengths.sum() > most):
        raise ValueError("its offsets point outside of the text")


_MARKERS_WITH_CHARACTERS = (BEGIN_OF_SENTENCE, END_OF_SENTENCE)


@dataclass(frozen=True)
class Split:
    """Consecutive sentences, each preceded by the type of ``<S>``: 0 w w w 0 w w ..."""

    tokens: npt.NDArray[np.uint32]  # type ids
    starts: npt.NDArray[np.int64]  # positions of the zeros
    kinds: npt.NDArray[np.int64] | None = None  # of each sentence; None: an older corpus

    @property
    def num_sentences(self) -> int:
        """How many sentences the split holds."""
        return len(self.starts)

    @property
    def num_tokens(self) -> int:
        """The number of words, without the markers."""
        return len(self.tokens) - len(self.starts)

    def head(self, max_tokens: int | None) -> "Split":
        """The first sentences, with about ``max_tokens`` tokens; None: all."""
        if max_tokens is None or max_tokens >= len(self.tokens):
            return self
        count = max(1, int(np.searchsorted(self.starts, max_tokens)))
        end = int(self.starts[count]) if count < len(self.starts) else len(self.tokens)
        return Split(
            self.tokens[:end],
            self.starts[:count],
            None if self.kinds is None else self.kinds[:count],
        )

    def spread(self, max_tokens: int | None, stretch: int = 1) -> "Split":
        """Evenly spaced sentences of the whole text, with about ``max_tokens`` tokens; None: all.

        ``stretch``: the number of consecutive sentences taken at each position.
        """
        if max_tokens is None or max_tokens >= len(self.tokens):
            return self
        wanted = max(1, round(self.num_sentences * max_tokens / len(self.tokens)))
        num_places = -(-wanted // stretch)
        places = np.arange(num_places) * self.num_sentences // num_places
        chosen = np.unique(places[:, None] + np.arange(stretch))
        return self.take(chosen[chosen < self.num_sentences])

    def of_kind(self, kind: int) -> "Split":
        """The sentences of one kind of text, in order."""
        if self.kinds is None:
            raise InputError("this corpus does not store kinds of text; prepare it again")
        return self.take(np.flatnonzero(self.kinds == kind))

    @_damage_said_plainly()
    def take(self, chosen: npt.NDArray[np.int64]) -> "Split":
        """A copy of the sentences with these numbers."""
        ends = np.append(self.starts[1:], len(self.tokens))
        lengths = (ends - self.starts)[chosen]
        _require_within(lengths, len(self.tokens))
        starts = np.cumsum(lengths) - lengths
        inside = np.arange(lengths.sum()) - np.repeat(starts, lengths)
        tokens = self.tokens[np.repeat(self.starts[chosen], lengths) + inside]
        return Split(tokens, starts, None if self.kinds is None else self.kinds[chosen])


@dataclass(frozen=True)
class Lexicon:
    """The spelling of every word type; the first ``len(vocabulary)`` types are the targets."""

    letters: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]  # (N + 1,) where each type's letters start in ``letters``
    counts: npt.NDArray[np.int64]  # (N,) occurrences in the training part

    @property
    def num_types(self) -> int:
        """How many distinct words there are, the markers included."""
        return len(self.counts)

    @_damage_said_plainly()
    def characters(self, type_ids: npt.NDArray[np.int64], characters: Utf8Characters) -> Ids:
        """(N, C) character ids of N types, without a Python object per word."""
        starts = self.offsets[type_ids]
        ids = characters.encode_bytes(self.letters, starts, self.offsets[type_ids + 1] - starts)
        rows = characters.encode(_MARKERS_WITH_CHARACTERS)  # (2, C)
        is_marker = type_ids < len(rows)
        ids[is_marker] = rows[type_ids[is_marker]]
        return ids

    @_damage_said_plainly()
    def num_characters(self, type_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """(N,) the number of Unicode characters (code points) of each of N types."""
        starts, ends = self.offsets[type_ids], self.offsets[type_ids + 1]
        lengths = ends - starts
        _require_within(lengths, len(type_ids) * len(self.letters))
        inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        letters = self.letters[np.repeat(starts, lengths) + inside]
        is_first_byte = (letters & 0xC0) != 0x80  # of a character in UTF-8
        owner = np.repeat(np.arange(len(type_ids)), lengths)
        return np.bincount(owner[is_first_byte], minlength=len(type_ids))

    @_damage_said_plainly()
    def words(self, type_ids: npt.NDArray[np.int64]) -> list[str]:
        """The spelling of N types."""
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
    num_words: int
    """V, the size of the vocabulary."""
    lexicon: Lexicon
    train: Split
    heldout: Split
    facts: dict[str, Any]
    """corpus.json: counts, settings, checksum of the inputs."""

    @property
    def kinds(self) -> list[str]:
        """Names of the kinds of text, in the order of their numbers; none in an older corpus."""
        return [str(name) for name in self.facts.get("kinds", [])]

    def sample(self, split: Split, max_tokens: int | None, stretch: int = 1) -> Split:
        """A deterministic sample of about ``max_tokens`` tokens that represents all of ``split``.

        The first sentences of a shuffled corpus; otherwise evenly spaced groups of ``stretch``
        consecutive sentences.
        """
        is_shuffled = self.facts.get("settings", {}).get("shuffle", False)
        return split.head(max_tokens) if is_shuffled else split.spread(max_tokens, stretch)

    def sentences(self, split: Split) -> Iterator[list[str]]:
        """The words of each sentence of ``split``."""
        for start, end in pairwise([*split.starts, len(split.tokens)]):
            yield self.lexicon.words(split.tokens[start + 1 : end].astype(np.int64))

    def verify(self) -> None:
        """Read every file and compare it with its checksum; InputError names a damaged one.

        Opening a corpus only compares sizes. Corpora of early versions have no checksums.
        """
        check_files(self.path, "prepare the corpus again, or copy it again")

    @classmethod
    def open(cls, path: Path | str) -> "Corpus":
        """Memory-map the files of a corpus, after checking that they are consistent."""
        path = Path(path)
        facts = _read_facts(path)
        vocabulary = read_vocabulary(_existing(path / "vocab.txt"))
        _require_size(path / "vocab.txt", len(vocabulary), facts["vocabulary_size"], "words")
        if tuple(vocabulary.words[: len(MARKERS)]) != MARKERS:
            raise InputError(f"{path / 'vocab.txt'}: must begin with {', '.join(MARKERS)}")
        return cls(
            path,
            vocabulary,
            len(vocabulary),
            _open_lexicon(path / "lexicon", facts),
            _open_split(path / "train", facts["train"]),
            _open_split(path / "heldout", facts["heldout"]),
            facts,
        )


def warn_if_few(num_tokens: int) -> str | None:
    """A warning if the held-out part is too small for a reliable perplexity; otherwise None."""
    if num_tokens >= ENOUGH_HELDOUT_TOKENS:
        return None
    error = _NATS_DEVIATION / max(num_tokens, 1) ** 0.5
    return (
        f"warning: only {num_tokens:,} tokens are held out; a perplexity measured on them has a "
        f"standard error of about {min(error, 1.0):.0%}: hold out more (prepare --heldout), or add "
        f"text"
    )


def _read_facts(path: Path) -> dict[str, Any]:
    file = path / "corpus.json"
    if not file.is_file():
        raise InputError(f"{path}: no corpus.json here; make a corpus with  elmokit prepare")
    try:
        facts = parse_json(file.read_text(encoding="utf-8"))
        is_ours, version = facts["format"] == FORMAT, facts["version"]
        for part in ("train", "heldout"):
            _ = facts[part]["num_sentences"] + facts[part]["num_tokens"]
        _ = facts["vocabulary_size"] + facts["num_types"] + facts["num_letters"]
        for name, kind in (("settings", dict), ("kinds", list)):
            if not isinstance(facts.get(name, kind()), kind):
                raise ValueError(f"{name} is {type(facts[name]).__name__}")
    except (ValueError, KeyError, TypeError) as error:
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
    kinds = path / "kinds.npy"
    split = Split(
        _map_raw(path / "tokens.bin", np.uint32),
        _map_npy(path / "starts.npy"),
        _map_npy(kinds) if kinds.is_file() else None,
    )
    num_sentences = facts["num_sentences"]
    if split.kinds is not None:
        _require_size(kinds, len(split.kinds), num_sentences, "sentences")
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
        array = map_npy(_existing(path))
    except ValueError as error:
        raise InputError(f"{path}: truncated or not a .npy file ({error}); prepare again") from None
    if array.dtype != np.int64 or array.ndim != 1:
        raise InputError(f"{path}: expected a row of int64, got {array.dtype} {array.shape}")
    return array


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: missing; prepare the corpus again")
    return path


def _require_size(path: Path, found: int, expected: Any, unit: str) -> None:
    if found != expected:
        raise InputError(
            f"{path}: {found} {unit}, but corpus.json says {expected}; prepare the corpus again"
        )
