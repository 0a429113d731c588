"""Entailment: SNLI's JSON lines, or premise, hypothesis and label separated by tabs."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from elmokit.errors import InputError
from elmokit.tasks.data.lines import read_json_lines, read_table
from elmokit.text.tokenize import words

NO_LABEL = "-"
"""SNLI's label for pairs on which the annotators disagreed; left out, as is common practice."""
_COLUMNS = {
    "premise": ("sentence1", "premise"),
    "hypothesis": ("sentence2", "hypothesis"),
    "label": ("gold_label", "label"),
}


class SentencePair(NamedTuple):
    """The tokens of a premise and of a hypothesis, and how they are related."""

    premise: tuple[str, ...]
    hypothesis: tuple[str, ...]
    label: str
    """Empty where it is not known."""


def read_entailment(path: Path) -> list[SentencePair]:
    """``*.jsonl`` and ``*.json`` are JSON lines, anything else is a table."""
    is_json = path.suffix in (".jsonl", ".json")
    return list(_read_json(path) if is_json else _read_rows(path))


def parse_pairs(lines: Iterable[str], where: str) -> Iterator[SentencePair]:
    """Premise, tab, hypothesis; tokenised here."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield SentencePair((), (), "")
            continue
        premise, tab, hypothesis = line.rstrip("\r\n").partition("\t")
        if not tab:
            raise InputError(f"{where}, line {number}: expected a premise, a tab and a hypothesis")
        yield _pair(premise, hypothesis.split("\t")[0], "")


def _read_json(path: Path) -> Iterator[SentencePair]:
    for number, row in read_json_lines(path):
        values = [row.get(name) for name in ("sentence1", "sentence2", "gold_label")]
        for name, value in zip(("sentence1", "sentence2", "gold_label"), values, strict=True):
            if not isinstance(value, str):
                raise InputError(f"{path}, line {number}: {name!r} is missing or not a string")
        premise, hypothesis, label = map(str, values)
        if label != NO_LABEL:
            yield _pair(premise, hypothesis, label)


def _read_rows(path: Path) -> Iterator[SentencePair]:
    for number, row in read_table(path, _COLUMNS, default=("premise", "hypothesis", "label")):
        if not row["label"] or len(row["label"].split()) > 3:
            raise InputError(
                f"{path}, line {number}: expected a label, got {row['label'][:60]!r}; give "
                "premise, hypothesis and label in this order, or name the columns in a first line"
            )
        if row["label"] != NO_LABEL:
            yield _pair(row["premise"], row["hypothesis"], row["label"])


def _pair(premise: str, hypothesis: str, label: str) -> SentencePair:
    return SentencePair(tuple(words(premise)), tuple(words(hypothesis)), label)
