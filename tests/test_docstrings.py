"""Every public definition says what it is for, and the examples in docstrings are true."""

import ast
import doctest
import inspect
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import elmokit

SOURCE = Path(elmokit.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MODULES_WITH_EXAMPLES = [
    ".".join(("elmokit", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in FILES
    if ">>> " in path.read_text(encoding="utf-8")
]
SAID_ELSEWHERE = ("overload", ".setter")  # the definition they belong to has the docstring


def public_definitions(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Functions, classes and methods whose own name, and those around it, are public."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.If | ast.Try):
            yield from public_definitions(node)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            decorators = map(ast.unparse, node.decorator_list)
            if not any(decorator.endswith(SAID_ELSEWHERE) for decorator in decorators):
                yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node)


def test_every_public_definition_of_the_source_has_a_docstring() -> None:
    silent = []
    for path in FILES:
        module = ast.parse(path.read_text(encoding="utf-8"))
        if ast.get_docstring(module) is None and path.stat().st_size:
            silent.append(f"{path.relative_to(SOURCE)}")
        for node in public_definitions(module):
            if ast.get_docstring(node) is None:
                silent.append(f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}")
    assert not silent


@pytest.mark.parametrize(
    "name",  # type aliases have no docstring of their own: see test_public_names.py
    [name for name in elmokit.__all__ if typing.get_origin(getattr(elmokit, name)) is None],
)
def test_an_exported_name_and_its_members_answer_help(name: str) -> None:
    exported = getattr(elmokit, name)
    members = vars(exported).items() if inspect.isclass(exported) else ()
    public = [
        member.__func__ if isinstance(member, classmethod | staticmethod) else member
        for key, member in members
        if not key.startswith("_")
    ]
    callables = [one for one in public if inspect.isfunction(one) or isinstance(one, property)]
    for one in (exported, *callables):
        assert (one.__doc__ or "").strip(), one
        assert not str(one.__doc__).startswith(f"{name}("), "the signature is no description"


@pytest.mark.parametrize("name", MODULES_WITH_EXAMPLES)
def test_the_examples_in_docstrings_give_what_they_show(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted and not result.failed
