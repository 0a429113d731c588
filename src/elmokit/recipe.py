"""TOML, ``--set`` and JSON <-> dataclasses: how every setting and every stored result is read.

Recipes of pretraining and of tasks, models' configs and the results of analyses are all plain
values in files and frozen dataclasses (or named tuples) in memory.
"""

import dataclasses
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar

from elmokit.errors import InputError, reason_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

RECIPES = Path(__file__).parent / "recipes"
"""The recipes that come with elmokit."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not TOML ({reason_of(error)})") from None


def parse_json(text: str | bytes) -> Any:
    """The value of untrusted JSON; any problem with it is a JSONDecodeError, a ValueError.

    Deep nesting and huge numbers do not break the parser.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise json.JSONDecodeError("its brackets nest too deeply", "", 0) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:  # an integer of too many digits
        raise json.JSONDecodeError(str(error), "", 0) from None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file that somebody else may have written, such as a model's config."""
    if not path.is_file():  # reading a pipe would block
        raise InputError(f"{path}: there is no such file")
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file ({error}); download it again") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: expected a JSON object, got {type(values).__name__}")
    return values


def apply_setting(values: dict[str, Any], setting: str) -> None:
    """Put ``table.name=value`` into nested tables; the value is TOML, or else a plain word.

    TOML has no null: the word ``none`` stands for it where a setting may be None.

    >>> values = {"fit": {"seed": 1}}
    >>> apply_setting(values, "fit.seed=2"); apply_setting(values, "elmo.where=both"); values
    {'fit': {'seed': 2}, 'elmo': {'where': 'both'}}
    """
    key, equals, text = setting.partition("=")
    names = [name.strip() for name in key.split(".")]
    if not equals or len(names) < 2 or not all(names):
        raise InputError(f"--set {setting}: write it as TABLE.NAME=VALUE, as in train.seed=2")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text.strip()
    for name in names[:-1]:
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise InputError(f"--set {setting}: {name} is not a table")
    values[names[-1]] = value


def to_plain(value: Any) -> Any:
    """Dataclasses and named tuples as dicts, tuples and arrays as lists: what JSON can hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_plain(getattr(value, name)) for name in value._fields}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: to_plain(item) for name, item in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of NumPy, which is not imported for this
        return value.tolist()
    return value


def from_plain(kind: type[T], value: Any, where: str) -> T:
    """The inverse of ``to_plain``, by the type's annotations; ``where`` names the file in errors.

    >>> class Point(typing.NamedTuple):
    ...     x: float
    ...     names: tuple[str, ...]
    >>> from_plain(Point, {"x": 1, "names": ["a"]}, "points.json")
    Point(x=1.0, names=('a',))
    """
    return typing.cast(T, _convert(kind, value, where))


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        is_none = value is None or (value == "none" and str not in arguments)
        if is_none and type(None) in arguments:
            return None
        return _convert(next(a for a in arguments if a is not type(None)), value, where)
    if origin is Literal:
        if value not in arguments:
            known = ", ".join(map(repr, arguments))
            raise InputError(f"{where} must be one of {known}; got {value!r}")
        return value
    if isinstance(origin, type) and origin.__module__ == "numpy":
        import numpy as np

        return np.array(value)
    if origin in (tuple, list):
        return _convert_sequence(origin, arguments, value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a table, got {value!r}")
        return {
            name: _convert(arguments[1], item, f"{where}: {name}") for name, item in value.items()
        }
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        return _build(hint, value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise InputError(f"{where} is too large a number: {value!r}") from None
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise InputError(f"{where} must be {hint.__name__}, got {value!r}")
    return value


def _convert_sequence(
    origin: Any, arguments: tuple[Any, ...], value: Any, where: str
) -> tuple[Any, ...] | list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{where} must be a list, got {value!r}")
    if origin is list:
        return [_convert(arguments[0], item, where) for item in value]
    if arguments[-1] is Ellipsis:
        return tuple(_convert(arguments[0], item, where) for item in value)
    if len(arguments) != len(value):
        raise InputError(f"{where} must have {len(arguments)} values, got {value!r}")
    return tuple(_convert(a, item, where) for a, item in zip(arguments, value, strict=True))


def _build(kind: Any, values: Any, where: str) -> Any:
    """A dataclass or a named tuple from a table of its fields."""
    if not isinstance(values, dict):
        raise InputError(f"{where}: expected a table of settings, got {values!r}")
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    known = {field.name for field in fields} or set(kind._fields)
    for name in values:
        if name not in known:
            raise InputError(
                f"{where}: unknown setting {name!r}; known are {', '.join(sorted(known))}"
            )
    converted = {
        name: _convert(hints[name], value, f"{where}: {name}") for name, value in values.items()
    }
    try:
        return kind(**converted)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except TypeError as error:
        raise InputError(f"{where}: {str(error).split('() ')[-1]}") from None
