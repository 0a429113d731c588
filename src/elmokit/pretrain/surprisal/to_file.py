"""What ``elmokit surprisal`` does: text in, a table of tokens or words out, bounded memory."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from elmokit.embed.embedder import WINDOW_TOKENS
from elmokit.embed.files.inputs import count_lines
from elmokit.embed.load import AnyModel
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.model.bilm import BiLmState
from elmokit.pretrain.perplexity import StateMode
from elmokit.pretrain.surprisal.frequencies import Frequencies
from elmokit.pretrain.surprisal.measure import SentenceSurprisal, SurprisalReader
from elmokit.pretrain.surprisal.words import WordSurprisal, each_token, whole_words
from elmokit.progress import meter
from elmokit.text.sentences import SentenceSplitter
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import Token, tokenize_sentence
from elmokit.text.vocabulary import END_OF_SENTENCE, MARKERS, Vocabulary

WAYS = ("forward", "backward", "combined")
HEADER = (
    "line", "sentence", "position", "word", "start", "end", "tokens", *WAYS,
    *(f"{way}_entropy" for way in WAYS), *(f"{way}_rank" for way in WAYS),
    "frequency", "frequency_rank", "is_unk",
)  # fmt: skip
NOTHING = "NA"
STANDARD_OUTPUT = Path("-")
MOST_TOKENS = 50_000
"""The maximum length of a sentence; longer ones would take gigabytes."""


@dataclass(frozen=True)
class SurprisalOptions:
    """See ``elmokit surprisal --help``."""

    start: StateMode = "fresh"
    pretokenized: bool = False
    whole_words: bool = False
    keep_unknown: bool = False
    with_ends: bool = False
    frequencies: Frequencies | None = None
    quiet: bool = False


class LineSentence(NamedTuple):
    """A sentence and its position; token offsets are relative to the start of the line."""

    line: int
    tokens: list[Token]
    opens_document: bool


class SurprisalSummary(NamedTuple):
    """A summary; the perplexities equal those of ``elmokit perplexity`` on the same text."""

    num_sentences: int
    num_tokens: int
    num_unknown: int
    forward_bits: float
    backward_bits: float

    @property
    def num_predictions(self) -> int:
        """Per direction: every token, and the end of every sentence."""
        return self.num_tokens + self.num_sentences

    @property
    def perplexity(self) -> tuple[float, float]:
        """Forward and backward."""
        count = max(self.num_predictions, 1)
        return 2 ** (self.forward_bits / count), 2 ** (self.backward_bits / count)

    def __str__(self) -> str:
        forward, backward = self.perplexity
        unknown = self.num_unknown / max(self.num_tokens, 1)
        sentences = "1 sentence" if self.num_sentences == 1 else f"{self.num_sentences:,} sentences"
        return (
            f"{self.num_tokens:,} tokens of {sentences}; perplexity forward "
            f"{forward:.2f}, backward {backward:.2f} over {self.num_predictions:,} predictions per "
            f"direction; {unknown:.2%} of the tokens are outside the vocabulary"
        )


def surprisal_to_file(
    model: AnyModel,
    texts: Sequence[str],
    out: Path,
    options: SurprisalOptions = SurprisalOptions(),  # noqa: B008  frozen
) -> SurprisalSummary:
    """Write one row per token (or word) of all texts to ``out``; ``-`` is standard output.

    The file appears only when it is complete; a killed run leaves none.
    """
    if options.whole_words and options.pretokenized:
        raise InputError(
            "--words joins the tokens of elmokit's tokeniser and cannot be combined with "
            "--pretokenized; leave out one of them"
        )
    reader = SurprisalReader(model, options.keep_unknown)
    total = count_lines(texts)
    sums = SurprisalSummary(0, 0, 0, 0.0, 0.0)
    with _opened(out) as file, meter("surprisal", "lines", total, options.quiet) as progress:
        table = _TableWriter(file, reader.contexts.output_words.vocabulary, options)
        state: BiLmState | None = None
        for window in _windows(read_line_sentences(texts, options.pretokenized)):
            found, state = _measure(reader, window, options.start, state)
            for sentence, one in zip(window, found, strict=True):
                table.add(sentence, one)
                sums = _plus(sums, one)
            note = f"{sums.num_tokens:,} tokens"
            progress.advance(max(0, window[-1].line - progress.done), note)
        if sums.num_sentences == 0:
            raise InputError(f"{', '.join(texts)}: there is no text to measure; give other files")
    return sums


def read_line_sentences(texts: Iterable[str], pretokenized: bool) -> Iterator[LineSentence]:
    """Sentences of text files; a line holds one or more, a blank line ends a document.

    ``pretokenized``: each line is a sentence, with tokens separated by spaces.
    """
    splitter = SentenceSplitter.default()
    number = 0
    for name in texts:
        opens = True
        for _, line in read_lines(name):
            number += 1
            if not line.strip():
                opens = True
                continue
            for tokens in _line_tokens(line, pretokenized, splitter):
                if len(tokens) > MOST_TOKENS:
                    raise InputError(
                        f"{name}: line {number} has a sentence of {len(tokens):,} tokens, the most "
                        f"is {MOST_TOKENS:,}; put one sentence on each line"
                    )
                if tokens:
                    yield LineSentence(number, tokens, opens)
                    opens = False


def _line_tokens(
    line: str, pretokenized: bool, splitter: SentenceSplitter
) -> Iterator[list[Token]]:
    if pretokenized:
        tokens, end = [], 0
        for text in line.split():
            start = line.index(text, end)
            end = start + len(text)
            tokens.append(Token(text, start, end))
        yield tokens
        return
    for sentence in splitter.split(line):
        yield [
            Token(token.text, sentence.start + token.start, sentence.start + token.end)
            for token in tokenize_sentence(sentence.text)
        ]


def _windows(sentences: Iterable[LineSentence]) -> Iterator[list[LineSentence]]:
    window: list[LineSentence] = []
    room = WINDOW_TOKENS
    for sentence in sentences:
        window.append(sentence)
        room -= len(sentence.tokens)
        if room <= 0:
            yield window
            window, room = [], WINDOW_TOKENS
    if window:
        yield window


def _measure(
    reader: SurprisalReader,
    window: Sequence[LineSentence],
    start: StateMode,
    state: BiLmState | None,
) -> tuple[list[SentenceSurprisal], BiLmState | None]:
    """Measure a window's sentences; ``state``: the state that its first document continues from."""
    tokens = [[token.text for token in sentence.tokens] for sentence in window]
    if start == "fresh":
        return reader.fresh(tokens), None
    documents: list[list[list[str]]] = []
    for sentence, words in zip(window, tokens, strict=True):
        if sentence.opens_document or not documents:
            documents.append([])
        documents[-1].append(words)
    found, ended = reader.carried(documents, None if window[0].opens_document else state)
    return [one for document in found for one in document], ended


