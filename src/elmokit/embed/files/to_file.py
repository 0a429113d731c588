"""What ``elmokit embed`` does: sentences from files, vectors to a file, with bounded memory."""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmokit.embed.embedder import BATCH_TOKENS, WINDOW_TOKENS, Embedder, Start
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.writers import Layout, writing
from elmokit.embed.mix import AnyMix, MixName
from elmokit.embed.pooling import Pooling, pool_tokens, require_pooling
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError
from elmokit.progress import Meter

LAYER_NAMES = {"CNN": 0, "LSTM1": 1, "LSTM2": 2}
"""SeqVec's names, accepted for any model."""
_MIX_NAMES: tuple[MixName, ...] = ("average", "sum", "top", "concat")


@dataclass(frozen=True)
class Selection:
    """Which layers of each token, and whether tokens are pooled."""

    mix: AnyMix | None
    """None for several layers, stacked."""
    layers: tuple[int, ...] = ()
    """The layers if there is no mix; () means all."""
    pool: Pooling | None = None


def parse_selection(text: str, num_layers: int, pool: Pooling | None = None) -> Selection:
    """Parse ``all``, the name of a mix, the number of a layer, or several: ``0,2``.

    >>> parse_selection("0,2", num_layers=3)
    Selection(mix=None, layers=(0, 2), pool=None)
    """
    if pool is not None:
        require_pooling(pool)
    if text == "all":
        return Selection(None, (), pool)
    for name in _MIX_NAMES:
        if text == name:
            return Selection(name, (), pool)
    try:
        parts = text.split(",")
        numbers = [LAYER_NAMES[part] if part in LAYER_NAMES else int(part) for part in parts]
    except ValueError:
        raise InputError(
            f"--layers must be all, {', '.join(_MIX_NAMES)}, CNN, LSTM1, LSTM2 or layers' numbers "
            f"such as 1 or 0,2; got {text!r}"
        ) from None
    chosen = tuple(_layer(number, num_layers) for number in numbers)
    if len(chosen) == 1:
        return Selection(chosen[0], (), pool)
    return Selection(None, chosen, pool)


def _layer(number: int, num_layers: int) -> int:
    if not -num_layers <= number < num_layers:
        raise InputError(
            f"--layers {number}: the model has layers 0 to {num_layers - 1}, or -1 for the last"
        )
    return number % num_layers


def embed_to_file(
    elmo: Embedder,
    items: Iterable[Item],
    path: Path,
    selection: Selection,
    *,
    layout: Layout,
    start: Start = "fresh",
    batch_tokens: int = BATCH_TOKENS,
    progress: Meter | None = None,
    kind: str | None = None,
) -> int:
    """Write the vectors of all items and return the number of tokens; ``kind``: see ``writing``."""
    waiting: deque[Item] = deque()  # never more than one window of the stream

    def tokens() -> Iterator[list[str]]:
        for item in items:
            waiting.append(item)
            yield item.tokens

    num_tokens = 0
    with writing(path, layout, kind) as writer:
        for vectors in stream_selection(elmo, tokens(), selection, start, batch_tokens):
            item = waiting.popleft()
            writer.add(item, vectors)
            num_tokens += len(item.tokens)
            if progress is not None:
                progress.advance(1, note_of(progress, num_tokens))
    return num_tokens


def note_of(progress: Meter, num_tokens: int) -> str:
    """The text shown beside the progress."""
    elapsed_seconds = max(time.monotonic() - progress.started, 1e-9)
    return f"{num_tokens / elapsed_seconds:,.0f} tokens/s"


def window_tokens_for(batch_tokens: int) -> int:
    """How many tokens a stream holds in memory: enough for batches of this size."""
    return max(WINDOW_TOKENS, 2 * batch_tokens)


def stream_selection(
    elmo: Embedder,
    sentences: Iterable[list[str]],
    selection: Selection,
    start: Start,
    batch_tokens: int,
) -> Iterator[Vectors]:
    """The selected vectors of each sentence, in order."""
    window = window_tokens_for(batch_tokens)
    if selection.mix is None:
        stream = elmo.stream_layers(
            sentences, start=start, batch_tokens=batch_tokens, window_tokens=window
        )
    else:
        stream = elmo.stream(
            sentences, selection.mix, start=start, batch_tokens=batch_tokens, window_tokens=window
        )
    for vectors in stream:
        chosen = vectors[list(selection.layers)] if selection.layers else vectors
        if selection.pool is None:
            yield chosen
        elif chosen.ndim == 2:
            yield pool_tokens(chosen, selection.pool, elmo.dim)
        else:
            yield np.stack([pool_tokens(layer, selection.pool, elmo.dim) for layer in chosen])
