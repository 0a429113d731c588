"""Whatever a public call takes or returns can be imported from elmokit."""

import inspect
import types
import typing
from collections.abc import Iterator

import pytest

import elmokit


def classes_in(hint: object) -> Iterator[type]:
    """Classes of elmokit inside a type hint."""
    if isinstance(hint, type) and hint.__module__.startswith("elmokit"):
        yield hint
    for argument in typing.get_args(hint):
        yield from classes_in(argument)


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


def test_every_public_name_has_a_docstring() -> None:
    for name in elmokit.__all__:
        assert inspect.getdoc(getattr(elmokit, name)), name


def test_a_familiar_name_leads_to_ours() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'from_pretrained'; use elmokit\.load"):
        _ = elmokit.from_pretrained
