"""Runs what a reader pastes: a line of a console block, or the code of a python block."""

import io
import os
import runpy
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from markdown_pages import Block, Page, split_command

from elmokit.cli import main


def run_page(
    page: Page, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All blocks of a page in their order, in the current folder; Python names are kept."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in page.blocks:
        where = f"{page.name}, line {block.line}"
        if block.not_run:
            continue
        if block.language == "python":
            _run_python(block, names, where, capsys)
        elif block.language == "console":
            for command in block.commands:
                _run_command(command, where, monkeypatch, capsys)


def _run_python(
    block: Block, names: dict[str, object], where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    exec(compile(block.text, where, "exec"), names)
    printed = capsys.readouterr().out
    assert block.shown is None or printed == block.shown, f"{where}: the page shows other output"


def _run_command(
    command: str, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, to load torch once; what is piped into it is run by the shell."""
    *before, words = split_command(command)
    piped = b""
    if before:
        shell = command.rsplit("|", 1)[0]
        piped = subprocess.run(shell, shell=True, check=True, capture_output=True).stdout
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped), encoding="utf-8"))
    with _signal_handlers_kept():
        status = _call(words, monkeypatch)
    said = capsys.readouterr()
    assert status == 0, f"{where}: $ {command}\n{said.out}{said.err}"


def _call(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    program, *arguments = words
    monkeypatch.setattr(sys, "argv", [program, *arguments])
    try:
        if program == "elmokit":
            main()
        elif words[:2] == ["python", "-m"]:
            monkeypatch.setattr(sys, "argv", words[2:])
            sys.modules.pop(words[2], None)
            runpy.run_module(words[2], run_name="__main__")
        else:
            return subprocess.run(words, check=False).returncode
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _signal_handlers_kept() -> Iterator[None]:
    """`elmokit embed` and `convert` end their process tidily; this process goes on to live."""
    names = [signal.SIGTERM] + ([signal.SIGHUP] if os.name == "posix" else [])
    before = {number: signal.getsignal(number) for number in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
