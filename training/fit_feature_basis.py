"""Fit the basis in which a model's states are better inputs for task models.

    python training/fit_feature_basis.py MODEL --data CORPUS --out OUT

Writes MODEL with features.safetensors, a matrix that ``elmokit.load(OUT, basis="features")``, Elmo
and the tasks multiply states by. Directions in which states differ between sentences rather than
within them become short: of a direction whose variance between sentences is r times the variance
within, 1 / (1 + STRENGTH r) of the variance remains (then all are scaled alike). Prints the share
of the variance that lies between sentences. See "The second edition slows down some task models"
in docs/reference/en-small.md.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from turn_to_context import power, sample

from elmokit.embed.embedder import Embedder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SMALLEST = 1e-6
"""Smaller variances, relative to the largest, are treated as this one."""


class Spread(NamedTuple):
    """Covariances of states, over both directions."""

    within: Tensor  # (P, P): of tokens around the mean of their sentence
    between: Tensor  # (P, P): of these means

    @property
    def share_between(self) -> float:
        """The share of the variance that lies between sentences."""
        within, between = self.within.trace(), self.between.trace()
        return float(between / (within + between))

    def times(self, matrix: Tensor) -> "Spread":
        """The covariances of states that were multiplied by ``matrix``."""
        return Spread(matrix.T @ self.within @ matrix, matrix.T @ self.between @ matrix)


def spread_of_layers(model: PretrainedModel, sentences: list[list[str]]) -> list[Spread]:
    """Of layers 1 to L; sentences have at least two tokens."""
    width = model.config.lstm.projection_dim
    tokens = [torch.from_numpy(each).double() for each in Embedder(model).layers(sentences)]
    found = []
    for layer in range(1, model.bilm.num_layers):
        within = torch.zeros(width, width, dtype=torch.double)
        means = []
        for states in (each[layer].unflatten(-1, (2, width)) for each in tokens):  # (T, 2, P)
            mean = states.mean(dim=0)
            around = (states - mean).flatten(0, 1)
            within += around.T @ around * len(states) / (len(states) - 1)
            means.append(mean)
        centred = torch.stack(means)
        centred = (centred - centred.mean(dim=0)).flatten(0, 1)
        num_tokens = sum(each.shape[1] for each in tokens)
        found.append(Spread(within / (2 * num_tokens), centred.T @ centred / len(centred)))
    return found


def feature_basis(spread: Spread, strength: float) -> Tensor:
    """The matrix (P, P); the sum of all variances stays what it was."""
    whiten = power(spread.within, -0.5, SMALLEST)
    unwhiten = power(spread.within, 0.5, SMALLEST)
    ratios, axes = torch.linalg.eigh(whiten @ spread.between @ whiten)
    lengths = (1 + strength * ratios.clamp(min=0)).rsqrt()
    matrix = whiten @ (axes * lengths) @ axes.T @ unwhiten
    all_before = spread.within + spread.between
    all_after = matrix.T @ all_before @ matrix
    return matrix * (all_before.trace() / all_after.trace()).sqrt()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--strength", type=float, default=20.0)
    parser.add_argument("--sentences", type=int, default=1_500)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model = load_pretrained(options.model)
    spreads = spread_of_layers(model, sample(Corpus.open(options.data), options.sentences))
    matrix = feature_basis(spreads[-1], options.strength)
    model.feature_basis = matrix.float()
    write_native(model, options.out, "float16")
    print("| layer | variance between sentences | with the basis for features |\n|---|---|---|")
    for number, spread in enumerate(spreads, 1):
        after = spread.times(matrix).share_between
        print(f"| {number} | {100 * spread.share_between:.1f} % | {100 * after:.1f} % |")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
