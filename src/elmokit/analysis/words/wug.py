"""Word usages as DURel and the Word Usage Graphs store them: tab-separated, one usage per row.

    uses.csv       lemma pos date grouping identifier description context
                   indexes_target_token indexes_target_sentence
    clusters.csv   identifier cluster

Offsets are START:END in characters of ``context``. Despite their suffix, these files use tabs and
no quotes (https://www.ims.uni-stuttgart.de/data/wugs).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.analysis.words.occurrences import Occurrence
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.pretrain.corpus.documents import TEXT_SUFFIXES
from elmokit.text.sources import read_lines
from elmokit.text.tokenize import Token, align, tokenize

USES_HEADER = (
    "lemma", "pos", "date", "grouping", "identifier", "description", "context",
    "indexes_target_token", "indexes_target_sentence",
)  # fmt: skip
CLUSTERS_HEADER = ("identifier", "cluster")
USES_FILES = frozenset({"uses.csv", "uses.tsv"})
NOTHING = "-"
NO_CLUSTER = "-1"


class Usage(NamedTuple):
    """An occurrence of a word and its origin."""

    lemma: str
    grouping: str
    """The period or corpus it belongs to."""
    identifier: str
    occurrence: Occurrence
    pos: str = NOTHING
    date: str = NOTHING
    description: str = NOTHING


def plain_origins(usages: Sequence[Usage]) -> list[dict[str, Any]]:
    """What JSON can hold of usages whose sentences stand beside them: all but the occurrence."""
    return [
        {name: value for name, value in usage._asdict().items() if name != "occurrence"}
        for usage in usages
    ]


def write_uses(path: Path, usages: Iterable[Usage]) -> None:
    """One row per usage; its context is the sentence, tokens separated by spaces."""
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8", newline="\n") as file:
        print(*USES_HEADER, sep="\t", file=file)
        for usage in usages:
            tokens, place = usage.occurrence
            start = sum(len(token) + 1 for token in tokens[:place])
            context = " ".join(tokens)
            target = f"{start}:{start + len(tokens[place])}"
            print(
                usage.lemma, usage.pos, usage.date, usage.grouping, usage.identifier,
                usage.description, context, target, f"0:{len(context)}", sep="\t", file=file,
            )  # fmt: skip


def write_clusters(path: Path, identifiers: Sequence[str], labels: Iterable[int | str]) -> None:
    """Which cluster each usage is in."""
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8", newline="\n") as file:
        print(*CLUSTERS_HEADER, sep="\t", file=file)
        for identifier, label in zip(identifiers, labels, strict=True):
            print(identifier, label, sep="\t", file=file)


def is_uses_file(path: Path) -> bool:
    """Whether the file begins like a file of usages."""
    if not path.is_file() or path.suffix not in (".csv", ".tsv"):
        return False
    first = next((line for _, line in read_lines(path)), "")
    return {"identifier", "context", "indexes_target_token"} <= set(first.split("\t"))


def is_uses_folder(path: Path) -> bool:
    """Whether a folder holds files of usages, at any depth, and no text."""
    names = [each.name for each in path.rglob("*") if not each.name.startswith(".")]
    has_text = any(name.lower().endswith(TEXT_SUFFIXES) for name in names)
    return not has_text and not USES_FILES.isdisjoint(names)


def read_uses(path: Path) -> list[Usage]:
    """The usages of a file, or of all uses.csv below a folder (data/LEMMA/uses.csv)."""
    if path.is_dir():
        files = sorted(file for name in USES_FILES for file in path.rglob(name))
        if not files:
            raise InputError(f"{path}: there is no uses.csv below this folder")
        return [usage for file in files for usage in read_uses(file)]
    lines = read_lines(path)
    _, first = next(lines, (1, ""))
    header = first.split("\t")
    for name in ("lemma", "grouping", "identifier", "context", "indexes_target_token"):
        if name not in header:
            raise InputError(f"{path}: not a DURel file of usages: it has no column {name!r}")
    return [_usage(line, header, f"{path}: line {number}") for number, line in lines if line]


def read_clusters(path: Path) -> dict[str, str]:
    """The cluster of each identifier; annotators give ``NO_CLUSTER`` to what they cannot place."""
    lines = read_lines(path)
    _, first = next(lines, (1, ""))
    if first.split("\t")[:2] != list(CLUSTERS_HEADER):
        raise InputError(f"{path}: expected the columns {' and '.join(CLUSTERS_HEADER)}")
    found = {}
    for number, line in lines:
        fields = line.split("\t")
        if line and len(fields) < 2:
            raise InputError(f"{path}: line {number}: expected an identifier and a cluster")
        if line:
            found[fields[0]] = fields[1]
    return found


def _usage(line: str, header: list[str], where: str) -> Usage:
    fields = line.split("\t")
    if len(fields) != len(header):
        raise InputError(f"{where}: {len(fields)} columns, but the header has {len(header)}")
    row = dict(zip(header, fields, strict=True))
    context = row["context"]
    start, end = _span(row["indexes_target_token"], context, where)
    whole = row.get("indexes_target_sentence", "")
    first, last = _span(whole, context, where) if ":" in whole else (0, len(context))
    if not first <= start < end <= last:
        first, last = 0, len(context)
    occurrence = _occurrence(context[first:last], start - first, end - first, where)
    optional = {name: row[name] for name in ("pos", "date", "description") if name in row}
    return Usage(row["lemma"], row["grouping"], row["identifier"], occurrence, **optional)


def _span(text: str, context: str, where: str) -> tuple[int, int]:
    start, _, end = text.strip().partition(":")
    if start.isdigit() and end.isdigit() and int(start) < int(end) <= len(context):
        return int(start), int(end)
    raise InputError(f"{where}: {text!r} is not a START:END within the context")


def _occurrence(sentence: str, start: int, end: int, where: str) -> Occurrence:
    """The token that contains the first character of the target; pretokenized text is kept."""
    is_tokenised = " ." in sentence or " ," in sentence
    tokens = _at_spaces(sentence) if is_tokenised else tokenize(sentence)
    overlaps = align(tokens, [(start, end)])
    if not overlaps:
        raise InputError(f"{where}: there is no token at characters {start} to {end}")
    return Occurrence([token.text for token in tokens], overlaps[0].ours)


def _at_spaces(sentence: str) -> list[Token]:
    tokens, end = [], 0
    for text in sentence.split():
        start = sentence.index(text, end)
        end = start + len(text)
        tokens.append(Token(text, start, end))
    return tokens
