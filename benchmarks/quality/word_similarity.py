"""Do static vectors rank pairs of words as people do? Spearman's correlation with their judgements.

    elmokit static en-small TEXT -o vectors.bin --layers concat --lowercase
    python benchmarks/quality/word_similarity.py vectors.bin ../shared/data/glove --layers 3 1

WordSim-353 and SimLex-999 come with gensim (its test data). Only pairs that every file has count,
so that all files answer the same questions. ``--layers 3`` says that a file holds three layers side
by side: each is measured alone, and their average too.
"""

import argparse
from importlib.resources import files
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from elmokit.text.static_vectors import StaticVectors, read_static_vectors

SETS = ("wordsim353.tsv", "simlex999.txt")


def read_pairs(name: str) -> list[tuple[str, str, float]]:
    text = files("gensim").joinpath("test", "test_data", name).read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if line and not line.startswith("#"))
    return [(first, second, float(score)) for first, second, score in rows]


def similarities(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Cosines of pairs of rows, after the mean of all rows is taken off."""
    unit = vectors - vectors.mean(axis=0)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    return np.sum(unit[pairs[:, 0]] * unit[pairs[:, 1]], axis=1)


def variants(found: StaticVectors, num_layers: int) -> dict[str, np.ndarray]:
    if num_layers == 1:
        return {"": found.vectors}
    layers = np.split(found.vectors, num_layers, axis=1)
    named = {f" layer {number}": layer for number, layer in enumerate(layers)}
    return {**named, " average": np.mean(layers, axis=0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("vectors", nargs="+", type=Path)
    parser.add_argument("--layers", nargs="+", type=int, default=[])
    arguments = parser.parse_args()
    opened = [read_static_vectors(path) for path in arguments.vectors]
    layers = arguments.layers + [1] * (len(opened) - len(arguments.layers))
    for name in SETS:
        pairs = read_pairs(name)
        shared = [
            pair
            for pair in pairs
            if all(found.row(word) is not None for found in opened for word in pair[:2])
        ]
        print(f"{name}: {len(shared)} of {len(pairs)} pairs are in all files")
        for path, found, num_layers in zip(arguments.vectors, opened, layers, strict=True):
            rows = np.array([[found.row(word) for word in pair[:2]] for pair in shared])
            for variant, vectors in variants(found, num_layers).items():
                rho = spearmanr(similarities(vectors, rows), [pair[2] for pair in shared])
                print(f"  {rho.statistic:.3f}  {path.name}{variant}")


if __name__ == "__main__":
    main()
