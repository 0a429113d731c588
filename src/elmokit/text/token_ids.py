"""TOKENS -> the tensors a model reads: character ids, word ids, or both."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.text.characters import (
    BEGIN_OF_SENTENCE,
    END_OF_SENTENCE,
    Characters,
    Utf8Characters,
)
from elmokit.text.vocabulary import Vocabulary


class TokenIds(NamedTuple):
    """Ids of tokens, of any leading shape; None for a kind of ids that the model does not read."""

    characters: Tensor | None  # (..., C)
    words: Tensor | None  # (...)

    def to(self, device: str | torch.device) -> "TokenIds":
        """The same ids on another device."""
        return TokenIds(*(None if ids is None else ids.to(device) for ids in self))


class TokenIndexer:
    """Turns tokens into the ids that one model reads: characters, words, sentence markers."""

    def __init__(
        self,
        characters: Characters | None = None,
        word_ids: dict[str, int] | None = None,
        unknown_word: int = 0,
        begin: str = BEGIN_OF_SENTENCE,
        end: str = END_OF_SENTENCE,
        longest_word: int | None = None,
    ) -> None:
        """Readers of models make one; most users take ``Embedder.indexer``.

        Args:
            characters: how tokens become character ids; None if the model reads none.
            word_ids: the row of each word in the model's word table; None if it has none.
            unknown_word: the row of all other words.
            begin: the token before every sentence.
            end: the token after every sentence.
            longest_word: words are looked up by at most this many of their first characters.
        """
        self.characters = characters
        self.word_ids = word_ids
        self.unknown_word = unknown_word
        self.begin = begin
        self.end = end
        self.longest_word = longest_word

    @classmethod
    def utf8(cls, max_characters: int = 50) -> "TokenIndexer":
        """An indexer for models that read UTF-8 characters, as most do."""
        return cls(characters=Utf8Characters(max_characters))

    def encode(self, tokens: Sequence[str]) -> TokenIds:
        """Ids of N tokens: characters (N, C), words (N,)."""
        characters = words = None
        if self.characters is not None:
            characters = torch.from_numpy(self.characters.encode(tokens))
        if self.word_ids is not None:
            get, unknown, limit = self.word_ids.get, self.unknown_word, self.longest_word
            numbers = [get(token[:limit], unknown) for token in tokens]
            words = torch.tensor(numbers, dtype=torch.long)
        return TokenIds(characters, words)


_MASK_ROWS = 1  # a word table starts with a row of zeros, as a character table does


def word_table_rows(vocabulary_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Vocabulary ids -> rows of a word table."""
    return vocabulary_ids + _MASK_ROWS


def word_table_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Each word's row of a word table."""
    return {word: number + _MASK_ROWS for number, word in enumerate(vocabulary.words)}


def word_table_size(num_words: int) -> int:
    """The number of rows of a word table for so many words."""
    return num_words + _MASK_ROWS
