"""Turn a model's states so that cosines follow the context more, without changing a prediction.

    python training/turn_to_context.py MODEL --share 0.5 --data CORPUS --vectors GLOVE --out OUT

Every state h, a row of P numbers, becomes h A with one invertible matrix A for both layers and both
directions. What reads a state (recurrent matrices, the second layer, the softmax) is multiplied by
A's inverse, so the language model is the same function of its text; only lengths and angles of the
vectors differ. A A^T is (1 - SHARE) of the identity and SHARE of the quadratic form by which states
of the top layer best predict the words around them (linear regression on held-out sentences of
CORPUS; words as in ``train.context``, half whitened). See "Turned states" in
docs/reference/en-small.md.
"""

import argparse
from pathlib import Path

import torch
from context_words import ContextWords, linear_map
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import first_sentences, settle_on
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SHORTEST, LONGEST = 8, 30
"""Sentences of other lengths tell little of a word's context, or too much."""
WHITENING = 0.25
"""0 leaves what contexts have most in common as it is, 0.5 gives each direction the same weight."""


def sample(corpus: Corpus, count: int) -> list[list[str]]:
    """Those of the first ``count`` held-out sentences that are neither short nor long."""
    sentences = first_sentences(corpus, count)
    return [sentence for sentence in sentences if SHORTEST <= len(sentence) <= LONGEST]


def contexts(sentences: list[list[str]], context_words: ContextWords) -> Tensor:
    """(N, E), one row per token: the summed vectors of the other words of its sentence."""
    found = []
    for sentence in sentences:
        words = context_words.of(sentence).double()
        found.append(words.sum(dim=0) - words)
    around = torch.cat(found)
    around = around - around.mean(dim=0)
    values, directions = torch.linalg.eigh(around.T @ around / len(around))
    whitened: Tensor = around @ (directions * values.clamp(min=1e-4 * values[-1]) ** -WHITENING)
    return whitened


def context_form(states: Tensor, around: Tensor) -> tuple[Tensor, Tensor]:
    """The form (P, P) by which ``states`` (N, P) predict ``around``, and their covariance."""
    found, covariance = linear_map(states - states.mean(dim=0), around)
    return found @ found.T, covariance


def power(form: Tensor, exponent: float, smallest: float = 0.0) -> Tensor:
    """A symmetric matrix to the power ``exponent``.

    Eigenvalues below ``smallest``, relative to the largest, are treated as this one.
    """
    values, vectors = torch.linalg.eigh(form)
    found: Tensor = (vectors * values.clamp(min=smallest * values[-1]) ** exponent) @ vectors.T
    return found


def square_root(form: Tensor) -> Tensor:
    """The symmetric root of a positive definite matrix."""
    return power(form, 0.5)


@torch.no_grad()
def turn(model: PretrainedModel, matrix: Tensor) -> None:
    """Multiply all states by ``matrix`` (P, P), and what reads them by its inverse."""
    inverse = torch.linalg.inv(matrix)
    assert model.output_words is not None
    softmax = model.output_words.softmax.weight
    softmax.copy_(softmax.double() @ inverse.T)
    for stack in (model.bilm.forward_lstm, model.bilm.backward_lstm):
        for name, weight in stack.named_parameters():
            if name.endswith("projection"):
                weight.copy_(weight.double() @ matrix)
            elif name != "layers.0.input_weight" and not name.endswith("bias"):  # reads states
                weight.copy_(inverse @ weight.double())
    if model.feature_basis is not None:
        model.feature_basis = (inverse @ model.feature_basis.double()).float()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model, corpus = load_pretrained(options.model), Corpus.open(options.data)
    width = model.config.lstm.projection_dim
    sentences = sample(corpus, options.sentences)
    around = contexts(sentences, ContextWords(model, corpus, options.vectors))
    top = torch.cat(
        [torch.from_numpy(layers[-1]).double() for layers in Embedder(model).layers(sentences)]
    )  # (N, 2P)
    forward, forward_covariance = context_form(top[:, :width], around)
    backward, backward_covariance = context_form(top[:, width:], around)
    form, covariance = forward + backward, forward_covariance + backward_covariance
    form *= covariance.trace() / (form @ covariance).trace()  # the states keep their mean length
    matrix = square_root((1 - options.share) * torch.eye(width) + options.share * form)
    turn(model, matrix)
    settle_on(model, corpus)
    write_native(model, options.out, "float16")
    sizes = torch.linalg.svdvals(matrix)
    print(f"wrote {options.out}; singular values {sizes[0]:.2f} to {sizes[-1]:.2f}")


if __name__ == "__main__":
    main()
