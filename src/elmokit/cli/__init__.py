"""The ``elmokit`` command: one function per command, one file per group, and no logic."""

import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from elmokit.errors import InputError, in_one_sentence

EMBED = "Vectors and models"
WORDS = "Words in context"
PRETRAIN = "Pretrain a biLM"
ANALYSE = "Task models, and what the layers know"
"""The panels of ``elmokit --help``."""

app = typer.Typer(
    name="elmokit",
    help="Deep contextualized word representations (ELMo): "
    "pretrain, embed, use in task models, analyse.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("-V", "--version", help="Print the version.")] = False,
) -> None:
    """Run one of the commands below; without one, only ``--version`` does anything."""
    if version:
        from elmokit import __version__

        print(__version__)
        raise typer.Exit


def tidy_up_when_terminated() -> None:
    """Make signals end the command like an error, so that no half-written files are left.

    This does not apply to the processes that a command starts: their parent cleans up. A signal
    that the user has asked to ignore (``nohup``) stays ignored.
    """
    parent = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == parent:
            sys.exit(128 + number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _open_closed_streams() -> None:
    """Discard what is written to standard streams that the calling program has closed."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def main() -> None:
    """Run the command line; bad input gives a one-sentence message and exit status 1."""
    _open_closed_streams()
    tidy_up_when_terminated()
    # Each module adds its commands to ``app``, in the order in which --help shows them.
    from elmokit.cli import embedding, serving, words, lexical, explore  # noqa: F401, I001
    from elmokit.cli import corpus, pretrain, tasks, analyse, report  # noqa: F401

    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (InputError, OSError) as error:
        print(f"elmokit: {in_one_sentence(error)}", file=sys.stderr)
        sys.exit(1)
