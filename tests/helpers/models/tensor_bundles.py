"""Checkpoints in TensorFlow's format, written by hand: good ones, and ones that lie."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from elmokit.weights.tensor_bundle.crc32c import masked_crc32c

FLOAT = 1


def varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def number(field: int, value: int) -> bytes:
    """A field of a message that holds a number."""
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


HEADER = number(1, 1)
"""One shard, little-endian."""


@dataclass
class Entry:
    """What an index says of a tensor; ``checksum`` None is the right one."""

    shape: tuple[int, ...]
    content: bytes
    kind: int = FLOAT
    shard: int = 0
    offset: int | None = None
    size: int | None = None
    checksum: int | None = None
    more: bytes = b""
    """Further fields."""


@dataclass
class Bundle:
    """A checkpoint about to be written."""

    entries: dict[str, Entry] = field(default_factory=dict)
    header: bytes = HEADER
    compression: int = 0

    def write(self, prefix: Path) -> None:
        shard, table = b"", {b"": self.header}
        for name, entry in sorted(self.entries.items()):
            sizes = b"".join(message(2, number(1, size)) for size in entry.shape)
            checksum = masked_crc32c(entry.content) if entry.checksum is None else entry.checksum
            table[name.encode()] = b"".join(
                (
                    number(1, entry.kind),
                    message(2, sizes),
                    number(3, entry.shard),
                    number(4, len(shard) if entry.offset is None else entry.offset),
                    number(5, len(entry.content) if entry.size is None else entry.size),
                    varint(6 << 3 | 5) + checksum.to_bytes(4, "little"),
                    entry.more,
                )
            )
            shard += entry.content
        Path(f"{prefix}.data-00000-of-00001").write_bytes(shard)
        Path(f"{prefix}.index").write_bytes(table_of(table, self.compression))


def bundle_of(arrays: Mapping[str, np.ndarray]) -> Bundle:
    return Bundle(
        {name: Entry(array.shape, array.astype("<f4").tobytes()) for name, array in arrays.items()}
    )


def table_of(entries: Mapping[bytes, bytes], compression: int = 0) -> bytes:
    """A table of one data block whose keys share prefixes, as LevelDB writes it."""
    data = stored(block_of(entries), compression)
    handle = varint(0) + varint(len(data) - 5)
    meta = stored(block_of({}))
    index = stored(block_of({max(entries): handle}))
    footer = varint(len(data)) + varint(len(meta) - 5)
    footer += varint(len(data) + len(meta)) + varint(len(index) - 5)
    magic = (0xDB4775248B80FB57).to_bytes(8, "little")
    return data + meta + index + footer.ljust(40, b"\0") + magic


def block_of(entries: Mapping[bytes, bytes]) -> bytes:
    content, last = b"", b""
    for key, value in sorted(entries.items()):
        shared = 0
        while shared < min(len(key), len(last)) and key[shared] == last[shared]:
            shared += 1
        content += varint(shared) + varint(len(key) - shared) + varint(len(value))
        content += key[shared:] + value
        last = key
    return content + bytes(4) + (1).to_bytes(4, "little")


def stored(block: bytes, compression: int = 0) -> bytes:
    """A block with its compression and checksum."""
    if compression == 1:
        block = snappy_literals(block)
    block += bytes([compression])
    return block + masked_crc32c(block).to_bytes(4, "little")


def snappy_literals(content: bytes) -> bytes:
    """Snappy that compresses nothing."""
    packed = varint(len(content))
    for start in range(0, len(content), 60):
        part = content[start : start + 60]
        packed += bytes([(len(part) - 1) << 2]) + part
    return packed
