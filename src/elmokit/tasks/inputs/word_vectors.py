"""Static vectors of words (GloVe and the like), beside ELMo in every task model.

Two tables share one numbering: *learned* rows (padding, unknown, training words that are tuned or
that the vectors lack) are parameters; *fixed* rows (every other word of the vectors) are not, so
that a word first met at test time still has its vector and the optimizer never touches the rest.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from elmokit.files import replacing_file, write_json
from elmokit.recipe import parse_json
from elmokit.tasks.config import WordsConfig
from elmokit.tasks.run_folder import checked_reading
from elmokit.text.static_vectors import StaticVectors, read_static_vectors

PADDING, UNKNOWN = 0, 1
RANDOM_ROWS = 20_000
"""Rows of the random table of the control; more words than this share rows."""


class WordTable:
    """Words <-> ids: first the ``num_learned`` learned ones, then the fixed ones."""

    def __init__(self, words: Sequence[str], learned: Tensor, fixed: Tensor) -> None:
        self.words = list(words)  # without padding and unknown
        self.learned = learned  # (num_learned, dim): where training starts from
        self.fixed = fixed  # (num_fixed, dim)
        self._id_of = {word: number for number, word in enumerate(self.words, start=UNKNOWN + 1)}

    @property
    def dim(self) -> int:
        """The width of a vector."""
        return self.learned.shape[1]

    def id_of(self, token: str) -> int:
        """The id of a token as it is written, else of its lower-case form, else UNKNOWN."""
        found = self._id_of.get(token)
        return self._id_of.get(token.lower(), UNKNOWN) if found is None else found

    def save(self, folder: Path) -> None:
        """Write words.safetensors and words.json into ``folder``."""
        with replacing_file(folder / "words.safetensors") as aside:
            save_file({"learned": self.learned, "fixed": self.fixed}, aside)
            aside.chmod(0o644)
        write_json(folder / "words.json", self.words)


def load_word_table(folder: Path) -> WordTable:
    """The table that ``WordTable.save`` left in a run's folder."""
    path = folder / "words.safetensors"
    with checked_reading(path, "the word vectors of a task model", "train it again"):
        tables = load_file(path)
        learned, fixed = tables["learned"], tables["fixed"]
    path = folder / "words.json"
    with checked_reading(path, "the words of a task model", "train it again"):
        return WordTable(parse_json(path.read_text(encoding="utf-8")), learned, fixed)


def build_word_table(config: WordsConfig, training_tokens: Iterable[str]) -> WordTable:
    """The words of the vectors and of the training text. Draws from torch's generator."""
    if config.vectors:
        vectors = read_static_vectors(Path(config.vectors), config.max_words)
    else:
        vectors = StaticVectors([], np.zeros((0, config.dim), dtype=np.float32), "no vectors")
    row_of = {word: row for row, word in enumerate(vectors.words)}
    is_folded = bool(vectors.words) and all(word == word.lower() for word in vectors.words)

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
        # Not persistent, because it is saved once with the vocabulary, not with every checkpoint.
        self.register_buffer("fixed", table.fixed, persistent=False)
        self.dim = table.dim

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids -> (B, T, dim)"""
        return self._lookup(ids) * (ids != PADDING)[..., None]

    def _lookup(self, ids: Tensor) -> Tensor:
        num_learned = len(self.learned)
        learned = nn.functional.embedding(ids.clamp(max=num_learned - 1), self.learned)
        if len(self.fixed) == 0:
            return learned
        fixed = self.fixed[(ids - num_learned).clamp(min=0)]
        return torch.where((ids < num_learned)[..., None], learned, fixed)


class RandomVectors(nn.Module):
    """The control for ELMo: random vectors that only identify the word."""

    table: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        random = torch.randn(RANDOM_ROWS, dim, generator=torch.Generator().manual_seed(0))
        random[PADDING] = 0
        self.register_buffer("table", random, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) ids -> (B, T, dim), zero for padding."""
        rows = torch.where(ids == PADDING, PADDING, 1 + ids % (RANDOM_ROWS - 1))
        return nn.functional.embedding(rows, self.table)