def _plus(sums: SurprisalSummary, one: SentenceSurprisal) -> SurprisalSummary:
    return SurprisalSummary(
        sums.num_sentences + 1,
        sums.num_tokens + len(one.tokens),
        sums.num_unknown + int(one.is_unknown.sum()),
        sums.forward_bits + one.total_bits[0],
        sums.backward_bits + one.total_bits[1],
    )


class _TableWriter:
    """Writes tab-separated rows under ``HEADER``; missing values are NA, as R and pandas expect."""

    def __init__(self, file: TextIO, vocabulary: Vocabulary, options: SurprisalOptions) -> None:
        self._file, self._options = file, options
        self._rank = {
            word: rank
            for rank, word in enumerate((w for w in vocabulary.words if w not in MARKERS), start=1)
        }
        self._num_sentences = 0
        self._write(HEADER)

    def add(self, sentence: LineSentence, found: SentenceSurprisal) -> None:
        self._num_sentences += 1
        split = whole_words if self._options.whole_words else each_token
        words = split(sentence.tokens, found)
        for position, word in enumerate(words, start=1):
            self._write(self._cells(sentence.line, position, word))
        if self._options.with_ends:
            self._write(self._end_cells(sentence, found, len(words) + 1))

    def _cells(self, line: int, position: int, word: WordSurprisal) -> list[str]:
        looked_up, frequencies = word.without_punctuation, self._options.frequencies
        frequency = math.nan if frequencies is None else frequencies.of(looked_up)
        return [
            str(line),
            str(self._num_sentences),
            str(position),
            word.word,
            str(word.start),
            str(word.end),
            str(word.num_tokens),
            *map(_number, word.bits),
            *map(_number, word.entropy),
            *(str(rank) if rank else NOTHING for rank in word.rank),
            _number(frequency),
            str(self._rank.get(looked_up, NOTHING)),
            str(int(word.is_unknown)),
        ]

    def _end_cells(
        self, sentence: LineSentence, found: SentenceSurprisal, position: int
    ) -> list[str]:
        """The last prediction of each direction, of ``</S>`` forward and of ``<S>`` backward."""
        end = str(sentence.tokens[-1].end)
        bits = map(_number, found.end_bits)
        where = [str(sentence.line), str(self._num_sentences), str(position)]
        filled = [*where, END_OF_SENTENCE, end, end, "0", *bits]
        return [*filled, *[NOTHING] * (len(HEADER) - len(filled) - 1), "0"]

    def _write(self, cells: Iterable[str]) -> None:
        self._file.write("\t".join(cells) + "\n")


def _number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.9g}"


@contextmanager
def _opened(out: Path) -> Iterator[TextIO]:
    if out == STANDARD_OUTPUT:
        yield sys.stdout
        return
    with replacing_file(out) as aside, aside.open("w", encoding="utf-8", newline="\n") as file:
        yield file
        file.flush()
