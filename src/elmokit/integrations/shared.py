"""One loaded model per process, for objects that know their model by name only.

Pipelines are cloned, pickled and sent to workers: what travels is the name, not the weights.
"""

from functools import lru_cache
from pathlib import Path

from elmokit.embed.embedder import Embedder
from elmokit.embed.load import load

MOST_MODELS = 4
"""Models kept in memory at once; the least recently used one is dropped."""


def shared_embedder(model: str | Path | None, device: str = "cpu") -> Embedder:
    """The embedder of this name, loaded on first use, and again if its files change."""
    path = Path(model or "").expanduser()
    stamp = path.stat().st_mtime_ns if model and path.exists() else 0
    return _load(model, device, stamp)


@lru_cache(maxsize=MOST_MODELS)
def _load(model: str | Path | None, device: str, stamp: int) -> Embedder:
    return load(model, device=device)
