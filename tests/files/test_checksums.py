"""SHA256SUMS: written with a folder, compared on request."""

import shutil
import subprocess
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.files.checksums import check_files, write_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    (tmp_path / "deeper" / "b.txt").write_text("b")
    write_checksums(tmp_path)
    return tmp_path


def test_whole_files_are_counted(folder: Path) -> None:
    assert check_files(folder, "cure") == 2
    assert check_files(folder, "cure", only="a.bin") == 1
    assert check_files(folder, "cure", only="other.bin") is None
    assert check_files(folder / "deeper", "cure") is None


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="this system has no sha256sum")
def test_the_system_can_check_them_too(folder: Path) -> None:
    assert subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=folder).returncode == 0


def test_a_changed_or_missing_file_is_named_with_the_cure(folder: Path) -> None:
    (folder / "deeper" / "b.txt").write_text("c")
    with pytest.raises(InputError, match=r"b\.txt: damaged or changed .*; copy it again"):
        check_files(folder, "copy it again")
    (folder / "deeper" / "b.txt").unlink()
    with pytest.raises(InputError, match=r"b\.txt: missing, but SHA256SUMS lists it; copy"):
        check_files(folder, "copy it again")


@pytest.mark.parametrize(
    "line",
    ["", "abc  a.bin", f"{64 * 'a'}  ../secret", f"{64 * 'a'}  /etc/passwd", f"{64 * 'a'}  a\0b"],
)
def test_a_list_that_is_damaged_or_leads_elsewhere_is_refused(folder: Path, line: str) -> None:
    (folder / "SHA256SUMS").write_text(f"{line}\n" if line else "")
    with pytest.raises(InputError, match="SHA256SUMS: damaged, so nothing can be checked by it"):
        check_files(folder, "cure")
    (folder / "SHA256SUMS").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="SHA256SUMS: damaged"):
        check_files(folder, "cure")
