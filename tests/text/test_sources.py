"""One reader for every text file, plain or compressed; what is wrong with one is one sentence."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.text.sources import DamagedFileError, open_source, read_lines

LINES = "größe\r\n\nlast"


def compress_zstandard(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    return bytes(zstandard.compress(data))


PACKERS = {
    ".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress,
    ".zst": compress_zstandard,
}  # fmt: skip


@pytest.mark.parametrize("suffix", PACKERS)
def test_plain_and_compressed_files_have_the_same_lines(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix](LINES.encode("utf-8-sig")))
    assert list(read_lines(path)) == [(1, "größe"), (2, ""), (3, "last")]


@pytest.mark.parametrize("suffix", [suffix for suffix in PACKERS if suffix != ".txt"])
def test_a_damaged_file_is_read_up_to_the_damage_and_then_named(
    tmp_path: Path, suffix: str
) -> None:
    pack: Callable[[bytes], bytes] = PACKERS[suffix]
    noise = b"".join(f"{n * 7919 % 99991}\n".encode() for n in range(200_000))
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(noise)[:-2000])
    seen = 0
    with pytest.raises(DamagedFileError, match=rf"text\{suffix}: damaged"):
        for number, _ in read_lines(path):
            seen = number
    assert 0 < seen < 200_000 or suffix == ".bz2"  # bzip2 unpacks whole blocks


def test_junk_is_no_archive(tmp_path: Path) -> None:
    for suffix in (".gz", ".xz", ".bz2"):
        path = tmp_path / f"junk{suffix}"
        path.write_bytes(b"no archive at all")
        with pytest.raises(DamagedFileError), open_source(path) as file:
            file.read()


def test_a_folder_and_other_encodings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        list(read_lines(tmp_path))
    (tmp_path / "latin1.txt").write_bytes("gut\ngrün\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin1\.txt: line 2 is not UTF-8"):
        list(read_lines(tmp_path / "latin1.txt"))
