"""A token, out of context -> x_k: the character CNN, a word table, or both, projected to P."""

import torch
from torch import Tensor, nn

from elmokit.config import ModelConfig
from elmokit.model.char_cnn import CharCnn
from elmokit.text.token_ids import TokenIds

ROWS_AT_ONCE = 1024
"""Tokens of similar length go through the CNN together, so that short ones stay short."""


class TokenEncoder(nn.Module):
    """N tokens' ids -> (N, P): layer 0 of the biLM, shared by both directions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        projection_dim = config.lstm.projection_dim
        self.char_cnn = CharCnn(config.char_cnn) if config.char_cnn else None
        self.words = (
            nn.Embedding(config.words.num_words, config.words.dim) if config.words else None
        )
        self.projection = (
            nn.Linear(config.feature_dim, projection_dim) if config.has_token_projection else None
        )
        if self.words is not None:
            nn.init.normal_(self.words.weight, std=config.words.dim**-0.5)  # type: ignore[union-attr]
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=config.feature_dim**-0.5)
            nn.init.zeros_(self.projection.bias)

    def forward(self, ids: TokenIds, lengths: Tensor | None = None) -> Tensor:
        """``lengths`` (N,): positions before the padding of each row; only makes it faster."""
        parts = []
        if self.words is not None:
            assert ids.words is not None
            parts.append(self.words(ids.words))  # (N, word dim)
        if self.char_cnn is not None:
            assert ids.characters is not None
            parts.append(self._filters(ids.characters, lengths))  # (N, F)
        features = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
        return features if self.projection is None else self.projection(features)

    def _filters(self, characters: Tensor, lengths: Tensor | None) -> Tensor:
        assert self.char_cnn is not None
        if lengths is None or len(lengths) == 0:
            result: Tensor = self.char_cnn(characters)
            return result
        order = torch.argsort(lengths, stable=True)
        groups = [
            self.char_cnn(characters[rows], longest=int(lengths[rows[-1]]))
            for rows in torch.split(order, ROWS_AT_ONCE)
        ]
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return torch.cat(groups)[back]
