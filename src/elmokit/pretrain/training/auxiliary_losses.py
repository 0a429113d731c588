"""Further losses in training, beside that of the language model.

A language model's state follows what comes next, and hardly what the text is about. In
``ContextLoss``, the state of each stream has to point to the words around it rather than to those
around the other streams of the batch. No matrix stands between the state and that comparison, so
the vectors themselves become alike where the words around them are.

The character CNN has to learn from its spelling alone what a word means, and a language model
teaches it little about rare words. Static vectors know more, but what the token vectors learned
from them at the start fades during training. ``MeaningLoss`` keeps it: a token vector has to
contain the static vector of its word.
"""

import math

import torch
from torch import Tensor, nn

TEMPERATURE = 0.1
TYPICAL_FREQUENCY = 1e-3
"""A word this frequent counts half, one that is rarer nearly whole."""


class ContextLoss(nn.Module):
    """Its matrices (2, E, P), one per direction, turn word vectors into what states point to.

    ``share``: the weight of the loss beside that of the language model. ``vectors`` (V, E): one
    fixed vector per word of the vocabulary; without them, the rows of the softmax are taken.
    """

    vectors: Tensor | None

    def __init__(self, projection_dim: int, share: float, vectors: Tensor | None = None) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("vectors", vectors, persistent=False)
        width = projection_dim if vectors is None else vectors.shape[1]
        self.weights = nn.ParameterList(torch.eye(width, projection_dim) for _ in range(2))

    def forward(self, side: int, states: Tensor, targets: Tensor, num_lanes: int) -> Tensor:
        """The mean loss of direction ``side``.

        Args:
            side: 0 forward, 1 backward.
            states: (T * B, P), step by step; of the top layer.
            targets: (T * B, E): the vectors of the words to predict, by how much they count.
            num_lanes: B.
        """
        words = targets.view(-1, num_lanes, targets.shape[1])  # (T, B, E)
        # The word that a state has just read was to be predicted a step before: it does not count.
        around = words.sum(dim=0) - nn.functional.pad(words[:-1], (0, 0, 0, 0, 1, 0))
        around = around - around.mean(dim=1, keepdim=True)  # what all streams share tells nothing
        around = nn.functional.normalize(around @ self.weights[side], dim=2)
        # Lengths stay: a state that knows little of what is around it points weakly.
        length = states.square().sum(dim=1).mean().sqrt()
        pointed = states.view(len(words), num_lanes, -1) / length
        logits = pointed @ around.transpose(1, 2) / TEMPERATURE  # (T, B, B)
        own = torch.arange(num_lanes, device=states.device).repeat(len(logits))
        return nn.functional.cross_entropy(logits.flatten(0, 1), own)

    def weighted_vectors(self, softmax: Tensor, words: Tensor | None) -> Tensor:
        """The vectors (R, E) of ``words`` (None: all), by how much each word counts.

        The vocabulary is sorted by frequency; frequencies are those that the sampled softmax
        assumes (``LogUniformSampler``). ``softmax``: its rows (V, P).
        """
        vectors = softmax if self.vectors is None else self.vectors
        num_words = len(softmax)
        ranks = torch.arange(num_words, device=softmax.device) if words is None else words
        frequencies = ((ranks + 2) / (ranks + 1)).log() / math.log(num_words + 1)
        shares = TYPICAL_FREQUENCY / (TYPICAL_FREQUENCY + frequencies)  # (R,)
        return vectors[ranks] * shares[:, None]


class MeaningLoss(nn.Module):
    """The share of the variance that a linear map of the token vectors does not explain.

    ``share``: the weight of the loss beside that of the language model. ``vectors`` (V, E): one
    fixed vector per word of the vocabulary, of variance 1; words whose row is zero do not count.
    """

    vectors: Tensor

    def __init__(self, projection_dim: int, share: float, vectors: Tensor) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("vectors", vectors, persistent=False)
        self.reader = nn.Linear(projection_dim, vectors.shape[1])

    def forward(self, tokens: Tensor, words: Tensor) -> Tensor:
        """The mean loss of the words.

        Args:
            tokens: (N, P), the token vectors of distinct words.
            words: (N,), their vocabulary ids.
        """
        wanted = self.vectors[words]
        counts = wanted.any(dim=1).to(tokens.dtype)
        missing: Tensor = (self.reader(tokens) - wanted).square().mean(dim=1)
        return (missing * counts).sum() / counts.sum().clamp(min=1.0)

    @torch.no_grad()
    def begin_with(self, reader: Tensor) -> None:
        """Start with the map ``reader`` (P + 1, E), whose last row is the constant."""
        self.reader.weight.copy_(reader[:-1].t())
        self.reader.bias.copy_(reader[-1])
