"""Characters of a token -> F features: filters of several widths, the best match of each, highways.

x = highway_n( ... highway_1( act( max over positions of conv_w(characters) ) ) )
"""

import torch
from torch import Tensor, nn

from elmokit.config import CharCnnConfig
from elmokit.model.best_match import best_match


class Highway(nn.Module):
    """y = g * relu(x W_transform + b) + (1 - g) * x  with  g = sigmoid(x W_carry + b)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.carry = nn.Linear(dim, dim)
        nn.init.normal_(self.transform.weight, std=dim**-0.5)
        nn.init.normal_(self.carry.weight, std=dim**-0.5)
        nn.init.zeros_(self.transform.bias)
        nn.init.constant_(self.carry.bias, -2.0)  # at first, mostly carry x through

    def forward(self, features: Tensor) -> Tensor:
        gate = torch.sigmoid(self.carry(features))  # (N, F)
        return torch.lerp(features, torch.relu(self.transform(features)), gate)


class CharCnn(nn.Module):
    """(N, C) character ids -> (N, F)."""

    def __init__(self, config: CharCnnConfig) -> None:
        super().__init__()
        self.config = config
        dim = config.embedding_dim
        self.embedding = nn.Embedding(config.num_characters, dim)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(dim, number, width) for width, number in config.filters
        )
        self.highways = nn.ModuleList(
            Highway(config.num_filters) for _ in range(config.num_highway)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)
        with torch.no_grad():
            self.embedding.weight[0].zero_()
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            if self.config.activation == "relu":
                nn.init.uniform_(convolution.weight, -0.05, 0.05)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=fan_in**-0.5)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)

    def forward(self, ids: Tensor, longest: int | None = None) -> Tensor:
        """``longest``: no row has characters, padding aside, beyond this many positions.

        Padding has a vector of its own and takes part in the maximum, but one window of nothing
        but padding is as good as all of them: what lies further right is never computed.
        """
        if longest is not None:
            widest = max(width for width, _ in self.config.filters)
            ids = ids[:, : min(ids.shape[1], longest + widest)]
        characters = self.embedding(ids)  # (N, C, E)
        best = [self._best_match(convolution, characters) for convolution in self.convolutions]
        features = torch.cat(best, dim=-1)  # (N, F): the best match anywhere in the token
        features = torch.relu(features) if self.config.activation == "relu" else features.tanh()
        for highway in self.highways:
            features = highway(features)
        return features

    @staticmethod
    def _best_match(convolution: nn.Module, characters: Tensor) -> Tensor:
        assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
        return best_match(characters, convolution.weight, convolution.bias)
