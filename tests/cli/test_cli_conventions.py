"""The commands speak with one voice: the same thing has the same option everywhere."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import elmokit
from elmokit.cli import analyse, app, corpus, embedding, pretrain, report, tasks, words  # noqa: F401

SHORT = {"--out": "-o", "--model": "-m", "--top": "-n"}
FORMER = {"--to", "--elmo", "--count", "--keep"}
"""Still accepted, in no help."""


def commands(group: Any, name: str = "elmokit") -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        elif not command.hidden:
            yield f"{name} {word}", command


def options() -> Iterator[tuple[str, Any]]:
    for name, command in commands(get_command(app)):
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                yield name, parameter


@pytest.mark.parametrize("long", SHORT)
def test_an_option_has_the_same_short_name_everywhere(long: str) -> None:
    found = {name: option.opts for name, option in options() if long in option.opts}
    assert len(found) > 1
    assert all(SHORT[long] in names for names in found.values()), found


def test_no_help_shows_a_former_name() -> None:
    shown = {long for _, option in options() for long in option.opts}
    assert not shown & FORMER


def test_device_means_the_same_everywhere() -> None:
    helps = {option.help for _, option in options() if "--device" in option.opts}
    assert len(helps) == 1


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_is_printed(flag: str) -> None:
    assert CliRunner().invoke(app, [flag]).stdout == f"{elmokit.__version__}\n"


def test_a_shell_completes_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['elmokit']\n"
         "from elmokit.cli import main; main()"],
        env=os.environ
        | {"_ELMOKIT_COMPLETE": "complete_bash", "COMP_WORDS": "elmokit em", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["embed"], done.stderr
