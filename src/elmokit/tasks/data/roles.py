"""Semantic roles from CoNLL columns: one example per predicate, its arguments as BIO tags.

Three layouts are recognised, all with one column of brackets per predicate:

    CoNLL-2012  #begin document lines; word in column 4, lemma 7, frameset 8, predicates from
                column 12 on, coreference last
    PropBank    file, sentence, token, word, POS, parse, lemma, roleset, predicates from column 9 on
    CoNLL-2005  word first; the column of target verbs comes just before the predicates' columns
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.text.sources import read_lines

EMPTY = "-"
"""What a target column holds where the token is no predicate."""


class RoleExample(NamedTuple):
    """One predicate of one sentence."""

    tokens: tuple[str, ...]
    predicate: int
    """The token that is the predicate."""
    tags: tuple[str, ...] | None
    """BIO tags of its arguments, the predicate's own span V; None where they are not known."""


class _Row(NamedTuple):
    line: int
    fields: list[str]


class _Layout(NamedTuple):
    name: str
    word: int
    target: int
    num_before: int  # columns before the predicates' columns
    num_after: int  # columns after them


CONLL_2012 = _Layout("CoNLL-2012", word=3, target=7, num_before=11, num_after=1)
PROPBANK = _Layout("PropBank", word=3, target=7, num_before=8, num_after=0)


def read_roles(path: Path) -> list[RoleExample]:
    """Every predicate of every sentence of ``path``; a sentence without predicates gives none."""
    return _read_columns(read_lines(path), str(path))


def parse_roles(lines: Iterable[str], where: str) -> Iterator[RoleExample]:
    """One sentence per line, tokens between spaces, predicates marked: ``She _gave_ it up .``

    Columns with tabs, or after a ``#begin document``, are read as ``read_roles`` reads them; their
    arguments are left out.
    """
    numbered = enumerate((line.rstrip("\r\n") for line in lines), start=1)
    for number, line in numbered:
        if "\t" in line or line.startswith("#begin document"):
            columns = _read_columns(chain([(number, line)], numbered), where)
            yield from (example._replace(tags=None) for example in columns)
            return
        tokens = line.split()
        if not tokens:
            yield RoleExample((), 0, None)
            continue
        marked = [place for place, token in enumerate(tokens) if _MARKED.fullmatch(token)]
        if not marked:
            raise InputError(
                f"{where}, line {number}: no predicate is marked; put underscores around each, "
                f"as in: She _gave_ it up ."
            )
        plain = tuple(
            token[1:-1] if place in marked else token for place, token in enumerate(tokens)
        )
        for predicate in marked:
            yield RoleExample(plain, predicate, None)


_MARKED = re.compile(r"_[^_]+_")


def _read_columns(lines: Iterable[tuple[int, str]], where: str) -> list[RoleExample]:
    sentences = list(_sentences(lines, where))
    if not sentences:
        return []
    layout = _recognise(sentences, where)
    return [example for rows in sentences for example in _examples(rows, layout, where)]


def _sentences(lines: Iterable[tuple[int, str]], where: str) -> Iterator[list[_Row]]:
    rows: list[_Row] = []
    for number, line in lines:
        if line.startswith(("#begin document", "#end document")):
            continue
        fields = _fields(line)
        if fields:
            if rows and len(fields) != len(rows[0].fields):
                raise InputError(
                    f"{where}, line {number}: {len(fields)} columns, but the sentence's first "
                    f"line has {len(rows[0].fields)}; every line of a sentence needs the same "
                    f"number"
                )
            rows.append(_Row(number, fields))
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def _fields(line: str) -> list[str]:
    if not line.strip():
        return []
    # A tab separates where there is one: a word of the web may hold a no-break space.
    return line.split("\t") if "\t" in line else line.split()


def _recognise(sentences: list[list[_Row]], where: str) -> _Layout:
    """The layout in which every sentence has as many columns of arguments as predicates."""
    narrowest = min(len(rows[0].fields) for rows in sentences)
    is_numbered = all(
        len(row.fields) > 3 and row.fields[2].isdecimal() for row in sentences[0]
    )  # the third column counts the tokens
    if is_numbered:
        candidates = [CONLL_2012, PROPBANK]
    else:
        candidates = [
            _Layout("CoNLL-2005", word=0, target=width - 1, num_before=width, num_after=0)
            for width in range(narrowest, 1, -1)
        ]
    complaints = [_complaint(sentences, layout) for layout in candidates]
    for layout, complaint in zip(candidates, complaints, strict=True):
        if complaint is None:
            return layout
    # The layout that held the longest is the one that was meant.
    latest = max((complaint for complaint in complaints if complaint), default=None)
    if latest is None:
        raise InputError(f"{where}: {narrowest} column is too few for semantic roles")
    raise InputError(f"{where}, line {latest[0]}: {latest[1]}")


def _complaint(sentences: list[list[_Row]], layout: _Layout) -> tuple[int, str] | None:
    for rows in sentences:
        width = len(rows[0].fields)
        num_columns = width - layout.num_before - layout.num_after
        if num_columns < 0:
            expected = layout.num_before + layout.num_after
            return rows[0].line, f"{width} columns; {layout.name} has at least {expected}"
        num_predicates = sum(row.fields[layout.target] != EMPTY for row in rows)
        if num_predicates != num_columns:
            return rows[0].line, (
                f"the sentence has {num_predicates} predicates in column {layout.target + 1} but "
                f"{num_columns} columns of arguments ({layout.name} layout)"
            )
    return None


def _examples(rows: list[_Row], layout: _Layout, where: str) -> Iterator[RoleExample]:
    tokens = tuple(row.fields[layout.word] for row in rows)
    targets = [place for place, row in enumerate(rows) if row.fields[layout.target] != EMPTY]
    for number, target in enumerate(targets):
        column = layout.num_before + number
        tags = _bio_tags([(row.line, row.fields[column]) for row in rows], column, where)
        # A few files mark the roleset beside the verb it belongs to: the V span is the truth.
        predicate = tags.index("B-V") if "B-V" in tags else target
        yield RoleExample(tokens, predicate, tags)


_BRACKET = re.compile(r"(?:\((?P<label>[^()*\s]+))?\*(?P<end>[^()*\s]*\))?")


def _bio_tags(cells: Sequence[tuple[int, str]], column: int, where: str) -> tuple[str, ...]:
    """Brackets ``(A0* * *)`` -> B-A0 I-A0 I-A0."""
    tags: list[str] = []
    label, opened = "", 0
    for line, cell in cells:
        place = f"{where}, line {line}, column {column + 1}"
        match = _BRACKET.fullmatch(cell)
        if match is None:
            raise InputError(f"{place}: {cell!r} is no bracket such as (ARG0*, * or *)")
        opens = match["label"]
        if opens and label:
            raise InputError(
                f"{place}: {opens} opens inside {label}, which opened in line {opened}; "
                f"arguments of one predicate must not nest"
            )
        if opens:
            label, opened = opens, line
            tags.append(f"B-{label}")
        else:
            tags.append(f"I-{label}" if label else "O")
        if match["end"]:
            if not label:
                raise InputError(f"{place}: {cell!r} closes an argument that never opened")
            label = ""
    if label:
        raise InputError(
            f"{where}, line {opened}, column {column + 1}: {label} opens and is never closed"
        )
    return tuple(tags)
