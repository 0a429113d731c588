"""Checkpoints that lie: every claim of an index is compared with the files before it is used."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from tensor_bundles import (
    Bundle,
    Entry,
    block_of,
    bundle_of,
    message,
    number,
    stored,
    table_of,
    varint,
)

from elmokit.errors import InputError
from elmokit.weights.load import load_pretrained
from elmokit.weights.tensor_bundle.bundle import read_bundle

VALUES = np.arange(4, dtype="<f4").tobytes()


def refused(prefix: Path, reason: str) -> None:
    """One sentence, when the index or the tensor is read."""
    with pytest.raises(InputError, match=reason) as caught:
        for tensor in read_bundle(prefix).values():
            tensor.read()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (Entry((4,), VALUES, checksum=1), "the checksum of w is wrong"),
        (Entry((4,), VALUES, offset=1), "ends at 17; the file is truncated"),
        (Entry((4,), VALUES, offset=1 << 62), "the file is truncated"),
        (Entry((4,), VALUES, offset=(1 << 64) - 8), "a place or size in it is negative"),
        (Entry((4,), VALUES, size=8), "takes 16 bytes, but the index says 8"),
        (Entry((1 << 40, 1 << 20), VALUES), "but the index says 16"),
        (Entry((1 << 40,), VALUES, size=4 << 40), "the file is truncated"),
        (Entry(((1 << 64) - 1,), VALUES), "a tensor has the shape"),
        (Entry((1,) * 99, VALUES), "a tensor has the shape"),
        (Entry((4,), VALUES, kind=7), "TensorFlow's type 7, not a number"),
        (Entry((4,), VALUES, kind=1 << 40), "not a number"),
        (Entry((4,), VALUES, shard=3), "data-00003-of-00001: there is no such file"),
        (Entry((4,), VALUES, more=message(7, b"")), "stored in slices"),
        (Entry((4,), VALUES, more=b"\x80" * 11), "a number has no end"),
        (Entry((4,), VALUES, more=varint(9 << 3 | 2) + varint(99)), "ends within a field"),
        (Entry((4,), VALUES, more=varint(9 << 3 | 3)), "a field of unknown kind 3"),
        (Entry((4,), VALUES, more=number(2, 5)), "a number where bytes are due"),
        (Entry((4,), VALUES, more=message(4, b"")), "bytes where a number is due"),
    ],
)
def test_entries_that_lie(tmp_path: Path, entry: Entry, reason: str) -> None:
    Bundle({"w": entry}).write(tmp_path / "x")
    refused(tmp_path / "x", reason)


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", "it names 0 shards"),
        (number(1, 1 << 40), "shards"),
        (number(1, 1) + number(2, 1), "big-endian"),
        (b"\xff\xff", "a number has no end"),
    ],
)
def test_headers_that_lie(tmp_path: Path, header: bytes, reason: str) -> None:
    Bundle({"w": Entry((4,), VALUES)}, header).write(tmp_path / "x")
    refused(tmp_path / "x", reason)


def table_with(block: bytes | None = None, handle: bytes | None = None) -> bytes:
    """An index whose data block is ``block`` as it is stored, or is said to be at ``handle``."""
    data = stored(block_of({b"": number(1, 1)})) if block is None else block
    here = varint(0) + varint(len(data) - 5)
    index = stored(block_of({b"w": here if handle is None else handle}))
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + table_of({b"": b""})[-8:]


RESTARTS = bytes(4) + (1).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (table_with(handle=varint(1 << 60) + varint(4)), "lies outside of it"),
        (table_with(handle=varint(0) + varint(1 << 60)), "lies outside of it"),
        (table_with(handle=b"\xff"), "a number has no end"),
        (table_with(b"\0" * 20), "the checksum of the block at 0 is wrong"),
        (table_with(stored(RESTARTS, 2)), "compressed in the unknown way 2"),
        (table_with(stored(b"")), "no room for its restart points|reaches beyond"),
        (table_with(stored(b"\xff\xff\xff\xff")), "no room for its restart points"),
        (table_with(stored(b"\x05\x01\x00k" + RESTARTS)), "reaches beyond it"),
        (table_with(stored(b"\x00\x7f\x00k" + RESTARTS)), "reaches beyond it"),
        (table_with(stored(b"\x00\x01" + varint(1 << 50) + b"k" + RESTARTS)), "reaches beyond it"),
        (b"\0" * 40 + table_with()[-8:], "lies outside|wrong"),
    ],
)
def test_tables_that_lie(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "x.index").write_bytes(content)
    refused(tmp_path / "x", reason)


def test_one_block_named_twice_is_refused(tmp_path: Path) -> None:
    """So that a small table cannot be read as an endless one."""
    data = stored(block_of({b"": number(1, 1)}))
    handle = varint(0) + varint(len(data) - 5)
    index = stored(block_of({b"a": handle, b"b": handle}))
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index) - 5)
    content = data + index + footer.ljust(40, b"\0") + table_of({b"": b""})[-8:]
    (tmp_path / "x.index").write_bytes(content)
    refused(tmp_path / "x", "two entries of its index name one block")


@pytest.mark.parametrize("kept", [0.2, 0.9])
def test_a_truncated_shard(from_tensorflow: Path, tmp_path: Path, kept: float) -> None:
    run = shutil.copytree(from_tensorflow / "trained", tmp_path / "run")
    shard = run / "model.ckpt-7.data-00000-of-00001"
    shard.write_bytes(shard.read_bytes()[: int(shard.stat().st_size * kept)])
    with pytest.raises(InputError, match=r"data-00000-of-00001: .* the file is truncated"):
        load_pretrained(run)


def test_a_missing_shard(from_tensorflow: Path, tmp_path: Path) -> None:
    run = shutil.copytree(from_tensorflow / "sharded", tmp_path / "run")
    (run / "model.ckpt-7.data-00001-of-00003").unlink()
    with pytest.raises(InputError, match=r"data-00001-of-00003: there is no such file, but"):
        load_pretrained(run)


def test_a_link_out_of_a_hub_module_is_refused(from_tensorflow: Path, tmp_path: Path) -> None:
    hub = shutil.copytree(from_tensorflow / "hub", tmp_path / "hub")
    shard = hub / "variables" / "variables.data-00000-of-00001"
    shard.rename(tmp_path / "elsewhere")
    shard.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="link that leaves the model's folder"):
        load_pretrained(hub)


def test_what_checkpoint_names_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    bundle_of({"w": np.ones(2)}).write(tmp_path / "outside")
    run = tmp_path / "run"
    run.mkdir()
    for name in ("../outside", str(tmp_path / "outside"), "..\\\\outside"):
        (run / "checkpoint").write_text(f'model_checkpoint_path: "{name}"')
        with pytest.raises(InputError, match=r"names outside, but there is no outside\.index"):
            load_pretrained(run)
