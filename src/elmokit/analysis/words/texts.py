"""Reads raw or pretokenized text files as lists of tokens, for indexes and maps."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from elmokit.errors import InputError
from elmokit.pretrain.corpus.documents import DocumentReader, find_sources
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import words

MAX_LINE_BYTES = 100_000
MAX_DOCUMENT_BYTES = 64_000
MAX_SENTENCE_TOKENS = 400
"""Longer sentences are cut, as in ``elmokit prepare``."""


def read_sentences(
    texts: Sequence[str], pretokenized: bool = False, leave_out: Path | None = None
) -> Iterator[list[str]]:
    """Sentences of files and folders, in order, with bounded memory.

    ``pretokenized``: one sentence per line, tokens separated by spaces. ``leave_out``: a folder
    inside ``texts`` that is not read, such as the index made from them.
    """
    for _, tokens in read_named_sentences(texts, pretokenized, leave_out):
        yield tokens


def read_named_sentences(
    texts: Sequence[str], pretokenized: bool = False, leave_out: Path | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The same, each with the name of its file."""
    splitter = SentenceSplitter.default()
    broken: dict[str, str] = {}
    for source in find_sources(texts, leave_out):
        reader = DocumentReader([source], MAX_LINE_BYTES, MAX_DOCUMENT_BYTES)
        for document in reader:
            for line in document.decode("utf-8", "replace").split("\n"):
                given = (
                    [line.split()]
                    if pretokenized
                    else [words(sentence.text) for sentence in splitter.split(line)]
                )
                for tokens in given:
                    yield from ((source.name, piece) for piece in _cut(tokens))
        broken |= reader.broken
    for name, problem in broken.items():
        raise InputError(f"{name}: {problem}")


def first_tokens(sentences: Iterable[list[str]], number: int | None) -> Iterator[list[str]]:
    """The first whole sentences with at most ``number`` tokens in total; None: all.

    >>> list(first_tokens([["a", "b"], ["c"], ["d", "e"]], 4))
    [['a', 'b'], ['c']]
    """
    total = 0
    for sentence in sentences:
        total += len(sentence)
        if number is not None and total > number:
            return
        yield sentence


def corpus_of(
    text: str, pretokenized: bool = False, max_tokens: int | None = None
) -> Callable[[], Iterator[list[str]]]:
    """A corpus that can be read several times: each call starts from the beginning."""
    if text == "-":
        raise InputError("standard input can be read only once; name a file or folder")
    find_sources([text])  # reports a missing file now, not after the other corpus was read
    return lambda: first_tokens(read_sentences([text], pretokenized), max_tokens)


def _cut(tokens: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(tokens), MAX_SENTENCE_TOKENS):
        yield tokens[start : start + MAX_SENTENCE_TOKENS]
