"""Static word vectors: one vector a word, whatever the sentence. The baseline of every table."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError

Floats = npt.NDArray[np.float32]


class StaticVectors:
    """Words and their vectors, found as written, else in lower case."""

    def __init__(self, words: Sequence[str], vectors: Floats, source: str) -> None:
        self.words = list(words)
        self.vectors = vectors  # (V, D)
        self.source = source
        self._row_of: dict[str, int] = {}
        for row, word in enumerate(self.words):
            self._row_of.setdefault(word, row)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    def row(self, word: str) -> int | None:
        row = self._row_of.get(word)
        return self._row_of.get(word.lower()) if row is None else row

    def vector(self, word: str) -> Floats | None:
        row = self.row(word)
        return None if row is None else self.vectors[row]

    def neighbours(self, word: str, count: int) -> list[tuple[str, float]]:
        """The nearest other words by cosine, nearest first."""
        row = self.row(word)
        if row is None:
            raise InputError(f"{self.source} has no vector for {word!r}")
        norms = np.maximum(np.linalg.norm(self.vectors, axis=1), 1e-12)
        similarity = self.vectors @ (self.vectors[row] / norms[row]) / norms
        similarity[row] = -np.inf
        best = np.argsort(-similarity, kind="stable")[:count]
        return [(self.words[other], float(similarity[other])) for other in best]


class StaticEncoder:
    """Static vectors as an encoder of one layer; zeros where there is no vector."""

    layer_names = ("static",)

    def __init__(self, vectors: StaticVectors, name: str | None = None) -> None:
        self.vectors = vectors
        self.name = name or Path(vectors.source).name

    @cached_property
    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        digest.update("\n".join(self.vectors.words).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.vectors.vectors).tobytes())
        return digest.hexdigest()

    def covers(self, token: str) -> bool:
        return self.vectors.row(token) is not None

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        return [self._layers(sentence) for sentence in sentences]

    def _layers(self, sentence: Sequence[str]) -> Floats:
        layers = np.zeros((1, len(sentence), self.vectors.dim), dtype=np.float32)
        for place, token in enumerate(sentence):
            row = self.vectors.row(token)
            if row is not None:
                layers[0, place] = self.vectors.vectors[row]
        return layers


def read_static_vectors(path: Path) -> StaticVectors:
    """Recognise a folder (words.txt + vectors.npy), word2vec's binary format, or text."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of static vectors")
    if path.is_dir():
        return _read_folder(path)
    with path.open("rb") as stream:
        start = stream.read(1 << 12)
    first_line, _, rest = start.partition(b"\n")
    fields = first_line.split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    if has_header and not _is_text(rest):
        return _read_binary(path, len(first_line) + 1, int(fields[0]), int(fields[1]))
    return _read_text(path, has_header)


def _is_text(start: bytes) -> bool:
    """Do the bytes after a word2vec header look like `word 0.1 -0.2 ...`?"""
    fields = start.split(b"\n")[0].split()[1:6]
    try:
        return all(abs(float(field)) < 1e6 for field in fields) and len(fields) > 0
    except ValueError:
        return False


def _read_folder(path: Path) -> StaticVectors:
    words_path, vectors_path = path / "words.txt", path / "vectors.npy"
    for part in (words_path, vectors_path):
        if not part.exists():
            raise InputError(f"{path}: a folder of static vectors needs words.txt and vectors.npy")
    words = words_path.read_text(encoding="utf-8").split("\n")
    while words and not words[-1]:
        words.pop()
    vectors = np.load(vectors_path, allow_pickle=False)
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(
            f"{path}: vectors.npy has shape {vectors.shape} but words.txt has {len(words)} words"
        )
    return StaticVectors(words, vectors.astype(np.float32), str(path))


def _read_text(path: Path, has_header: bool) -> StaticVectors:
    words: list[str] = []
    rows: list[Floats] = []
    with path.open(encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if (has_header and number == 1) or not line.strip():
                continue
            word, _, numbers = line.rstrip("\n").partition(" ")
            # A few words of GloVe 840B hold spaces: the vector is what stands last.
            fields = numbers.split(" ") if not rows else numbers.rsplit(" ", len(rows[0]))
            if rows and len(fields) > len(rows[0]):
                word, fields = f"{word} {fields[0]}", fields[1:]
            try:
                row = np.array(fields, dtype=np.float32)
            except ValueError:
                raise InputError(f"{path}, line {number}: expected a word and numbers") from None
            if rows and len(row) != len(rows[0]):
                raise InputError(
                    f"{path}, line {number}: {len(row)} numbers where others have {len(rows[0])}"
                )
            words.append(word)
            rows.append(row)
    if not rows:
        raise InputError(f"{path}: no vectors in this file")
    return StaticVectors(words, np.stack(rows), str(path))


def _read_binary(path: Path, offset: int, num_words: int, dim: int) -> StaticVectors:
    """word2vec's format: each word, a space, then dim little-endian floats."""
    data = path.read_bytes()
    words: list[str] = []
    vectors = np.empty((num_words, dim), dtype=np.float32)
    for row in range(num_words):
        space = data.find(b" ", offset)
        end = space + 1 + 4 * dim
        if space < 0 or end > len(data):
            raise InputError(f"{path}: ends after {row} of the {num_words} vectors it announces")
        words.append(data[offset:space].lstrip(b"\n").decode("utf-8", "replace"))
        vectors[row] = np.frombuffer(data, dtype="<f4", count=dim, offset=space + 1)
        offset = end
    return StaticVectors(words, vectors, str(path))
