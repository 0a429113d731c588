"""Whatever a public call takes or returns can be imported from elmokit."""

import ast
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib import import_module

import numpy as np
import pytest

import elmokit


def classes_in(hint: object) -> Iterator[type]:
    """Classes of elmokit inside a type hint."""
    if isinstance(hint, type) and hint.__module__.startswith("elmokit"):
        yield hint
    for argument in typing.get_args(hint):
        yield from classes_in(argument)


def is_alias(value: object) -> bool:
    """Whether a value is a composed type such as ``str | Path``, and no array of NumPy."""
    return typing.get_origin(value) not in (None, np.ndarray)


def public_functions(value: object) -> Iterator[tuple[str, types.FunctionType]]:
    if isinstance(value, types.FunctionType):
        yield value.__name__, value
    elif isinstance(value, type):
        if issubclass(value, tuple):  # the fields of a NamedTuple
            yield value.__name__, value.__new__
        for name, member in vars(value).items():
            if name.startswith("_") and name != "__init__":
                continue
            member = member.fget if isinstance(member, property) else member
            member = getattr(member, "__func__", member)
            if isinstance(member, types.FunctionType):
                yield f"{value.__name__}.{name}", inspect.unwrap(member)


def test_types_of_public_calls_are_exported() -> None:
    exported = {getattr(elmokit, name) for name in elmokit.__all__}
    missing = {
        f"{where}: {found.__name__}"
        for value in exported
        for where, function in public_functions(value)
        for hint in typing.get_type_hints(function).values()
        for found in classes_in(hint)
        if found not in exported
    }
    assert not missing, "\n".join(sorted(missing))


def annotations_of(value: object) -> Iterator[ast.expr]:
    """The type hints of a function, or of a class's public methods and fields, as written."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    members = definition.body if isinstance(definition, ast.ClassDef) else [definition]
    for member in members:
        if isinstance(member, ast.AnnAssign) and not ast.unparse(member.target).startswith("_"):
            yield member.annotation
        if isinstance(member, ast.FunctionDef) and re.match(r"__init__$|[^_]", member.name):
            every = ast.walk(member.args)
            hints = [one.annotation for one in every if isinstance(one, ast.arg)]
            yield from (hint for hint in (*hints, member.returns) if hint is not None)


def aliases_in(value: object) -> Iterator[tuple[str, object]]:
    """Our type aliases in the hints of a public name: their names and what they stand for."""
    if not isinstance(value, type | types.FunctionType):
        return
    known = vars(sys.modules[value.__module__])
    for hint in annotations_of(value):
        for node in ast.walk(hint):
            if isinstance(node, ast.Name) and is_alias(known.get(node.id)):
                yield node.id, known[node.id]


def test_type_aliases_in_public_signatures_are_exported() -> None:
    missing = {
        f"{public}: {name}"
        for public in elmokit.__all__
        for name, alias in aliases_in(getattr(elmokit, public))
        if name not in elmokit.__all__ or getattr(elmokit, name) != alias
    }
    assert not missing, "\n".join(sorted(missing))


def test_every_public_name_has_a_docstring() -> None:
    for name in elmokit.__all__:
        if is_alias(getattr(elmokit, name)):  # the string below its definition
            source = inspect.getsource(import_module(elmokit._HOMES[name]))
            assert re.search(rf'^{name} = .+\n"""[A-Z`]', source, re.MULTILINE), name
        else:
            assert inspect.getdoc(getattr(elmokit, name)), name


def test_a_familiar_name_leads_to_ours() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'from_pretrained'; use elmokit\.load"):
        _ = elmokit.from_pretrained
