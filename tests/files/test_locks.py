"""One process at a time; what a process held is free when it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from elmokit.files.locks import try_lock, wait_for_lock

HOLD = """
import sys; from pathlib import Path; from elmokit.files.locks import try_lock
with try_lock(Path(sys.argv[1])) as is_ours:
    print(is_ours, flush=True)
    sys.stdin.read()
"""


def test_a_lock_has_one_holder(tmp_path: Path) -> None:
    with try_lock(tmp_path / "lock") as first, try_lock(tmp_path / "lock") as second:
        assert first and not second
    with try_lock(tmp_path / "lock") as again:
        assert again


def test_whoever_waits_is_told_and_goes_on_when_the_holder_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lock"
    with wait_for_lock(path, "waiting"):
        assert capsys.readouterr().err == ""
    command = [sys.executable, "-c", HOLD, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "True\n"
        with try_lock(path) as is_ours:
            assert not is_ours
        holder.kill()
        with wait_for_lock(path, "waiting"):
            assert capsys.readouterr().err in ("", "waiting\n")  # it may have ended by now
        holder.wait()
