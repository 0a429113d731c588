"""Lines and rows of text files, with errors that name the file and the line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from elmokit.errors import InputError
from elmokit.recipe import parse_json
from elmokit.text.sources import read_lines


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, object) of a JSON-lines file; blank lines are skipped."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {number}: broken JSON ({error.msg}, column {error.colno})"
            ) from None
        if not isinstance(value, dict):
            raise InputError(f"{path}, line {number}: expected a JSON object, got {line[:40]!r}")
        yield number, value


def read_table(
    path: Path, columns: Mapping[str, Sequence[str]], default: Sequence[str]
) -> Iterator[tuple[int, dict[str, str]]]:
    """(number, row) of a tab-separated file, each row by the names in ``default``.

    ``columns``: the headings that each name may have. Without a heading, the columns must
    be those of ``default`` in that order.
    """
    places: dict[str, int] | None = None
    for number, line in read_lines(path):
        if not line.strip():
            continue
        fields = line.split("\t")
        if places is None:
            places = _heading(fields, columns, f"{path}, line {number}")
            if places:
                continue
            places = {name: place for place, name in enumerate(default)}
        if len(fields) <= max(places.values()):
            raise InputError(
                f"{path}, line {number}: {len(fields)} columns; expected, separated by tabs, "
                f"{', '.join(default)}, or a first line that names the columns"
            )
        yield number, {name: fields[place].strip() for name, place in places.items()}


def _heading(
    fields: Sequence[str], columns: Mapping[str, Sequence[str]], where: str
) -> dict[str, int]:
    """The column of each name, or nothing if this line is not a heading."""
    lowered = [field.strip().lower() for field in fields]
    places = {
        name: lowered.index(heading)
        for name, headings in columns.items()
        for heading in reversed(headings)  # of several, the first named wins
        if heading in lowered
    }
    missing = [name for name in columns if name not in places]
    if places and missing:  # as an example, it would be learned
        raise InputError(
            f"{where}: a heading with {lowered[min(places.values())]!r} but no {missing[0]}; "
            f"name that column {' or '.join(columns[missing[0]])}"
        )
    return places
