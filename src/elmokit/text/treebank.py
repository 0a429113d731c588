# ruff: noqa: RUF001  the ambiguous characters are the point
"""ONE RUN WITHOUT SPACES -> WORDS, by the rules of the Penn Treebank.

The rules give the words of NLTK 3.10's ``NLTKWordTokenizer``, the descendant of Robert
MacIntyre's sed script, and know the punctuation of more scripts. NLTK rewrites a sentence with
some 25 regular expressions in turn. They only ever insert spaces, so here each rule adds the
places where a run is cut:

1. marks stand alone; dots, hyphens, quotes and commas depend on how many there are;
2. the period at the end of a sentence comes off, also in front of closing quotes and brackets;
3. an opening quote comes off: ``'word``;
4. clitics come off in front of a cut: ``Ann's``, ``we're``, ``don't``;
5. a few words are two: ``cannot``, ``gonna``.

The order matters where one rule makes room for the next. All of it is linear in the length of
the run, for any run; NLTK gives up after five seconds on the clock.
"""

import re
import unicodedata

_STANDS_ALONE = (
    ";@#$%&?!*[](){}<>"
    "«“‘„»”\"‚‹›"
    "‒–—―…"
    "、，：؛；・׃؟。！？｡।॥۔։።။។¿¡"
    "「『（【《〈［｛」』）】》〉］｝"
)  # fmt: skip
_COMMAS = ":,،"
"""Come off except in front of a digit: 10:30 and 1,000 stay whole."""
_APOSTROPHES = "'’"
"""The curly one is an apostrophe between letters and a closing quote elsewhere."""

_MARKS = re.compile(rf"[{re.escape(_STANDS_ALONE)}]|[{_COMMAS}]+|\.{{2,}}|-{{2,}}|`+|'+|’")
_CLOSERS = frozenset("])}>'»”’\"›」』）】》〉］｝")
_CUT_LATE = frozenset('*[](){}<>»”’"›-「『（【《〈［｛」』）】》〉］｝')
"""Marks that come off after closing apostrophes: ``Ann's'?`` loses its ``'s``, ``Ann's')`` not."""

_CLITICS = frozenset(["re", "ve", "ll", "m", "t", "s", "ſ", "d", "n"])
"""An apostrophe in front of one of these (in any case) opens no quote, as in ``'s``."""
_SHORT_CLITICS = frozenset("sSmMdD")
_LONG_CLITICS = frozenset(["ll", "LL", "re", "RE", "ve", "VE"])
_NEGATIONS = frozenset(["nt", "NT"])

_TWO_WORDS = re.compile(
    r"(?<!\w)(?:(can)not|(d)['’]ye|(gim)me|(gon)na|(got)ta|(lem)me|(more)['’]n|(wan)na)",
    re.IGNORECASE,
)
_TIS_AND_TWAS = re.compile(r"['’]tis", re.IGNORECASE), re.compile(r"['’]twas", re.IGNORECASE)

_WORD_CATEGORIES = frozenset(
    ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"],
)
_JOINERS = "\u200c\u200d"
_LETTERS_IN_CIRCLES = re.compile("[Ⓐ-ⓩ🄰-🅉🅐-🅩🅰-🆉]")


def split_run(run: str, is_final: bool) -> tuple[str, ...]:
    """The words of ``run``, which holds no space; joined, they are ``run`` again.

    Args:
        run: characters between two spaces, at least one.
        is_final: whether the sentence ends with this run, so that its last period comes off.

    >>> split_run("(can't.)", is_final=True)
    ('(', 'ca', "n't", '.', ')')
    """
    cuts: set[int] = set()
    apostrophes = _cut_at_marks(run, cuts)
    if is_final:
        _cut_off_final_period(run, cuts)
    if apostrophes:
        cuts.update([place + 1 for place in apostrophes if _opens_quote(run, place)])
        _cut_off_clitics(run, [place for place in apostrophes if place > 0], is_final, cuts)
    _cut_in_two(run, cuts)
    cuts -= {0, len(run)}
    if not cuts:
        return (run,)
    places = sorted(cuts)
    return tuple(map(run.__getitem__, map(slice, [0, *places], [*places, len(run)])))


def is_word_character(character: str) -> bool:
    """Whether Unicode counts a character among those of words: letters, marks, digits, ``_``.

    Unlike ``\\w`` of Python's ``re``: an accent of its own (U+0301) is one, ``½`` is not.
    """
    if character.isascii():
        return character.isalnum() or character == "_"
    return (
        unicodedata.category(character) in _WORD_CATEGORIES
        or character in _JOINERS
        or _LETTERS_IN_CIRCLES.match(character) is not None
    )


