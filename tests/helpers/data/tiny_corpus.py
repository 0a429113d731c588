"""A small prepared corpus and a small recipe, for every test of the trainer."""

from pathlib import Path

import numpy as np

from elmokit.pretrain.config import Recipe, recipe_from_plain
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare

WORDS = [
    "the", "cat", "dog", "bird", "saw", "heard", "chased", "a", "big", "small", "red", "blue",
    "in", "under", "over", "house", "tree", "garden",
]  # fmt: skip


def write_sentences(path: Path, num_sentences: int, seed: int = 0) -> None:
    """Sentences a language model can learn something about: each word prefers few followers."""
    random = np.random.default_rng(seed)
    lines = []
    for number in range(num_sentences):
        word, words = int(random.integers(len(WORDS))), []
        for _ in range(int(random.integers(2, 9))):
            words.append(WORDS[word])
            word = (3 * word + int(random.integers(3))) % len(WORDS)
        lines.append(" ".join(words))
        if number % 10 == 9:
            lines.append("")
    path.write_text("\n".join(lines) + "\n")


def prepare_tiny(folder: Path, num_sentences: int = 400) -> Path:
    text = folder / "tiny.txt"
    write_sentences(text, num_sentences)
    config = PrepareConfig(pretokenized=True, heldout=0.1, vocabulary_size=15)
    prepare([str(text)], folder / "data", config)
    return folder / "data"


def tiny_recipe(**train: object) -> Recipe:
    settings = {
        "batch_size": 4, "window": 6, "num_negatives": 8, "learning_rate": 0.01,
        "evaluate_every": 20, "checkpoint_every": 5, **train,
    }  # fmt: skip
    values = {
        "lstm": {"dim": 12, "projection_dim": 7},
        "char_cnn": {"embedding_dim": 4, "filters": [[1, 5], [2, 6]], "num_highway": 1,
                     "max_characters": 12},
        "train": settings,
    }  # fmt: skip
    return recipe_from_plain(values, "tiny")
