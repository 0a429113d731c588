"""A small random biLM with a softmax: all that a language model needs, without training."""

import torch
from small_bilm import INDEXER, small_bilm

from elmokit.model.softmax import OutputWords, Softmax
from elmokit.text.vocabulary import MARKERS, Vocabulary
from elmokit.weights.pretrained import PretrainedModel

WORDS = ("the", "cat", "dog", "sat", "on", "a", "mat", ".", "n't", "do", "bank", "river")


def tiny_lm(words: tuple[str, ...] = WORDS, seed: int = 0) -> PretrainedModel:
    """Its predictions are far from uniform: weights and biases of the softmax are large."""
    bilm = small_bilm(seed=seed)
    vocabulary = Vocabulary([*MARKERS, *words])
    softmax = Softmax(len(vocabulary), bilm.config.lstm.projection_dim)
    with torch.no_grad():
        softmax.weight.normal_(std=2.0)
        softmax.bias.normal_(std=1.5)
    return PretrainedModel(
        bilm, INDEXER, "native", "a/tiny-lm", output_words=OutputWords(softmax, vocabulary)
    )
