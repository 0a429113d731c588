"""Token vectors, once a distinct word: the encoder does not look at context, so they never change.

Words of natural text repeat: after a few thousand sentences nearly every token is found here.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from elmokit.model.token_encoder import TokenEncoder
from elmokit.model.weights_now import weights_now
from elmokit.text.token_ids import TokenIds, TokenIndexer

DEFAULT_BYTES = 128 * 2**20
WORDS_AT_ONCE = 4096
"""Words that go through the encoder together; bounds memory on huge vocabularies."""


class WordCache:
    """Holds at most ``max_bytes`` of vectors; valid while the encoder's weights do not move."""

    def __init__(
        self, encoder: TokenEncoder, indexer: TokenIndexer, max_bytes: int = DEFAULT_BYTES
    ) -> None:
        self.encoder = encoder
        self.indexer = indexer
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: list[str] = []
        self._forget(self._weights_now())

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> Tensor:
        """(N, P) of N distinct words."""
        with self._filling():
            weights = self._weights_now()
            if weights != self._weights:
                self._forget(weights)
                self._add(self._kept)
            missing = [word for word in words if word not in self._rows]
            if len(self._rows) + len(missing) > self._capacity:
                if len(words) + len(self._kept) > self._capacity:
                    return self._encode(words)
                self._forget(weights)
                self._add(self._kept)
                missing = [word for word in words if word not in self._rows]
            self._add(missing)
            rows = torch.tensor([self._rows[word] for word in words], dtype=torch.long)
            return self._table.index_select(0, rows.to(self._table.device))

    def keep(self, words: Sequence[str]) -> None:
        """Encode these now and never forget them, however many others pass by."""
        with self._filling():
            self._kept = list(dict.fromkeys([*self._kept, *words]))
            self._add([word for word in self._kept if word not in self._rows])

    @contextmanager
    def _filling(self) -> Iterator[None]:
        """One thread at a time; a table made in inference mode could not be added to outside it."""
        with self._lock, torch.inference_mode(False), torch.no_grad():
            yield

    @property
    def _capacity(self) -> int:
        bytes_a_word = self._table.shape[1] * self._table.element_size()
        return max(self._max_bytes // bytes_a_word, 2 * len(self._kept))

    def _weights_now(self) -> object:
        return weights_now(self.encoder)

    def _forget(self, weights: object) -> None:
        self._weights = weights
        self._rows: dict[str, int] = {}
        like = next(self.encoder.parameters())
        self._table = like.new_empty(0, self.encoder.projection_dim)

    def _add(self, words: Sequence[str]) -> None:
        for start in range(0, len(words), WORDS_AT_ONCE):
            some = words[start : start + WORDS_AT_ONCE]
            used = len(self._rows)
            if used + len(some) > len(self._table):  # doubled, so that growing costs little
                grown = self._table.new_empty(2 * (used + len(some)), self._table.shape[1])
                grown[:used] = self._table[:used]
                self._table = grown
            self._table[used : used + len(some)] = self._encode(some)
            self._rows.update(zip(some, range(used, used + len(some)), strict=True))

    def _encode(self, words: Sequence[str]) -> Tensor:
        device = self._table.device
        parts = [self._table.new_empty(0, self._table.shape[1])]
        for start in range(0, len(words), WORDS_AT_ONCE):
            ids = self.indexer.encode(words[start : start + WORDS_AT_ONCE])
            moved = TokenIds(*(None if part is None else part.to(device) for part in ids))
            parts.append(self.encoder(moved))
        return torch.cat(parts)
