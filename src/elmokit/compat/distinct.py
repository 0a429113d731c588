"""Padded ids, as the old programs pass them around -> the distinct tokens and where they stand."""

from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.model.bilm import BEGIN_ROW, END_ROW
from elmokit.text.token_ids import TokenIds, TokenIndexer


class Distinct(NamedTuple):
    ids: TokenIds  # of N distinct tokens; 0 and 1 are the sentence markers
    rows: Tensor  # (B, T)
    lengths: list[int]


def distinct_characters(characters: Tensor, indexer: TokenIndexer) -> Distinct:
    """(B, T, C) character ids, where a token of zeros is padding: the CNN once a distinct token."""
    markers = indexer.encode([indexer.begin, indexer.end]).characters
    assert markers is not None
    given, limit = characters.shape[-1], markers.shape[-1]
    if given != limit:
        raise InputError(
            f"these ids have {given} characters a token, but the model reads {limit}; "
            f"make them with {limit}"
        )
    mask = (characters > 0).any(dim=-1)  # (B, T)
    tokens, places = torch.unique(characters[mask], dim=0, return_inverse=True)
    ids = torch.cat([markers.to(tokens), tokens])  # (2 + N, C)
    return Distinct(TokenIds(ids, None), _rows(mask, places), _lengths(mask))


def distinct_words(words: Tensor, marker_ids: tuple[int, int]) -> Distinct:
    """(B, T) word ids, where 0 is padding."""
    mask = words > 0
    tokens, places = torch.unique(words[mask], return_inverse=True)
    ids = torch.cat([tokens.new_tensor(marker_ids), tokens])
    return Distinct(TokenIds(None, ids), _rows(mask, places), _lengths(mask))


def _rows(mask: Tensor, places: Tensor) -> Tensor:
    rows = torch.zeros_like(mask, dtype=torch.long)
    rows[mask] = places + END_ROW + 1
    return rows


def _lengths(mask: Tensor) -> list[int]:
    lengths = mask.sum(dim=-1)
    if bool((mask != (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).any()):
        raise ValueError("padding must stand at the end of a sentence, but a token follows it")
    result: list[int] = lengths.tolist()
    return result


assert (BEGIN_ROW, END_ROW) == (0, 1)
