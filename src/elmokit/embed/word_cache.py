"""A cache of token vectors, which do not depend on the context.

Words of natural text repeat: after a few thousand sentences nearly every token is in the cache.
"""

import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from elmokit.model.token_encoder import TokenEncoder
from elmokit.model.weights_version import weights_version
from elmokit.text.token_ids import TokenIndexer

DEFAULT_BYTES = 128 * 2**20
WORDS_AT_ONCE = 4096
"""Words encoded at once; bounds the memory for huge vocabularies."""
LONGEST_KEPT = 1000
"""In characters; longer words are not cached, because their spelling takes memory too."""

_caches: "weakref.WeakSet[WordCache]" = weakref.WeakSet()


class WordCache:
    """Holds at most ``max_bytes`` of vectors; emptied when the encoder's weights change.

    A copy, an unpickled cache and the cache of a forked process start empty.
    """

    def __init__(
        self, encoder: TokenEncoder, indexer: TokenIndexer, max_bytes: int = DEFAULT_BYTES
    ) -> None:
        self.encoder = encoder
        self.indexer = indexer
        self._max_bytes = max_bytes
        self._kept: list[str] = []
        self._start_empty()

    def _start_empty(self) -> None:
        """Create a lock and an empty table; words to keep are encoded on first use."""
        self._lock = threading.Lock()
        self._forget(weights=None)
        _caches.add(self)

    def __getstate__(self) -> dict[str, Any]:
        names = ("encoder", "indexer", "_max_bytes", "_kept")
        return {name: self.__dict__[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_empty()

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> Tensor:
        """The vectors (N, P) of N distinct words."""
        with self._filling():
            if max(map(len, words), default=0) > LONGEST_KEPT:
                return self._encode(words)
            self._refresh()
            missing = [word for word in words if word not in self._rows]
            if len(self._rows) + len(missing) > self._capacity:
                if len(words) + len(self._kept) > self._capacity:
                    return self._encode(words)
                self._forget(self._weights)
                self._add(self._kept)
                missing = [word for word in words if word not in self._rows]
            self._add(missing)
            rows = torch.tensor([self._rows[word] for word in words], dtype=torch.long)
            return self._table.index_select(0, rows.to(self._table.device))

    def keep(self, words: Sequence[str]) -> None:
        """Encode these words now and never evict them."""
        with self._filling():
            self._kept = list(dict.fromkeys([*self._kept, *words]))
            self._refresh()
            self._add([word for word in self._kept if word not in self._rows])

    def _refresh(self) -> None:
        """Empty the cache if the weights have changed."""
        weights = weights_version(self.encoder)
        if weights != self._weights:
            self._forget(weights)
            self._add(self._kept)

    @contextmanager
    def _filling(self) -> Iterator[None]:
        """Lock, and leave inference mode: a table made in it could not be extended outside it."""
        with self._lock, torch.inference_mode(False), torch.no_grad():
            yield

    @property
    def _capacity(self) -> int:
        bytes_per_word = self._table.shape[1] * self._table.element_size()
        return max(self._max_bytes // bytes_per_word, 2 * len(self._kept))

    def _forget(self, weights: object) -> None:
        self._weights = weights
        self._rows: dict[str, int] = {}
        like = next(self.encoder.parameters())
        self._table = like.new_empty(0, self.encoder.projection_dim)

    def _add(self, words: Sequence[str]) -> None:
        for start in range(0, len(words), WORDS_AT_ONCE):
            some = words[start : start + WORDS_AT_ONCE]
            used = len(self._rows)
            if used + len(some) > len(self._table):  # double, so that growing is cheap
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
            parts.append(self.encoder(ids.to(device)))
        return torch.cat(parts)


def _start_anew_in_child() -> None:
    """Reset the caches of a forked process, whose locks another thread may have held."""
    for cache in list(_caches):
        cache._start_empty()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew_in_child)
