"""SENTENCES AS TENSORS: distinct tokens, where each occurs, and the order of computation.

A batch holds every distinct token once, because the token encoder does not depend on context. The
LSTMs read it packed: step 0 of every sentence, then step 1 of those that have one, ...; sentences
are sorted by decreasing length, so a step is a range of rows and padding is never computed.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.text.token_ids import TokenIds, TokenIndexer

BEGIN_ROW, END_ROW = 0, 1
"""The rows of the sentence markers in every table of distinct tokens."""


class TokenBatch(NamedTuple):
    """B sentences as tensors: the ids of N distinct tokens, and where each of them occurs."""

    ids: TokenIds
    """The ids of N distinct tokens; rows 0 and 1 are the begin and end markers."""
    rows: Tensor
    """(B, T): the distinct token at each position; ignored beyond a sentence's length."""
    lengths: Tensor
    """(B,)"""

    @property
    def mask(self) -> Tensor:
        """(B, T): True where there is a token."""
        places = torch.arange(self.rows.shape[1], device=self.rows.device)
        return places < self.lengths.to(self.rows.device)[:, None]

    def to(self, device: str | torch.device) -> "TokenBatch":
        """The same batch on another device."""
        return TokenBatch(self.ids.to(device), self.rows.to(device), self.lengths.to(device))


class Places(NamedTuple):
    """Which distinct token occurs where in B sentences."""

    tokens: list[str]  # N distinct ones
    rows: Tensor  # (B, T); 0 beyond a sentence's length
    lengths: list[int]


def find_places(sentences: Sequence[Sequence[str]], indexer: TokenIndexer | None = None) -> Places:
    """Number the distinct tokens of sentences in order of appearance, after ``indexer``'s markers.

    >>> find_places([["a", "rose", "is", "a", "rose"]]).rows.tolist()
    [[0, 1, 2, 0, 1]]
    """
    rows: dict[str, int] = {indexer.begin: BEGIN_ROW, indexer.end: END_ROW} if indexer else {}
    lengths = [len(sentence) for sentence in sentences]
    places = np.zeros((len(sentences), max(lengths, default=0)), dtype=np.int64)
    for number, sentence in enumerate(sentences):
        places[number, : len(sentence)] = [rows.setdefault(token, len(rows)) for token in sentence]
    return Places(list(rows), torch.from_numpy(places), lengths)


def batch_tokens(sentences: Sequence[Sequence[str]], indexer: TokenIndexer) -> TokenBatch:
    """Turn lists of tokens into the tensors that ``Elmo`` reads.

    Args:
        sentences: lists of tokens; for raw strings use ``Elmo.batch``.
        indexer: the model's indexer, ``Embedder.indexer`` or ``Elmo.indexer``.

    >>> batch_tokens([["a", "rose", "is", "a", "rose"]], TokenIndexer.utf8()).rows.tolist()
    [[2, 3, 4, 2, 3]]
    """
    for sentence in [sentences, *sentences] if isinstance(sentences, str) else sentences:
        if isinstance(sentence, str):
            raise InputError(
                f"batch_tokens takes lists of tokens, got the string {sentence[:40]!r}; split it "
                f"first, for example with  elmokit.tokenize"
            )
    tokens, rows, lengths = find_places(sentences, indexer)
    return TokenBatch(indexer.encode(tokens), rows, torch.tensor(lengths, dtype=torch.long))


def batch_character_ids(characters: Tensor, indexer: TokenIndexer) -> TokenBatch:
    """Turn (B, T, C) character ids, as AllenNLP makes them, into a batch; zeros are padding."""
    markers = indexer.encode([indexer.begin, indexer.end]).characters
    assert markers is not None
    given, limit = characters.shape[-1], markers.shape[-1]
    if given != limit:
        raise InputError(
            f"these ids have {given} characters per token, but the model reads {limit}; "
            f"make them with max_characters={limit}"
        )
    mask = (characters > 0).any(dim=-1)  # (B, T)
    tokens, places = torch.unique(characters[mask], dim=0, return_inverse=True)
    ids = torch.cat([markers.to(tokens), tokens])  # (2 + N, C)
    return TokenBatch(TokenIds(ids, None), _padded_rows(mask, places), _lengths(mask))


def batch_word_ids(words: Tensor, marker_ids: tuple[int, int]) -> TokenBatch:
    """Turn (B, T) word ids into a batch; 0 is padding, ``marker_ids`` are begin and end."""
    mask = words > 0
    tokens, places = torch.unique(words[mask], return_inverse=True)
    ids = torch.cat([tokens.new_tensor(marker_ids), tokens])
    return TokenBatch(TokenIds(None, ids), _padded_rows(mask, places), _lengths(mask))


def _padded_rows(mask: Tensor, places: Tensor) -> Tensor:
    rows = torch.zeros_like(mask, dtype=torch.long)
    rows[mask] = places + END_ROW + 1
    return rows


def _lengths(mask: Tensor) -> Tensor:
    lengths = mask.sum(dim=-1)
    if bool((mask != (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).any()):
        raise InputError("padding must be at the end of a sentence, but a token follows it")
    return lengths


def add_markers(rows: Tensor, lengths: Sequence[int]) -> tuple[Tensor, list[int]]:
    """(B, T) -> (B, T + 2), with markers around every sentence, and the new lengths."""
    marked = torch.nn.functional.pad(rows, (1, 1), value=END_ROW)
    marked[:, 0] = BEGIN_ROW
    for row, length in enumerate(lengths):
        marked[row, length + 1] = END_ROW
    return marked, [length + 2 for length in lengths]


class Packing(NamedTuple):
    """Which token of B sentences each row of a packed batch holds."""

    batch_sizes: list[int]  # sentences still running at each step
    order: Tensor  # (B'): the sentences that have tokens, longest first
    forward: Tensor  # (S,): flat position b * T + t of each packed row, first token first
    backward: Tensor  # (S,): the same, last token first


def pack(lengths: Sequence[int], num_columns: int, device: torch.device) -> Packing:
    """Sort sentences by decreasing length and arrange their tokens step by step."""
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    sorted_sizes = sizes[order]
    longest = int(sorted_sizes[0]) if len(order) else 0
    batch_sizes = (sorted_sizes[None, :] > np.arange(longest)[:, None]).sum(axis=1)
    starts = np.cumsum(batch_sizes) - batch_sizes
    step = np.repeat(np.arange(longest), batch_sizes)  # (S,)
    row = np.arange(len(step)) - np.repeat(starts, batch_sizes)
    sentence = order[row]
    forward = sentence * num_columns + step
    backward = sentence * num_columns + sizes[sentence] - 1 - step

    def tensor(array: npt.NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Packing(batch_sizes.tolist(), tensor(order), tensor(forward), tensor(backward))
