"""Files of static word vectors (GloVe, word2vec): one vector per word, whatever the sentence."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.files import replacing_file

Floats = npt.NDArray[np.float32]

LONGEST_WORD = 1 << 12


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
        """The width of a vector."""
        return int(self.vectors.shape[1])

    def row(self, word: str) -> int | None:
        """The row of a word as written, else in lower case; None if it has no vector."""
        row = self._row_of.get(word)
        return self._row_of.get(word.lower()) if row is None else row

    def vector(self, word: str) -> Floats | None:
        """The vector (D,) of a word; None if it has none."""
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
        best = np.argsort(-similarity, kind="stable")[: min(count, len(self.words) - 1)]
        return [(self.words[other], float(similarity[other])) for other in best]


def read_static_vectors(path: Path, max_words: int | None = None) -> StaticVectors:
    """The first ``max_words`` vectors of a file or folder of any known kind.

    A folder (words.txt + vectors.npy, or that .npy itself), word2vec's binary format, or text
    with or without word2vec's header.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of static vectors")
    if path.is_dir() or path.suffix == ".npy":
        return _read_folder(path if path.is_dir() else path.parent, max_words)
    with path.open("rb") as stream:
        start = stream.read(1 << 12)
    first_line, _, rest = start.partition(b"\n")
    fields = first_line.split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    if has_header and not _is_text(rest):
        num_words, dim = int(fields[0]), int(fields[1])
        return _read_binary(path, len(first_line) + 1, num_words, dim, max_words)
    return _read_text(path, has_header, max_words)


def write_static_vectors(
    path: Path, words: Sequence[str], vectors: Floats, *, has_header: bool = True
) -> None:
    """word2vec's formats: binary for ``.bin``, else text with six digits per number.

    ``has_header=False`` leaves out the first line of a text, as GloVe's files do.
    """
    header = f"{len(words)} {vectors.shape[1]}\n"
    with replacing_file(path) as aside:
        if path.suffix == ".bin":
            with aside.open("wb") as stream:
                stream.write(header.encode())
                for word, row in zip(words, vectors, strict=True):
                    stream.write(word.encode() + b" " + row.astype("<f4").tobytes() + b"\n")
            return
        with aside.open("w", encoding="utf-8", newline="\n") as lines:
            lines.write(header if has_header else "")
            for word, row in zip(words, vectors, strict=True):
                numbers = " ".join(f"{number:.6g}" for number in row.tolist())
                lines.write(f"{word} {numbers}\n")


def _is_text(start: bytes) -> bool:
    """Whether the bytes after a word2vec header look like `word 0.1 -0.2 ...`."""
    fields = start.split(b"\n")[0].split()[1:6]
    try:
        return all(abs(float(field)) < 1e6 for field in fields) and len(fields) > 0
    except ValueError:
        return False


def _read_folder(path: Path, max_words: int | None) -> StaticVectors:
    words_path, vectors_path = path / "words.txt", path / "vectors.npy"
    for part in (words_path, vectors_path):
        if not part.exists():
            raise InputError(f"{path}: a folder of static vectors needs words.txt and vectors.npy")
    words = words_path.read_text(encoding="utf-8").split("\n")
    while words and not words[-1]:
        words.pop()
    try:
        vectors = np.load(vectors_path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{vectors_path}: not a NumPy array ({error})") from None
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(
            f"{path}: vectors.npy has shape {vectors.shape} but words.txt has {len(words)} words; "
            f"give one row per word"
        )
    return StaticVectors(
        words[:max_words], np.asarray(vectors[:max_words], dtype=np.float32), str(path)
    )


def _read_text(path: Path, has_header: bool, max_words: int | None) -> StaticVectors:
    words: list[str] = []
    rows: list[Floats] = []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            if (has_header and number == 1) or not line.strip():
                continue
            word, _, numbers = line.rstrip("\n ").partition(" ")
            # A few words of GloVe 840B hold spaces: the vector is at the end.
            fields = numbers.split(" ") if not rows else numbers.rsplit(" ", len(rows[0]))
            if rows and len(fields) > len(rows[0]):
                word, fields = f"{word} {fields[0]}", fields[1:]
            try:
                with np.errstate(over="ignore"):
                    row = np.array(fields, dtype=np.float32)
            except ValueError:
                raise InputError(
                    f"{path}, line {number}: expected a word and numbers, got {line[:40]!r}"
                ) from None
            if rows and len(row) != len(rows[0]):
                raise InputError(
                    f"{path}, line {number}: expected {len(rows[0])} numbers, as above, got "
                    f"{len(row)}; copy the file again"
                )
            words.append(word)
            rows.append(row)
            if len(words) == max_words:
                break
    if not rows:
        raise InputError(f"{path}: no vectors in this file; give a GloVe or word2vec file")
    return StaticVectors(words, np.stack(rows), str(path))


def _read_binary(
    path: Path, offset: int, announced: int, dim: int, max_words: int | None
) -> StaticVectors:
    """word2vec's format: each word, a space, then dim little-endian floats."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    if announced < 1 or not 1 <= dim <= len(data):
        raise InputError(f"{path}: announces {announced} vectors of {dim} numbers; copy it again")
    words: list[str] = []
    num_words = announced if max_words is None else min(announced, max_words)
    most_rows = min(num_words, len(data) // (4 * dim) + 1)  # whatever the file announces
    vectors = np.empty((most_rows, dim), dtype=np.float32)
    for row in range(num_words):
        word = data[offset : offset + LONGEST_WORD].tobytes().partition(b" ")
        begin = offset + len(word[0]) + 1
        end = begin + 4 * dim
        if not word[1] or end > len(data):
            raise InputError(f"{path}: ends after {row} of {announced} vectors; copy it again")
        words.append(word[0].lstrip(b"\n").decode("utf-8", "replace"))
        vectors[row] = np.frombuffer(data[begin:end].tobytes(), dtype="<f4")
        offset = end
    return StaticVectors(words, vectors, str(path))
