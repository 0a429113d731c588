"""The .index file: a sorted table of keys and values in LevelDB's format.

At the end stands a footer with the place of the index block, whose values are the places of the
data blocks. A block is a run of entries whose keys share a prefix with the one before, followed by
restart points (which a reader from the front does not need), its compression and its checksum.
"""

from collections.abc import Iterator

from elmokit.weights.tensor_bundle.crc32c import masked_crc32c
from elmokit.weights.tensor_bundle.snappy import unpack_snappy
from elmokit.weights.tensor_bundle.wire import DamagedError, read_varint

_FOOTER = 48
_MAGIC = bytes.fromhex("57fb808b247547db")
_PLAIN, _SNAPPY = 0, 1
_MOST_BLOCK_BYTES = 1 << 24
_MOST_ENTRIES = 100_000
_LONGEST_KEY = 1 << 12


def is_table(tail: bytes) -> bool:
    """Whether a file that ends so is such a table."""
    return len(tail) >= _FOOTER and tail.endswith(_MAGIC)


def read_table(data: bytes) -> dict[bytes, bytes]:
    """All entries of a table; anything wrong with it raises DamagedError."""
    if not is_table(data):
        raise DamagedError("it does not end like the index of a checkpoint")
    footer = data[-_FOOTER:]
    _, place = _read_handle(footer, 0)  # the meta index: of filters, which nobody writes
    index, _ = _read_handle(footer, place)
    entries: dict[bytes, bytes] = {}
    blocks = set()
    for _, value in _entries(_read_block(data, index)):
        handle, _ = _read_handle(value, 0)
        if handle in blocks:
            raise DamagedError("two entries of its index name one block")
        blocks.add(handle)
        for key, item in _entries(_read_block(data, handle)):
            entries[key] = item
            if len(entries) > _MOST_ENTRIES:
                raise DamagedError(f"it holds more than {_MOST_ENTRIES:,} names")
    return entries


def _read_handle(data: bytes, place: int) -> tuple[tuple[int, int], int]:
    offset, place = read_varint(data, place)
    size, place = read_varint(data, place)
    return (offset, size), place


def _read_block(data: bytes, handle: tuple[int, int]) -> bytes:
    offset, size = handle
    if size > _MOST_BLOCK_BYTES or offset + size + 5 > len(data):
        raise DamagedError(f"a block of {size:,} bytes at {offset:,} lies outside of it")
    block, kind = data[offset : offset + size], data[offset + size]
    stored = int.from_bytes(data[offset + size + 1 : offset + size + 5], "little")
    if masked_crc32c(data[offset : offset + size + 1]) != stored:
        raise DamagedError(f"the checksum of the block at {offset:,} is wrong")
    if kind == _SNAPPY:
        return unpack_snappy(block, _MOST_BLOCK_BYTES)
    if kind != _PLAIN:
        raise DamagedError(f"a block is compressed in the unknown way {kind}")
    return block


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    num_restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * num_restarts
    if end < 0:
        raise DamagedError("a block has no room for its restart points")
    key, place = b"", 0
    while place < end:
        shared, place = read_varint(block, place)
        own, place = read_varint(block, place)
        size, place = read_varint(block, place)
        if shared > len(key) or place + own + size > end or shared + own > _LONGEST_KEY:
            raise DamagedError("an entry of a block reaches beyond it")
        key = key[:shared] + block[place : place + own]
        yield key, block[place + own : place + own + size]
        place += own + size
