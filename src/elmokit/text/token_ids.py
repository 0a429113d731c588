"""TOKENS -> the tensors a model reads: character ids, word ids, or both.

The only place that knows the special characters and the "+1": bilm-tf counts characters from 0
(bytes 0-255, then five markers). The models reserve row 0 of their character table for masking, so
every id here is one higher.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.text.vocabulary import BEGIN_OF_SENTENCE, END_OF_SENTENCE, Vocabulary

Ids = npt.NDArray[np.int64]

_SHIFT = 1  # row 0 masks
_SENTENCE_BEGIN = 256 + _SHIFT
_SENTENCE_END = 257 + _SHIFT
_WORD_BEGIN = 258 + _SHIFT
_WORD_END = 259 + _SHIFT
_PADDING = 260 + _SHIFT

NUM_UTF8_CHARACTERS = 261 + _SHIFT


class Characters(Protocol):
    """Turns tokens into rows of character ids, padded to ``max_characters``."""

    max_characters: int

    def encode(self, tokens: Sequence[str]) -> Ids:
        """(N, max_characters) ids of N tokens."""
        ...


class Utf8Characters:
    """UTF-8 bytes between word markers: what bilm-tf, AllenNLP and elmokit's own models use.

    >>> Utf8Characters(6).encode(["a", "<S>"]).tolist()
    [[259, 98, 260, 261, 261, 261], [259, 257, 260, 261, 261, 261]]
    """

    def __init__(self, max_characters: int = 50) -> None:
        self.max_characters = max_characters

    def encode(self, tokens: Sequence[str]) -> Ids:
        """(N, max_characters) ids of N tokens; longer tokens are cut."""
        encoded = [token.encode("utf-8", "ignore") for token in tokens]  # drops lone surrogates
        ends = np.cumsum([0] + [len(word) for word in encoded])
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        ids = self.encode_bytes(letters, ends[:-1], np.diff(ends))
        for row, token in enumerate(tokens):
            if token == BEGIN_OF_SENTENCE:
                ids[row] = self._marker(_SENTENCE_BEGIN)
            elif token == END_OF_SENTENCE:
                ids[row] = self._marker(_SENTENCE_END)
        return ids

    def encode_bytes(
        self, letters: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: Ids
    ) -> Ids:
        """Encode N words in one buffer of bytes, without a Python object for each word."""
        room = self.max_characters - 2
        lengths = np.minimum(lengths, room)  # (N,)
        column = np.arange(room)
        is_letter = column < lengths[:, None]  # (N, C - 2)
        ids = np.full((len(lengths), self.max_characters), _PADDING, dtype=np.int64)
        positions = starts[:, None] + column
        ids[:, 1:-1][is_letter] = letters[positions[is_letter]].astype(np.int64) + _SHIFT
        ids[:, 0] = _WORD_BEGIN
        ids[np.arange(len(lengths)), lengths + 1] = _WORD_END
        return ids

    def _marker(self, character: int) -> Ids:
        row = np.full(self.max_characters, _PADDING, dtype=np.int64)
        row[:3] = _WORD_BEGIN, character, _WORD_END
        return row


class UnicodeCharacters:
    """Code points from a dictionary, as ELMoForManyLangs' released models were trained.

    Those models have ``<bow>`` and ``<eow>`` swapped: a word starts with ``<eow>``.
    """

    def __init__(self, dictionary: dict[str, int], max_characters: int = 50) -> None:
        for marker in ("<oov>", "<bow>", "<eow>", "<pad>"):
            if marker not in dictionary:
                raise InputError(f"the dictionary of characters lacks {marker}; download it again")
        self.dictionary = dictionary
        self.max_characters = max_characters

    def encode(self, tokens: Sequence[str]) -> Ids:
        """(N, max_characters) ids of N tokens; unknown characters become ``<oov>``."""
        get, unknown = self.dictionary.get, self.dictionary["<oov>"]
        first, last = self.dictionary["<eow>"], self.dictionary["<bow>"]
        ids = np.full((len(tokens), self.max_characters), self._padding, dtype=np.int64)
        for row, token in enumerate(tokens):
            is_marker = token in ("<bos>", "<eos>")
            letters = [token] if is_marker else list(token[: self.max_characters - 2])
            ids[row, : len(letters) + 2] = [first, *(get(c, unknown) for c in letters), last]
        return ids

    @property
    def _padding(self) -> int:
        return self.dictionary["<pad>"]


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
