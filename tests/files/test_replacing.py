"""What is written is whole or absent, and what killed runs leave is cleared by the next."""

import glob
import os
import subprocess
import sys
from pathlib import Path

import pytest

from elmokit.files import remove_leftovers, replacing_file, replacing_folder

KILLED = """
import os, signal, sys; from pathlib import Path; from elmokit.files import *
with getattr(sys.modules["elmokit.files"], sys.argv[1])(Path(sys.argv[2])) as aside:
    (aside if aside.is_file() else aside / "inside").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def leave_behind(how: str, path: Path) -> Path:
    """What a run leaves that is killed while it writes ``path``."""
    subprocess.run([sys.executable, "-c", KILLED, how, str(path)], check=False)
    [left] = path.parent.glob(f".{glob.escape(path.name)}.*.part")
    return left


@pytest.mark.parametrize("how", ["replacing_file", "replacing_folder"])
def test_what_a_killed_run_left_is_removed_by_the_next(how: str, tmp_path: Path) -> None:
    left = leave_behind(how, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with {"replacing_file": replacing_file, "replacing_folder": replacing_folder}[how](
        tmp_path / "out"
    ):
        assert not left.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    left = leave_behind("replacing_file", tmp_path / "out")
    ours = left.with_name(left.name.replace(left.name.split(".")[-2], str(os.getpid())))
    foreign = left.with_name(f".out.another-host.{left.name.split('.')[-2]}.part")
    other = tmp_path / ".outer.part"
    for path in (ours, foreign, other):
        path.write_text("being written")
    remove_leftovers(tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {ours.name, foreign.name, other.name}


def test_a_name_with_signs_of_a_pattern_is_taken_as_it_is(tmp_path: Path) -> None:
    left = leave_behind("replacing_file", tmp_path / "out[1].h5")
    with replacing_file(tmp_path / "out[1].h5") as aside:
        aside.write_text("whole")
        assert not left.exists()
    assert (tmp_path / "out[1].h5").read_text() == "whole"


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_takes_the_place_of_another(
    can_exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr("elmokit.files.replacing._exchange", lambda first, second: False)
    for text in ("old", "new"):
        with replacing_folder(tmp_path / "out") as aside:
            (aside / "inside").write_text(text)
    assert (tmp_path / "out" / "inside").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_run_killed_between_two_renames_loses_nothing(tmp_path: Path) -> None:
    """Where two names cannot be exchanged in one step."""
    left = leave_behind("replacing_folder", tmp_path / "out")
    old = left.rename(left.with_suffix(".old"))
    (old / "out").mkdir()
    (old / "out" / "inside").write_text("old")
    remove_leftovers(tmp_path / "out")
    assert (tmp_path / "out" / "inside").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(KeyError), replacing_file(tmp_path / "out") as aside:
        aside.write_text("new")
        raise KeyError
    assert (tmp_path / "out").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
