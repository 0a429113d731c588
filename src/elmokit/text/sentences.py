# ruff: noqa: RUF001  the ambiguous characters are the point
"""RUNNING TEXT -> SENTENCES with character offsets, by the Punkt method (Kiss and Strunk 2006).

Punkt learns a language's abbreviations from running text alone, so a splitter can be trained on
the very corpus it is to split. The machinery is NLTK's; what it learned is kept as JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from elmokit.errors import InputError
from elmokit.files import write_json

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktParameters

_VERSION = 1
_WINDOW = 20_000
"""Characters Punkt sees at once: NLTK gives up after five seconds on the clock, whatever the text.
It also bounds the length of a sentence."""

_ENGLISH_ABBREVIATIONS = """
    mr mrs ms messrs dr drs prof rev hon fr sr jr st ste mt ft gen col maj capt lt cmdr adm sgt cpl
    gov sen rep pres supt det insp amb
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
    inc ltd co corp bros llc plc dept univ assn assoc est govt
    ave blvd rd hwy bldg apt
    vs v etc e.g i.e eg ie cf viz al ca c approx esp fig figs eq eqs no nos vol vols pp p ch sec
    ed eds op cit ibid
    u.s u.k u.n u.s.a d.c l.a n.y ph.d m.d b.a m.a b.sc m.sc d.phil a.m p.m a.d b.c
""".split()  # noqa: SIM905

# Marks that end a sentence whatever follows, with the closing quotes and brackets behind them:
# scripts with marks of their own, often without spaces. A blank line ends a sentence too.
_HARD_END = re.compile(r"[。！？｡।॥؟۔։።။។]+[\"'”’»)\]）」』】》〉]*|\n[^\S\n]*(?=\n)")


# 'He said "Stop!" and left': what begins in lower case goes on, if only a quote or bracket closed.
_CLOSED = ('"', "'", "”", "’", "»", ")", "]")

_SEEN_IN_LOWER_CASE = 0b1110000
"""Punkt's flags for a word that began in lower case at the start, in the middle, or anywhere."""


class Sentence(NamedTuple):
    """A piece of a text without outer space; ``text`` is exactly ``text[start:end]``."""

    text: str
    start: int
    end: int


class SentenceSplitter:
    """Splits text where Punkt, with the given parameters, sees the end of a sentence."""

    def __init__(self, parameters: "PunktParameters") -> None:
        from nltk.tokenize.punkt import PunktSentenceTokenizer

        self._parameters = parameters
        self._punkt = PunktSentenceTokenizer(parameters)

    @classmethod
    def default(cls) -> "SentenceSplitter":
        """Knows common English abbreviations; initials and numbers need no list.

        >>> [s.text for s in SentenceSplitter.default().split("Mr. J. Doe came. He saw.")]
        ['Mr. J. Doe came.', 'He saw.']
        """
        return _default_splitter()

    @classmethod
    def train(cls, texts: Iterable[str]) -> "SentenceSplitter":
        """Learn abbreviations, sentence starters and collocations from running text.

        What is learned adds to what ``default`` knows. About 0.4 MB of text a second.
        """
        from nltk.tokenize.punkt import PunktTrainer

        trainer = PunktTrainer()
        trainer.train("\n\n".join(texts))
        parameters = trainer.get_params()
        parameters.abbrev_types.update(_ENGLISH_ABBREVIATIONS)
        # A word never seen in lower case is a name, learned from "St. Petersburg" and the like.
        parameters.sent_starters = {
            word
            for word in parameters.sent_starters
            if parameters.ortho_context[word] & _SEEN_IN_LOWER_CASE
        }
        return cls(parameters)

    def split(self, text: str) -> list[Sentence]:
        """Sentences of ``text`` in order; every character that is not space is in one of them."""
        spans: list[tuple[int, int]] = []
        for piece_start, piece_end in _hard_pieces(text):
            num_before = len(spans)
            for start, end in self._spans(text, piece_start, piece_end):
                start, end = _without_outer_space(text, start, end)
                if start == end:
                    continue
                if len(spans) > num_before and text[start].islower():
                    previous_start, previous_end = spans[-1]
                    if text[previous_end - 1] in _CLOSED:
                        spans.pop()
                        start = previous_start
                spans.append((start, end))
        return [Sentence(text[start:end], start, end) for start, end in spans]

    def _spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Punkt's sentences, found in windows: the last of a window is seen again in the next."""
        while stop - start > _WINDOW:
            spans = list(self._punkt.span_tokenize(text[start : start + _WINDOW]))
            end = spans[-1][0] if len(spans) > 1 else 0
            if not end:  # no end of a sentence in sight: cut at the last space, or anywhere
                end = max(map(text.rfind, " \n\t", [start + 1] * 3, [start + _WINDOW] * 3)) - start
                end = end if end > 0 else _WINDOW
                spans = [(0, end), (end, end)]
            for first, last in spans[:-1]:
                yield start + first, start + last
            start += end
        for first, last in self._punkt.span_tokenize(text[start:stop]):
            yield start + first, start + last

    def __reduce__(self) -> tuple[Any, ...]:  # to another process as plain values
        return SentenceSplitter.from_dict, (self.to_dict(),)

    def save(self, path: Path) -> None:
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: Path) -> "SentenceSplitter":
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"{path}: not the JSON of a sentence splitter ({error})") from None
        return cls.from_dict(values, str(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values in a fixed order, whatever the order of learning."""
        return {
            "version": _VERSION,
            "abbreviations": sorted(self._parameters.abbrev_types),
            "collocations": sorted(map(list, self._parameters.collocations)),
            "sentence_starters": sorted(self._parameters.sent_starters),
            "orthography": {
                word: flags
                for word, flags in sorted(self._parameters.ortho_context.items())
                if flags
            },
        }

    @classmethod
    def from_dict(cls, values: Any, where: str = "sentence splitter") -> "SentenceSplitter":
        from nltk.tokenize.punkt import PunktParameters

        parameters = PunktParameters()
        try:
            if values["version"] != _VERSION:
                raise InputError(
                    f"{where}: version {values['version']!r} of a sentence splitter, "
                    f"this elmokit reads version {_VERSION}"
                )
            parameters.abbrev_types.update(map(str, values["abbreviations"]))
            parameters.collocations.update((str(a), str(b)) for a, b in values["collocations"])
            parameters.sent_starters.update(map(str, values["sentence_starters"]))
            for word, flags in values["orthography"].items():
                parameters.ortho_context[str(word)] = int(flags)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{where}: not a sentence splitter ({error!r})") from None
        return cls(parameters)


@lru_cache(1)
def _default_splitter() -> SentenceSplitter:
    from nltk.tokenize.punkt import PunktParameters

    parameters = PunktParameters()
    parameters.abbrev_types.update(_ENGLISH_ABBREVIATIONS)
    return SentenceSplitter(parameters)


def _without_outer_space(text: str, start: int, end: int) -> tuple[int, int]:
    sentence = text[start:end].lstrip()
    start = end - len(sentence)
    return start, start + len(sentence.rstrip())


def _hard_pieces(text: str) -> Iterator[tuple[int, int]]:
    """Pieces between the marks that always end a sentence."""
    start = 0
    for match in _HARD_END.finditer(text):
        yield start, match.end()
        start = match.end()
    yield start, len(text)
