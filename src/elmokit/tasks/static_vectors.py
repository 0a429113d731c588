"""One static vector a word type (GloVe and the like), beside ELMo in every task model.

Two tables share one numbering: *learned* rows (padding, unknown, training words that are tuned or
that the vectors lack) are parameters; *fixed* rows (every other word of the vectors) are not, so
that a word first met at test time still has its vector and Adam never touches the rest.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.files import replacing_file, write_json
from elmokit.tasks.config import WordsConfig

PADDING, UNKNOWN = 0, 1
RANDOM_ROWS = 20_000
"""Rows of the control's random table; words beyond share them."""


class StaticVectors(NamedTuple):
    words: list[str]
    vectors: npt.NDArray[np.float32]  # (V, dim)


class WordTable:
    """Words <-> ids: first the ``num_learned`` learned ones, then the fixed ones."""

    def __init__(self, words: Sequence[str], learned: Tensor, fixed: Tensor) -> None:
        self.words = list(words)  # without padding and unknown
        self.learned = learned  # (num_learned, dim): where training starts from
        self.fixed = fixed  # (num_fixed, dim)
        self._id_of = {word: number for number, word in enumerate(self.words, start=UNKNOWN + 1)}

    @property
    def dim(self) -> int:
        return self.learned.shape[1]

    def id_of(self, token: str) -> int:
        found = self._id_of.get(token)
        return self._id_of.get(token.lower(), UNKNOWN) if found is None else found

    def save(self, folder: Path) -> None:
        with replacing_file(folder / "words.safetensors") as aside:
            save_file({"learned": self.learned, "fixed": self.fixed}, aside)
            aside.chmod(0o644)
        write_json(folder / "words.json", self.words)


def load_word_table(folder: Path) -> WordTable:
    tables = load_file(folder / "words.safetensors")
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    return WordTable(words, tables["learned"], tables["fixed"])


def build_word_table(config: WordsConfig, training_tokens: Iterable[str]) -> WordTable:
    """The words of the vectors and of the training text. Draws from torch's generator."""
    vectors = read_vectors(Path(config.vectors), config.max_words) if config.vectors else None
    if vectors is None:
        vectors = StaticVectors([], np.zeros((0, config.dim), dtype=np.float32))
    row_of = {word: row for row, word in enumerate(vectors.words)}
    is_folded = all(word == word.lower() for word in vectors.words)

    def form(token: str) -> str:
        lower = token.lower()
        return lower if is_folded or (token not in row_of and lower in row_of) else token

    counts = Counter(form(token) for token in training_tokens)
    lacking = [w for w, n in counts.items() if w not in row_of and n >= config.min_count]
    tuned = [word for word in counts if word in row_of] if config.is_tuned else []
    taken = set(tuned)
    others = [word for word in vectors.words if word not in taken]
    scale = float(vectors.vectors.std()) if len(vectors.words) else config.dim**-0.5
    dim = vectors.vectors.shape[1]
    fresh = scale * torch.randn(UNKNOWN + 1 + len(lacking), dim)  # (padding, unknown, lacking)
    fresh[PADDING] = 0
    known = torch.from_numpy(vectors.vectors)
    learned = torch.cat([fresh, known[[row_of[word] for word in tuned]]])
    return WordTable([*lacking, *tuned, *others], learned, known[[row_of[word] for word in others]])


class WordVectors(nn.Module):
    """(B, T) ids -> (B, T, dim), zero for padding."""

    fixed: Tensor

    def __init__(self, table: WordTable) -> None:
        super().__init__()
        self.learned = nn.Parameter(table.learned.clone())
        # Written once with the vocabulary, not with every checkpoint; hence not persistent.
        self.register_buffer("fixed", table.fixed, persistent=False)
        self.dim = table.dim

    def forward(self, ids: Tensor) -> Tensor:
        return self._lookup(ids) * (ids != PADDING)[..., None]

    def _lookup(self, ids: Tensor) -> Tensor:
        num_learned = len(self.learned)
        learned = nn.functional.embedding(ids.clamp(max=num_learned - 1), self.learned)
        if len(self.fixed) == 0:
            return learned
        fixed = self.fixed[(ids - num_learned).clamp(min=0)]
        return torch.where((ids < num_learned)[..., None], learned, fixed)


class RandomVectors(nn.Module):
    """The control for ELMo: vectors of its width that say nothing but which word it is."""

    table: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        random = torch.randn(RANDOM_ROWS, dim, generator=torch.Generator().manual_seed(0))
        random[PADDING] = 0
        self.register_buffer("table", random, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        rows = torch.where(ids == PADDING, PADDING, 1 + ids % (RANDOM_ROWS - 1))
        return nn.functional.embedding(rows, self.table)


def read_vectors(path: Path, max_words: int) -> StaticVectors:
    """A GloVe or word2vec text file; or vectors.npy with words.txt beside it (or their folder)."""
    if path.is_dir():
        path = path / "vectors.npy"
    if path.suffix == ".npy":
        return _read_npy(path, path.with_name("words.txt"), max_words)
    return _read_text(path, max_words)


def _read_npy(path: Path, words_path: Path, max_words: int) -> StaticVectors:
    try:
        vectors = np.load(path, mmap_mode="r")
    except ValueError as error:
        raise InputError(f"{path}: not a NumPy array ({error})") from None
    words = words_path.read_text(encoding="utf-8").split("\n")
    if words and not words[-1]:
        words.pop()
    if vectors.ndim != 2 or len(vectors) != len(words):
        raise InputError(
            f"{path}: has shape {vectors.shape}, but {words_path} has {len(words):,} words; "
            "give one row a word"
        )
    return StaticVectors(words[:max_words], np.asarray(vectors[:max_words], dtype=np.float32))


def _read_text(path: Path, max_words: int) -> StaticVectors:
    words: list[str] = []
    rows: list[npt.NDArray[np.float32]] = []
    dim = 0
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip("\n ").split(" ")
            if number == 1 and len(fields) == 2:  # word2vec: a header of count and width
                dim = int(fields[1])
                continue
            dim = dim or len(fields) - 1
            word = " ".join(fields[:-dim])  # a few GloVe words contain spaces
            try:
                row = np.array(fields[-dim:], dtype=np.float32)
            except ValueError:
                row = np.empty(0, dtype=np.float32)
            if not word or len(row) != dim:
                raise InputError(f"{path}, line {number}: expected a word and {dim} numbers")
            words.append(word)
            rows.append(row)
            if len(words) == max_words:
                break
    if not words:
        raise InputError(f"{path}: holds no word vectors")
    return StaticVectors(words, np.stack(rows))
