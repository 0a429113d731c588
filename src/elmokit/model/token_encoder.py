"""A token, out of context -> x_k: the character CNN, a word table, or both, projected to P."""

import torch
from torch import Tensor, nn

from elmokit.config import ModelConfig
from elmokit.model.char_cnn import CharCnn, linear
from elmokit.text.token_ids import TokenIds

ROWS_AT_ONCE = 1024
"""Tokens per CNN call; they have similar lengths, so that short ones need little padding."""


class TokenEncoder(nn.Module):
    """N tokens' ids -> (N, P): layer 0 of the biLM, shared by both directions."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.projection_dim = config.lstm.projection_dim
        self.char_cnn = CharCnn(config.char_cnn) if config.char_cnn else None
        self.words = (
            nn.Embedding(config.words.num_words, config.words.dim) if config.words else None
        )
        self.projection = (
            nn.Linear(config.feature_dim, self.projection_dim)
            if config.has_token_projection
            else None
        )
        if self.words is not None:
            nn.init.normal_(self.words.weight, std=config.words.dim**-0.5)  # type: ignore[union-attr]
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=config.feature_dim**-0.5)
            nn.init.zeros_(self.projection.bias)

    def forward(self, ids: TokenIds, matrix_dtype: torch.dtype | None = None) -> Tensor:
        """Return (N, P), in the dtype of the weights even under ``torch.autocast``.

        ``matrix_dtype``: dtype of the products of the highways and of the projection, if not that
        of the weights.
        """
        given = ids.words if ids.characters is None else ids.characters
        assert given is not None
        with torch.autocast(given.device.type, enabled=False):
            return self._encode_by_length(ids, matrix_dtype)

    def _encode_by_length(self, ids: TokenIds, matrix_dtype: torch.dtype | None) -> Tensor:
        """Encode tokens of similar length together, so that there is little padding."""
        if ids.characters is None or len(ids.characters) == 0:
            return self._encode(ids, None, matrix_dtype)
        lengths = lengths_before_tail(ids.characters)
        order = torch.argsort(lengths, stable=True)
        groups = [
            self._encode(
                TokenIds(ids.characters[rows], None if ids.words is None else ids.words[rows]),
                int(lengths[rows[-1]]),
                matrix_dtype,
            )
            for rows in torch.split(order, ROWS_AT_ONCE)
        ]
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order), device=order.device)
        return torch.cat(groups)[back]

    def _encode(
        self, ids: TokenIds, longest: int | None, matrix_dtype: torch.dtype | None
    ) -> Tensor:
        parts = []
        if self.words is not None:
            assert ids.words is not None
            parts.append(self.words(ids.words))  # (N, word dim)
        if self.char_cnn is not None:
            assert ids.characters is not None
            parts.append(self.char_cnn(ids.characters, longest, matrix_dtype))  # (N, F)
        features = parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)
        if self.projection is None:
            return features
        return linear(self.projection, features, matrix_dtype)


def lengths_before_tail(ids: Tensor) -> Tensor:
    """(N,): the length of each row of (N, C) without its padding, the repeated last id."""
    is_tail = (ids == ids[:, -1:]).flip(1).cumprod(dim=1)
    return ids.shape[1] - is_tail.sum(dim=1)
