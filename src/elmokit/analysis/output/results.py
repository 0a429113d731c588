"""Results on disk: typed values to JSON and back, so that a report computes nothing twice.

FOLDER/results/NAME.json holds what an analysis returned, the command that reproduces it, and its
provenance (stored under "key").
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from elmokit.analysis.output.pictures import Picture, write_picture
from elmokit.analysis.output.tables import Table, print_tables
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.recipe import parse_json, to_plain

FORMER_NAMES = {"occurrences": "uses"}
"""Sections that were once stored under another name."""
FORMER_FIELDS = {"use": "occurrence", "uses": "occurrences"}
"""Fields that were once stored under another name."""


class Provenance(NamedTuple):
    """What a result was computed from; with equal provenance it need not be computed again."""

    name: str
    """Name of the section."""
    fingerprint: str
    """Fingerprint of the model."""
    settings: dict[str, Any]
    """Everything else that the section depends on, as plain values."""

    def as_key(self) -> str:
        """One line of JSON, as it is stored and compared."""
        return json.dumps(list(self), default=str, sort_keys=True)


class Stored(NamedTuple):
    """A result on disk."""

    name: str
    command: str
    """The command lines that reproduce it."""
    provenance: Provenance
    value: Any
    """Plain JSON values; ``from_plain`` restores their type."""
    cpu_seconds: float = 0.0
    """CPU time of the session that finished it."""


def result_path(folder: Path, name: str) -> Path:
    """Where a section's result is stored."""
    return folder / "results" / f"{name}.json"


def save_result(
    folder: Path, command: str, provenance: Provenance, result: Any, cpu_seconds: float = 0.0
) -> None:
    """Store what a section returned, under the name in its provenance."""
    values = {
        "name": provenance.name,
        "command": command,
        "key": provenance.as_key(),
        "value": to_plain(result),
        "cpu_seconds": round(cpu_seconds, 1),
    }
    write_json(result_path(folder, provenance.name), values)


def load_result(folder: Path, name: str) -> Stored | None:
    """The result stored under a name, or None."""
    path = result_path(folder, name)
    if not path.exists() and name in FORMER_NAMES:
        path = result_path(folder, FORMER_NAMES[name])
    if not path.exists():
        return None
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
        _, fingerprint, settings = parse_json(values["key"])
        provenance = Provenance(name, str(fingerprint), settings)
        cost = float(values.get("cpu_seconds", 0.0))
        return Stored(name, values["command"], provenance, _renamed(values["value"]), cost)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise InputError(
            f"{path}: not a stored result, or damaged ({error!r}); delete the file, and the report "
            f"computes it again"
        ) from None


def _renamed(value: Any) -> Any:
    """The same values with the current names of fields."""
    if isinstance(value, dict):
        return {FORMER_FIELDS.get(name, name): _renamed(item) for name, item in value.items()}
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def present(
    result: Any,
    tables: Sequence[Table],
    json_path: Path | None = None,
    picture_path: Path | None = None,
    draw: Callable[[], Picture] | None = None,
    markdown: bool = False,
) -> None:
    """Print the tables; write the result and its picture if asked, and say so.

    ``json_path``: ``-`` prints the result as JSON in place of the tables.
    """
    if json_path == Path("-"):
        print(json.dumps(to_plain(result), indent=2, ensure_ascii=False))
    else:
        print_tables(tables, markdown)
        if json_path is not None:
            write_json(json_path, to_plain(result))
            say_written(json_path)
    if picture_path is not None and draw is not None:
        write_picture(draw(), picture_path)
        say_written(picture_path)


def say_written(path: Path) -> None:
    """Tell the user, on standard error, which file a command has written."""
    print(f"wrote {path}", file=sys.stderr)
