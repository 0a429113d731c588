"""Groups sentences into batches of similar length with a bounded number of tokens."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

SENTENCES_AT_ONCE = 256
"""Every step reads all the weights, so that more rows share the cost. Beyond this number the gain
is small; BATCH_TOKENS bounds the memory of long sentences."""

SizedItem = TypeVar("SizedItem", bound=Sized)


def chunks_of(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Indices of the sentences of each chunk, longest first, so that memory peaks early.

    >>> list(chunks_of([3, 9, 1, 4], batch_tokens=9))
    [[1], [3, 0], [2]]
    """
    chunk: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda number: -lengths[number]):
        longest = lengths[chunk[0]] if chunk else 0
        if chunk and (len(chunk) == SENTENCES_AT_ONCE or longest * (len(chunk) + 1) > batch_tokens):
            yield chunk
            chunk = []
        chunk.append(number)
    if chunk:
        yield chunk


def windows_of(
    sentences: Iterable[SizedItem], window_tokens: int, max_sentences: int | None = None
) -> Iterator[list[SizedItem]]:
    """Windows of consecutive sentences, each sorted separately; the input may be endless.

    >>> list(windows_of(["ab", "c", "", "def"], window_tokens=5, max_sentences=3))
    [['ab', 'c'], ['', 'def']]
    """
    window: list[SizedItem] = []
    room = window_tokens
    for sentence in sentences:
        window.append(sentence)
        room -= len(sentence) + 1  # so that empty lines fill a window too
        if room <= 0 or len(window) == max_sentences:
            yield window
            window, room = [], window_tokens
    if window:
        yield window
