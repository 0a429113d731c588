"""Tar files made to do harm: nothing is written outside, and nothing fills memory or disk."""

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.weights import archives
from elmokit.weights.load import load_pretrained


def member(name: str, kind: bytes = tarfile.REGTYPE, **settings: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in settings.items():
        setattr(info, key, value)
    return info


def refused(path: Path, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        load_pretrained(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil", "..\\evil", "C:/evil"])
def test_a_member_that_points_outside(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member(name))
    refused(path, "points outside of the archive")
    assert not list(tmp_path.rglob("*evil"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(member("weights.th", kind, linkname="/etc/passwd"))
    refused(path, "neither a file nor a folder")


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_GREATEST_RATIO", 100)
    path = tmp_path / "model.tar.gz"
    size = 4 << 20
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member("weights.th", size=size), io.BytesIO(bytes(size)))
    refused(path, "refused, because it would unpack to more than 1,048,576 bytes")


def test_a_member_larger_than_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    path.write_bytes(member("weights.th", size=1 << 60).tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    refused(path, "no space to unpack it")


def test_more_members_than_a_model_has(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as archive:
        for number in range(1001):
            archive.addfile(member(f"{number}.txt"))
    refused(path, "holds more than 1,000 files, but a model has at most 1,000")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_claims_to_be_endless(tmp_path: Path, kind: bytes) -> None:
    """tarfile reads such a header into memory, however long it says it is."""
    path = tmp_path / "model.tar"
    header = member("x", kind, size=1 << 36).tobuf(tarfile.GNU_FORMAT)
    path.write_bytes(header + bytes(1024))
    refused(path, r"damaged tar file \(a header of 68,719,476,736 bytes\)")


def test_a_sparse_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": str(1 << 40),
    }
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        content = b"1\n0\n1\n".ljust(512, b"\0")
        info = member("weights.th", size=len(content), pax_headers=headers)
        archive.addfile(info, io.BytesIO(content))
    refused(path, "neither a file nor a folder|no space to unpack|damaged tar")


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def swap(content: bytes) -> bytes:
    return content[:40] + content[200:300] + content[40:200] + content[300:]


@pytest.mark.parametrize("damage", [cut, swap, lambda content: b"", lambda content: b"text"])
def test_damaged_archives(
    from_allennlp: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "model.tar.gz"
    path.write_bytes(damage(from_allennlp.read_bytes()))
    refused(path, r"model\.tar\.gz: (damaged tar file|cannot be unpacked|inside it)")


def test_folders_without_end(tmp_path: Path) -> None:
    """Readers and removers of folders call themselves at every level."""
    name = "a/" * 1500 + "x"
    with tarfile.open(tmp_path / "model.tar", "w") as archive:
        archive.addfile(member(name))
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as other:
        other.writestr(name, "")
    for path in (tmp_path / "model.tar", tmp_path / "model.zip"):
        refused(path, "a member lies 1,501 folders deep")


def test_two_members_that_cannot_both_be(tmp_path: Path) -> None:
    path = tmp_path / "model.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(member("weights.th"))
        archive.addfile(member("weights.th/deeper"))
    refused(path, "cannot be unpacked")
