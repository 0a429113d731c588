"""Which sentences run together: similar lengths, a bounded number of tokens."""

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

SENTENCES_AT_ONCE = 256
"""A step reads all the weights, however few rows it has: more rows share the cost. Beyond this
the gain is small; BATCH_TOKENS keeps the memory of long sentences in bounds."""

SizedItem = TypeVar("SizedItem", bound=Sized)


def chunks_of(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Numbers of the sentences of each chunk, longest first, so that memory peaks early.

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


def windows_of(sentences: Iterable[SizedItem], window_tokens: int) -> Iterator[list[SizedItem]]:
    """Runs of consecutive sentences that are sorted among themselves; an endless input is fine."""
    window: list[SizedItem] = []
    room = window_tokens
    for sentence in sentences:
        window.append(sentence)
        room -= len(sentence) + 1  # an endless run of empty lines must end a window too
        if room <= 0:
            yield window
            window, room = [], window_tokens
    if window:
        yield window
