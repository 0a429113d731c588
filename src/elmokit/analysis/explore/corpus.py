"""The text to explore: sentences in memory, each with its document and known senses."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import NamedTuple

from elmokit.analysis.explore.builtin import SENSES
from elmokit.analysis.probes.sense_data import read_semcor
from elmokit.analysis.probes.wordnet import read_wordnet
from elmokit.analysis.words.index import OccurrenceIndex, open_index
from elmokit.analysis.words.occurrences import find_word
from elmokit.analysis.words.sense_map import sense_name
from elmokit.analysis.words.texts import read_named_sentences
from elmokit.errors import InputError

BUILTIN = "built-in sentences"
MOST_TOKENS = 2_000_000
"""The maximum number of tokens read of a corpus; the page says if there were more."""
_DATE = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d)(?!\d)")


class CorpusSentence(NamedTuple):
    """A sentence, and what is known about it."""

    tokens: list[str]
    document: str = ""
    senses: Mapping[int, str] = {}
    """Position of a token -> its sense."""


@dataclass(frozen=True)
class ExploredCorpus:
    """Sentences to look for words in."""

    name: str
    sentences: Sequence[CorpusSentence]
    is_cut: bool = False
    index: OccurrenceIndex | None = field(default=None, compare=False)
    """An index of the same text, for neighbours."""

    @cached_property
    def num_tokens(self) -> int:
        """The number of tokens of all sentences."""
        return sum(len(sentence.tokens) for sentence in self.sentences)

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each token occurs, case-sensitive."""
        return Counter(token for sentence in self.sentences for token in sentence.tokens)

    @cached_property
    def _places(self) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for number, sentence in enumerate(self.sentences):
            for place, token in enumerate(sentence.tokens):
                found.setdefault(token.casefold(), []).append((number, place))
        return found

    def find(self, word: str) -> list[tuple[int, int]]:
        """Sentence number and position of every occurrence of the word, ignoring case."""
        return self._places.get(word.casefold(), [])


def builtin_corpus() -> ExploredCorpus:
    """Sentences that come with elmokit."""
    sentences = []
    for word, senses in SENSES.items():
        for sense, texts in senses.items():
            for text in texts:
                occurrence = find_word(word, text)
                sentences.append(CorpusSentence(occurrence.tokens, "", {occurrence.place: sense}))
    return ExploredCorpus(BUILTIN, sentences)


def open_corpus(
    texts: Sequence[str],
    senses: Path | None = None,
    pretokenized: bool = False,
    most_tokens: int = MOST_TOKENS,
) -> ExploredCorpus:
    """Open text files and folders, an index or SemCor; by default, the built-in sentences.

    Args:
        texts: files or folders of text; or one folder written by ``elmokit index``.
        senses: a folder with semcor30 and wordnet30; SemCor's sentences are read before ``texts``.
        pretokenized: one sentence per line, tokens separated by spaces.
        most_tokens: further text is left unread.
    """
    if not texts and senses is None:
        return builtin_corpus()
    index = None
    given: list[Iterable[CorpusSentence]] = [] if senses is None else [_semcor_sentences(senses)]
    if len(texts) == 1 and (Path(texts[0]) / "index.json").is_file():
        index = open_index(Path(texts[0]))
        given.append(CorpusSentence(tokens) for tokens in index.sentences())
    elif texts:
        given.append(
            CorpusSentence(tokens, Path(name).name)
            for name, tokens in read_named_sentences(texts, pretokenized)
        )
    sentences, is_cut = _first(given, most_tokens)
    names = [*(["SemCor"] if senses else []), *(Path(text).name or text for text in texts)]
    if not sentences:
        raise InputError(f"{', '.join(texts)}: no text found; give files that contain text")
    name = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return ExploredCorpus(name, sentences, is_cut, index)


def _first(
    given: Sequence[Iterable[CorpusSentence]], most_tokens: int
) -> tuple[list[CorpusSentence], bool]:
    """The first whole sentences, and whether any were left out."""
    kept: list[CorpusSentence] = []
    room = most_tokens
    for sentence in (one for part in given for one in part if one.tokens):
        room -= len(sentence.tokens)
        if room < 0:
            return kept, True
        # Equal tokens share one string object.
        kept.append(sentence._replace(tokens=[intern(token) for token in sentence.tokens]))
    return kept, False


def _semcor_sentences(data: Path) -> Iterator[CorpusSentence]:
    wordnet = read_wordnet(data / "wordnet30")
    for sentence in read_semcor(data / "semcor30", wordnet).sentences:
        senses = {
            instance.start: sense_name(instance.keys[0], wordnet)
            for instance in sentence.instances
            if instance.end == instance.start + 1
        }
        yield CorpusSentence(sentence.tokens, "SemCor", senses)


def year_of(document: str) -> int | None:
    """The first year in a document's name.

    >>> year_of("speech-1961-01-20.txt"), year_of("chapter12.txt")
    (1961, None)
    """
    found = _DATE.search(document)
    return int(found[1]) if found else None
