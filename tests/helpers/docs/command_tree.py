"""The commands and options that elmokit's command line has, asked from the command line itself."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import typer.main

import elmokit.cli

for _module in iter_modules(elmokit.cli.__path__):  # each adds its commands to ``app``
    import_module(f"elmokit.cli.{_module.name}")

Command = Any
"""Of click, or of the copy of click that newer versions of typer bring along."""


@cache
def _root() -> Command:
    return typer.main.get_command(elmokit.cli.app)


def find_command(arguments: list[str]) -> tuple[Command, list[str]]:
    """The command that the first words name, and the words after them."""
    command = _root()
    rest = list(arguments)
    while _subcommands(command) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        found = _subcommands(command).get(name)
        assert found is not None and not found.hidden, f"there is no command {name!r}"
        command = found
    return command, rest


def _subcommands(command: Command) -> dict[str, Command]:
    return getattr(command, "commands", {})


def visible_options(command: Command) -> set[str]:
    """The options in a command's help; former spellings, still accepted, are not among them."""
    shown = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    return {name for p in shown for name in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}


def check_names(arguments: list[str]) -> None:
    """The command exists, and so does every option that is given to it."""
    command, rest = find_command(arguments)
    known = visible_options(command)
    for word in rest:
        name = word.strip("[]").split("=")[0]
        is_option = name.startswith("-") and not name.lstrip("-")[:1].isdigit() and name != "-"
        assert not is_option or name in known, f"{command.name} has no option {name}"


def check_usage(arguments: list[str]) -> None:
    """The command would start: nothing that it needs is missing, and every value fits."""
    check_names(arguments)
    command, rest = find_command(arguments)
    command.make_context(command.name, rest)


def all_options(command: Command | None = None) -> Iterator[str]:
    """The options of all commands."""
    command = command or _root()
    yield from visible_options(command)
    for one in _subcommands(command).values():
        yield from all_options(one)
