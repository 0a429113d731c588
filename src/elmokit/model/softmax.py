"""Top layer -> next (previous) word: one softmax, shared by the two directions."""

import torch
from torch import Tensor, nn

from elmokit.text.vocabulary import Vocabulary


class Softmax(nn.Module):
    """Rows of W (V, P) and b (V): logits = h W^T + b."""

    def __init__(self, num_words: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_words, projection_dim))
        self.bias = nn.Parameter(torch.zeros(num_words))
        nn.init.normal_(self.weight, std=projection_dim**-0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        """(N, P) -> (N, V) logits."""
        return torch.addmm(self.bias, hidden, self.weight.t())


class OutputWords:
    """A softmax with the words its rows stand for."""

    def __init__(self, softmax: Softmax, vocabulary: Vocabulary) -> None:
        self.softmax = softmax
        self.vocabulary = vocabulary
