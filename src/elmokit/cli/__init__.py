"""The ``elmokit`` command: one function per command, no logic; one file per group."""

import os
import sys
from typing import Annotated

import typer

from elmokit.errors import InputError, in_one_sentence

app = typer.Typer(
    name="elmokit",
    help="Deep contextualized word representations (ELMo): pretrain, embed, plug in, analyse.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("-V", "--version", help="Print the version.")] = False,
) -> None:
    if version:
        from elmokit import __version__

        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; bad input becomes one sentence and exit status 1."""
    # Each module adds its commands to ``app``.
    from elmokit.cli import (  # noqa: F401
        analyse,
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

    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (InputError, OSError) as error:
        print(f"elmokit: {in_one_sentence(error)}", file=sys.stderr)
        sys.exit(1)
