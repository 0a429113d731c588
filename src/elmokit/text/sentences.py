# ruff: noqa: RUF001  the ambiguous characters are the point
"""RUNNING TEXT -> SENTENCES with character offsets, by the Punkt method (Kiss and Strunk 2006).

Punkt learns a language's abbreviations from running text alone, so a splitter can be trained on
the very corpus it is to split. What it learned is kept as JSON. Training needs NLTK, splitting
does not.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError, missing_extra
from elmokit.files import write_json
from elmokit.recipe import parse_json
from elmokit.text.punkt import SEEN_LOWER, PunktParameters, sentence_spans

_VERSION = 1
_WINDOW = 20_000
"""Characters Punkt sees at once, which bounds the length of a sentence."""

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


# 'He said "Stop!" and left': a lower-case start continues a sentence after a quote.
_CLOSED = ('"', "'", "”", "’", "»", ")", "]")


class SentenceSpan(NamedTuple):
    """A piece of a text without outer space; ``text`` is exactly ``text[start:end]``."""

    text: str
    start: int
    end: int


class SentenceSplitter:
    """Splits text where Punkt, with the given parameters, sees the end of a sentence."""

    def __init__(self, parameters: PunktParameters) -> None:
        self._parameters = parameters

    @classmethod
    def default(cls) -> "SentenceSplitter":
        """Knows common English abbreviations; initials and numbers need no list.

        >>> [s.text for s in SentenceSplitter.default().split("Mr. J. Doe came. He saw.")]
        ['Mr. J. Doe came.', 'He saw.']
        """
        return _DEFAULT

    @classmethod
    def train(cls, texts: Iterable[str]) -> "SentenceSplitter":
        """Learn abbreviations, sentence starters and collocations from running text.

        What is learned adds to what ``default`` knows. Needs NLTK, which learns from about
        0.4 MB of text per second.
        """
        try:
            from nltk.tokenize.punkt import PunktTrainer
        except ImportError:
            raise missing_extra("nltk", "pretrain", "training a sentence splitter") from None

        trainer = PunktTrainer()
        trainer.train("\n\n".join(texts))
        learned = trainer.get_params()
        orthography = {word: flags for word, flags in learned.ortho_context.items() if flags}
        return cls(
            PunktParameters(
                abbreviations=frozenset(learned.abbrev_types).union(_ENGLISH_ABBREVIATIONS),
                collocations=frozenset(learned.collocations),
                # Without names, which are never seen in lower case: learned from
                # "St. Petersburg" and the like.
                sentence_starters=frozenset(
                    word for word in learned.sent_starters if orthography.get(word, 0) & SEEN_LOWER
                ),
                orthography=orthography,
            )
        )

    def split(self, text: str) -> list[SentenceSpan]:
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
        return [SentenceSpan(text[start:end], start, end) for start, end in spans]

    def _spans(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Punkt's sentences, found in windows: the last of a window is seen again in the next.

        Two windows get over half a window at least, so that no text is seen many times. Only
        text with runs of that length without a space is cut where Punkt sees no end.
        """
        advance = _WINDOW
        while stop - start > _WINDOW:
            window = text[start : start + _WINDOW]
            spans = list(sentence_spans(window, self._parameters))
            least = 1 if advance >= _WINDOW // 2 else _WINDOW // 2
            advance = spans[-1][0] if len(spans) > 1 else 0
            if advance < least:  # no end of a sentence in sight: cut at the last space, or anywhere
                advance = max(window.rfind(space, 1) for space in " \n\t")
                advance = advance if advance >= least else _WINDOW
                spans = [(0, advance), (advance, advance)]
            for first, last in spans[:-1]:
                yield start + first, start + last
            start += advance
        for first, last in sentence_spans(text[start:stop], self._parameters):
            yield start + first, start + last

    def save(self, path: Path) -> None:
        """Write ``to_dict`` to a JSON file."""
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: Path) -> "SentenceSplitter":
        """Read a file that ``save`` wrote."""
        try:
            values = parse_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path}: not the JSON of a sentence splitter ({error})") from None
        return cls.from_dict(values, str(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values in a fixed order, whatever the order of learning."""
        learned = self._parameters
        return {
            "version": _VERSION,
            "abbreviations": sorted(learned.abbreviations),
            "collocations": sorted(map(list, learned.collocations)),
            "sentence_starters": sorted(learned.sentence_starters),
            "orthography": dict(sorted(learned.orthography.items())),
        }

    @classmethod
    def from_dict(cls, values: Any, where: str = "sentence splitter") -> "SentenceSplitter":
        """The splitter whose ``to_dict`` is ``values``; errors begin with ``where``."""
        try:
            version = values["version"]
            if version == _VERSION:
                return cls(_read_parameters(values))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{where}: not a sentence splitter ({error!r})") from None
        raise InputError(
            f"{where}: version {version!r} of a sentence splitter, "
            f"this elmokit reads version {_VERSION}; train the splitter again"
        )


_DEFAULT = SentenceSplitter(PunktParameters(abbreviations=frozenset(_ENGLISH_ABBREVIATIONS)))


def _read_parameters(values: Any) -> PunktParameters:
    return PunktParameters(
        abbreviations=frozenset(map(str, values["abbreviations"])),
        collocations=frozenset((str(a), str(b)) for a, b in values["collocations"]),
        sentence_starters=frozenset(map(str, values["sentence_starters"])),
        orthography={
            str(word): int(flags) for word, flags in values["orthography"].items() if int(flags)
        },
    )


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
