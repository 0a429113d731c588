"""Fit the bases in which a model's vectors are compared, and in which task models read them.

    python training/fit_bases.py MODEL --data CORPUS --out OUT

Writes MODEL with bases.safetensors: by these matrices, ``elmokit.load(OUT, basis=...)`` multiplies
[forward state; backward state] of each layer. Both are fitted to held-out text, without labels, and
neither changes a prediction.

similarity: of the squared length of a vector, SHARE is what the states of a token tell of its
    sentence: a linear regression predicts the mean of the other tokens' top layer, half whitened.
    Here both directions act together: what one read before a word is compared with what the other
    read after it. The rest is the states, stretched so that the tokens of a sentence vary alike in
    all directions; otherwise a few directions decide nearly all cosines.
features: directions in which states differ between sentences rather than within them get short. Of
    a direction whose variance between sentences is r times the variance within,
    1 / (1 + STRENGTH r) remains; then all are scaled alike.

Prints the share of the variance that lies between sentences. See "Bases" in
docs/reference/en-small.md.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import first_sentences
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SHORTEST, LONGEST = 8, 30
"""Sentences of other lengths tell little of a word's context, or too much."""
RIDGE = 0.01
SMALLEST = 1e-6
"""Smaller variances, relative to the largest, are treated as this one."""


class Spread(NamedTuple):
    """Covariances of one layer's states."""

    within: Tensor  # (.., ..): of tokens around the mean of their sentence
    between: Tensor  # (.., ..): of these means

    @property
    def share_between(self) -> float:
        """The share of the variance that lies between sentences."""
        within, between = self.within.trace(), self.between.trace()
        return float(between / (within + between))

    def times(self, matrix: Tensor) -> "Spread":
        """The covariances of states that were multiplied by ``matrix``."""
        return Spread(matrix.T @ self.within @ matrix, matrix.T @ self.between @ matrix)


def states_of(model: PretrainedModel, corpus: Corpus, num_sentences: int) -> list[Tensor]:
    """Of the first held-out sentences that are neither short nor long, each (L, T, D)."""
    sentences = first_sentences(corpus, num_sentences)
    chosen = [each for each in sentences if SHORTEST <= len(each) <= LONGEST]
    return [torch.from_numpy(each[1:]).double() for each in Embedder(model).layers(chosen)]


def spread_of(sentences: list[Tensor]) -> Spread:
    """Of one layer's states, each (T, D), with T at least 2."""
    within, means = 0.0, []
    for states in sentences:
        mean = states.mean(dim=0)
        around = states - mean
        within += around.T @ around * len(states) / (len(states) - 1)
        means.append(mean)
    centred = torch.stack(means)
    centred -= centred.mean(dim=0)
    return Spread(within / sum(map(len, sentences)), centred.T @ centred / len(means))


def spread_of_layer(sentences: list[Tensor], number: int) -> Spread:
    """Of one layer of sentences, each (L, T, D)."""
    return spread_of([each[number] for each in sentences])


def means_of_others(sentences: list[Tensor]) -> Tensor:
    """(N, D): for each token, the mean of the sentence's other tokens; T is at least 2."""
    return torch.cat([(each.sum(dim=0) - each) / (len(each) - 1) for each in sentences])


def similarity_basis(states: Tensor, others: Tensor, within: Tensor, share: float) -> Tensor:
    """The matrix (D, D) for ``states`` (N, D), which tell of ``others`` (N, E).

    ``within``: (D, D), the covariance of states around the mean of their sentence.
    """
    states, others = states - states.mean(dim=0), others - others.mean(dim=0)
    covariance = states.T @ states / len(states)
    goal = others @ power(others.T @ others / len(others), -0.25)
    told = torch.linalg.solve(with_ridge(covariance), states.T @ goal / len(states))
    # Both forms give the states the length that they had.
    even, telling = (
        form * (covariance.trace() / (form @ covariance).trace())
        for form in (torch.linalg.inv(with_ridge(within)), told @ told.T)
    )
    return power((1 - share) * even + share * telling, 0.5)


def with_ridge(covariance: Tensor) -> Tensor:
    """Some variance more in each direction, so that rare directions do not count too much."""
    ridge = RIDGE * covariance.diagonal().mean()
    return covariance + ridge * torch.eye(len(covariance), dtype=covariance.dtype)


def feature_basis(spread: Spread, strength: float) -> Tensor:
    """The matrix for states of this spread; the sum of all variances stays what it was."""
    whiten = power(spread.within, -0.5)
    unwhiten = power(spread.within, 0.5)
    ratios, axes = torch.linalg.eigh(whiten @ spread.between @ whiten)
    lengths = (1 + strength * ratios.clamp(min=0)).rsqrt()
    matrix = whiten @ (axes * lengths) @ axes.T @ unwhiten
    all_before = spread.within + spread.between
    all_after = matrix.T @ all_before @ matrix
    return matrix * (all_before.trace() / all_after.trace()).sqrt()


def power(form: Tensor, exponent: float) -> Tensor:
    """A symmetric matrix to the power ``exponent``."""
    values, vectors = torch.linalg.eigh(form)
    found: Tensor = (vectors * values.clamp(min=SMALLEST * values[-1]) ** exponent) @ vectors.T
    return found


def fit(sentences: list[Tensor], share: float, strength: float) -> tuple[Tensor, Tensor]:
    """The bases for similarity and for features, (L, D, D) each."""
    others = means_of_others([each[-1] for each in sentences])
    layers = torch.cat(sentences, dim=1)  # (L, N, D)
    similarity = torch.stack(
        [
            similarity_basis(states, others, spread_of_layer(sentences, number).within, share)
            for number, states in enumerate(layers)
        ]
    )
    # For features, both directions count as examples of the same states, and the top layer's matrix
    # serves all layers, because the residual connection gives them the same directions.
    width = layers.shape[-1] // 2
    sides = [side for each in sentences for side in each[-1].split(width, dim=-1)]
    matrix = feature_basis(spread_of(sides), strength)
    features = torch.block_diag(matrix, matrix).expand_as(similarity)
    return similarity, features


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--strength", type=float, default=20.0)
    parser.add_argument("--sentences", type=int, default=4_000)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model = load_pretrained(options.model)
    sentences = states_of(model, Corpus.open(options.data), options.sentences)
    similarity, features = fit(sentences, options.share, options.strength)
    model.bases = {"similarity": similarity.float(), "features": features.float()}
    write_native(model, options.out, "float16")
    print(
        "| layer | variance between sentences | for similarity | for features |\n|---|---|---|---|"
    )
    for number, bases in enumerate(zip(similarity, features, strict=True)):
        spread = spread_of_layer(sentences, number)
        found = [spread, *(spread.times(matrix) for matrix in bases)]
        shares = " | ".join(f"{100 * each.share_between:.1f} %" for each in found)
        print(f"| {number + 1} | {shares} |")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
