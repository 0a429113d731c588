"""Results on disk: typed values as JSON and back, so that a report is never computed twice.

FOLDER/results/NAME.json holds what an analysis returned, the command, and a key that says what it
was made of.
"""

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from elmokit.analysis.pictures import Picture, write_picture
from elmokit.analysis.tables import Table
from elmokit.errors import InputError
from elmokit.files import write_json

T = TypeVar("T")


class Stored(NamedTuple):
    """An analysis that was done."""

    name: str
    command: str
    key: str
    value: Any
    """Plain JSON values; ``rebuild`` gives them their type again."""
    cpu_seconds: float = 0.0
    """Of the sitting that finished it."""


def save_result(
    folder: Path, name: str, command: str, key: str, result: Any, cpu_seconds: float = 0.0
) -> None:
    stored = Stored(name, command, key, plain(result), round(cpu_seconds, 1))
    write_json(folder / "results" / f"{name}.json", stored._asdict())


def load_result(folder: Path, name: str) -> Stored | None:
    """What was stored under a name, if anything."""
    path = folder / "results" / f"{name}.json"
    if not path.exists():
        return None
    try:
        return Stored(**json.loads(path.read_text(encoding="utf-8")))
    except (json.JSONDecodeError, TypeError) as error:
        raise InputError(f"{path}: not a stored result ({error}); delete it") from None


def present(
    result: Any,
    tables: Sequence[Table],
    json_path: Path | None = None,
    picture_path: Path | None = None,
    draw: Callable[[], Picture] | None = None,
) -> None:
    """Print the tables; write the result and its picture where that was asked for."""
    for table in tables:
        print(table.markdown())
    if json_path is not None:
        write_json(json_path, plain(result))
    if picture_path is not None and draw is not None:
        write_picture(draw(), picture_path)


def plain(value: Any) -> Any:
    """Dataclasses and named tuples as dicts, arrays as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(getattr(value, name)) for name in value._fields}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


def rebuild(kind: type[T], value: Any) -> T:
    """The inverse of ``plain``, by the type's annotations.

    >>> rebuild(Stored, plain(Stored("pos", "elmokit analyse pos", "1", [2]))).value
    [2]
    """
    return typing.cast(T, _rebuild(kind, value))


def _rebuild(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or value is None:
        return value
    if origin in (typing.Union, types.UnionType):
        return _rebuild(next(a for a in arguments if a is not type(None)), value)
    if origin is np.ndarray:
        return np.array(value)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return tuple(_rebuild(arguments[0], item) for item in value)
        return tuple(_rebuild(a, item) for a, item in zip(arguments, value, strict=True))
    if origin is list:
        return [_rebuild(arguments[0], item) for item in value]
    if origin is dict:
        return {name: _rebuild(arguments[1], item) for name, item in value.items()}
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        hints = typing.get_type_hints(hint)
        return hint(**{name: _rebuild(hints[name], item) for name, item in value.items()})
    return value
