"""Give the directions of a model's states more equal variance, without changing a prediction.

    python training/whiten_states.py MODEL --share 0.5 --data CORPUS --out OUT

The opposite of ``turn_to_context.py``: with SHARE 0 the states stay as they are, with 1 the states
of both layers and directions, taken together, have the same variance in every direction. Prints
the effective number of dimensions of each layer and direction (of a covariance with eigenvalues v:
(sum of v)^2 / sum of v^2) before and after. See "The second edition slows down some task
models" in docs/reference/en-small.md.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor
from turn_to_context import sample, turn

from elmokit.embed.embedder import Embedder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import settle_on
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SMALLEST = 1e-4
"""Smaller variances, relative to the largest, are treated as this one."""


def covariances(model: PretrainedModel, sentences: list[list[str]]) -> Tensor:
    """(L, 2, P, P): of the states of each layer and direction."""
    width = model.config.lstm.projection_dim
    layers = [torch.from_numpy(each[1:]).double() for each in Embedder(model).layers(sentences)]
    states = torch.cat(layers, dim=1)  # (L, N, 2P)
    centred = states - states.mean(dim=1, keepdim=True)
    sides = torch.stack([centred[..., :width], centred[..., width:]], dim=1)  # (L, 2, N, P)
    return sides.mT @ sides / states.shape[1]


def effective_dimensions(covariance: Tensor) -> Tensor:
    """Of covariances (..., P, P): P if all directions have the same variance, 1 if one has all."""
    trace = covariance.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
    return trace.square() / covariance.square().sum(dim=(-2, -1))


def whitening(covariance: Tensor, share: float) -> Tensor:
    """A matrix (P, P) that raises every variance v to v^(1 - share) and keeps their sum."""
    values, directions = torch.linalg.eigh(covariance)
    scales = values.clamp(min=SMALLEST * values[-1]) ** (-share / 2)
    scales *= (values.sum() / (values * scales.square()).sum()).sqrt()
    matrix: Tensor = (directions * scales) @ directions.T
    return matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--sentences", type=int, default=1_500)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model, corpus = load_pretrained(options.model), Corpus.open(options.data)
    sentences = sample(corpus, options.sentences)
    before = covariances(model, sentences)
    turn(model, whitening(before.mean(dim=(0, 1)), options.share))
    after = covariances(model, sentences)
    settle_on(model, corpus)
    write_native(model, options.out, "float16")
    print("| layer, direction | effective dimensions before | after |\n|---|---|---|")
    sizes = torch.stack([effective_dimensions(before), effective_dimensions(after)], dim=-1)
    for layer, sides in enumerate(sizes.tolist(), 1):
        for side, (first, second) in zip(("forward", "backward"), sides, strict=True):
            print(f"| {layer}, {side} | {first:.1f} | {second:.1f} |")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
