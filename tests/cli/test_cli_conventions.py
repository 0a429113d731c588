"""The commands speak with one voice: the same thing has the same option everywhere."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import elmokit
from elmokit.cli import (  # noqa: F401
    analyse,
    app,
    corpus,
    embedding,
    explore,
    lexical,
    pretrain,
    report,
    serving,
    tasks,
    words,
)

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


def test_the_options_of_every_module_are_checked() -> None:
    files = {path.stem for path in Path(elmokit.cli.__file__).parent.glob("*.py")}
    helpers = {"__init__", "former_options", "model_first", "options"}
    modules = {command.callback.__module__ for _, command in commands(get_command(app))}
    assert modules == {f"elmokit.cli.{name}" for name in files - helpers}


def test_device_means_the_same_everywhere() -> None:
    helps = {option.help for _, option in options() if "--device" in option.opts}
    assert len(helps) == 1


def test_every_command_that_computes_with_a_model_has_a_device() -> None:
    everything = {name.removeprefix("elmokit ") for name, _ in commands(get_command(app))}
    with_device = {
        name.removeprefix("elmokit ") for name, option in options() if "--device" in option.opts
    }
    # These read and write files; `convert --settle` runs at most 200 sentences.
    without = {"prepare", "info", "convert", "export", "plot", "analyse mixes"}
    assert everything - with_device == without


@pytest.mark.parametrize("long", ["--pretokenized", "--json"])
def test_an_option_has_one_form_everywhere(long: str) -> None:
    forms = {
        (tuple(option.opts), tuple(option.secondary_opts), option.is_flag)
        for _, option in options()
        if long in option.opts
    }
    assert len(forms) == 1, forms


def test_half_precision_is_described_in_one_way() -> None:
    helps = [option.help for _, option in options() if "--float16" in option.opts]
    assert len(helps) == 3
    assert {text.removesuffix(" Native format only.") for text in helps} == {min(helps, key=len)}


def test_the_shares_of_the_training_data_have_one_default() -> None:
    found = {name: option.default for name, option in options() if "--shares" in option.opts}
    assert set(found) == {"elmokit report", "elmokit analyse efficiency"}
    assert len(set(found.values())) == 1, found


def test_formats_of_models_are_choices() -> None:
    for command in ("convert", "export"):
        refused = CliRunner().invoke(app, [command, "one", "two", "--format", "onnx"])
        assert refused.exit_code == 2
        assert "'native'" in refused.output and "'bilm-tf'" in refused.output


def test_arguments_are_named_in_capitals() -> None:
    for name, command in commands(get_command(app)):
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                named = parameter.metavar or ""
                assert named and named == named.upper() and "..." not in named, (name, named)


def test_no_help_shows_the_type_of_a_list() -> None:
    for name, option in options():
        assert not option.multiple or option.metavar, (name, option.opts)


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