def _cut_at_marks(run: str, cuts: set[int]) -> list[int]:
    """Cut around marks; return the apostrophes that may belong to a word."""
    apostrophes = []
    for found in _MARKS.finditer(run):
        start, end = found.span()
        mark = run[start]
        if mark in _COMMAS:
            _cut_at_commas(run, start, end, cuts)
        elif mark == "`":
            cuts.update(range(start, end, 2))
            cuts.add(end)
        elif mark == "-":  # pairs from the left: "---a" is "--" and "-a"
            cuts.update(range(start, end + 1, 2))
        elif mark == "'":
            if end - start > 1:  # pairs from the left, as hyphens
                cuts.update(range(start, end + 1, 2))
            if (end - start) % 2:
                apostrophes.append(end - 1)
        elif mark == "’" and _is_between_letters(run, start):
            apostrophes.append(start)
        else:
            cuts.update((start, end))
    return apostrophes


def _cut_at_commas(run: str, start: int, end: int, cuts: set[int]) -> None:
    """Commas and colons: the rule takes them in pairs, so the last of an even number stays."""
    is_odd = (end - start) % 2
    cuts.update(range(start, end - is_odd))
    if is_odd and (end == len(run) or not run[end].isdecimal()):
        cuts.update((end - 1, end))


def _cut_off_final_period(run: str, cuts: set[int]) -> None:
    """The last period, if nothing but closing quotes and brackets follows: ``so.)`` ends in it."""
    place = run.rfind(".")
    if place > 0 and run[place - 1] != "." and _CLOSERS.issuperset(run[place + 1 :]):
        cuts.update((place, place + 1))


def _is_between_letters(run: str, place: int) -> bool:
    before, after = run[max(place - 1, 0) : place], run[place + 1 : place + 2]
    return all(side.isalnum() or side == "_" for side in (before, after))


def _opens_quote(run: str, place: int) -> bool:
    """``'word``: an apostrophe at the beginning of a word that is no clitic."""
    after = place + 1
    if after == len(run) or not is_word_character(run[after]):
        return False
    if place > 0 and is_word_character(run[place - 1]):
        return False
    for end in (after + 1, after + 2):
        is_whole = end >= len(run) or not is_word_character(run[end])
        if is_whole and run[after:end].lower() in _CLITICS:
            return False
    return True


def _cut_off_clitics(run: str, apostrophes: list[int], is_final: bool, cuts: set[int]) -> None:
    """Closing apostrophes, then possessives and one-letter clitics, then the longer ones.

    Each kind takes one pass from the left and comes off only in front of a cut that is already
    there: ``she'd's`` becomes ``she'd`` and ``'s``, and no more.
    """
    length = len(run)
    for place in apostrophes:
        end = place + 1
        if not is_final if end == length else end in cuts and run[end] not in _CUT_LATE:
            cuts.add(place)
    for place in apostrophes:
        end = place + 1
        is_possessive = end == length or end in cuts
        if not is_possessive and run[end] in _SHORT_CLITICS:
            is_possessive = end + 1 == length or end + 1 in cuts
        if is_possessive:
            cuts.add(place)
    for place in apostrophes:
        end = place + 3
        if (end == length or end in cuts) and run[place + 1 : end] in _LONG_CLITICS:
            cuts.add(place)
        end = place + 2
        if (
            (end == length or end in cuts)
            and run[place - 1] + run[place + 1] in _NEGATIONS
            and place > 1
            and run[place - 2] not in _APOSTROPHES
        ):
            cuts.add(place - 1)


def _cut_in_two(run: str, cuts: set[int]) -> None:
    """``cannot``, ``gonna`` and the like; ``'tis`` only after one of them, as in NLTK."""
    for found in _TWO_WORDS.finditer(run):
        start, end = found.span()
        is_wanna = found.lastindex == _TWO_WORDS.groups
        if not _ends_word(run, end, cuts) or (is_wanna and end < len(run) and end not in cuts):
            continue
        cuts.update((start, found.end(found.lastindex or 0), end))
        for pattern in _TIS_AND_TWAS:
            behind = pattern.match(run, end)
            if behind and _ends_word(run, behind.end(), cuts):
                cuts.update((end + 2, behind.end()))
                end = behind.end()


def _ends_word(run: str, place: int, cuts: set[int]) -> bool:
    if place == len(run) or place in cuts:
        return True
    return not (run[place].isalnum() or run[place] == "_")
