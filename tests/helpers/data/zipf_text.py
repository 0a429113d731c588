"""Made-up text by Zipf's law, a corpus of it, and a model with a softmax over its words."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from elmokit.model.softmax import OutputWords, Softmax
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native

NUM_WORDS = 61


def sentences(seed: int, number: int) -> list[list[int]]:
    """Words of a Zipf law, each often followed by its neighbour: something to learn."""
    generator = np.random.default_rng(seed)
    chances = 1 / np.arange(1, NUM_WORDS - 1)
    found = []
    for _ in range(number):
        words: list[int] = []
        while not words or generator.random() < 0.85:
            follows = words and generator.random() < 0.5
            drawn = int(generator.choice(NUM_WORDS - 2, p=chances / chances.sum()))
            words.append(2 + (words[-1] - 1) % (NUM_WORDS - 2) if follows else 2 + drawn)
        found.append(words)
    return found


def corpus_and_model(folder: Path, tiny_elmo: Path) -> tuple[Path, Path]:
    """Prepared text, and a model with a softmax over its words."""
    text = [" ".join(f"w{word}" for word in sentence) for sentence in sentences(0, 200)]
    (folder / "text.txt").write_text("\n\n".join(text) + "\n")
    settings = PrepareConfig(pretokenized=True, heldout=0.2)
    prepare([folder / "text.txt"], folder / "corpus", settings, quiet=True, num_workers=1)
    vocabulary = Corpus.open(folder / "corpus").vocabulary
    model = load_pretrained(tiny_elmo)
    softmax = Softmax(len(vocabulary), model.config.lstm.projection_dim)
    write_native(replace(model, output_words=OutputWords(softmax, vocabulary)), folder / "model")
    return folder / "corpus", folder / "model"
