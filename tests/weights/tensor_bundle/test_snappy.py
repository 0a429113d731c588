"""Snappy by its description: literals, copies that overlap, and blocks that lie."""

import pytest
from tensor_bundles import snappy_literals

from elmokit.weights.tensor_bundle.snappy import unpack_snappy
from elmokit.weights.tensor_bundle.wire import DamagedError

LIMIT = 1 << 20


def literal(content: bytes) -> bytes:
    return bytes([(len(content) - 1) << 2]) + content


def test_literals_of_any_length() -> None:
    content = bytes(range(256)) * 2
    assert unpack_snappy(snappy_literals(content), LIMIT) == content
    one_byte_length = b"\x64" + bytes([60 << 2, 99]) + content[:100]
    assert unpack_snappy(one_byte_length, LIMIT) == content[:100]
    two_byte_length = b"\x80\x04" + bytes([61 << 2, 0xFF, 0x01]) + content
    assert unpack_snappy(two_byte_length, LIMIT) == content


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        (bytes([0b000_001_01, 4]), b"abcdabcda"),  # 5 bytes from 4 before: overlaps itself
        (bytes([0b001001_10, 3, 0]), b"abcd" + b"bcd" * 3 + b"b"),  # 10 bytes, two-byte offset
        (bytes([0b000011_11, 4, 0, 0, 0]), b"abcdabcd"),  # 4 bytes, four-byte offset
        (bytes([0b000_000_01, 1]), b"abcddddd"),
    ],
)
def test_copies_of_what_came_before(copy: bytes, expected: bytes) -> None:
    assert unpack_snappy(bytes([len(expected)]) + literal(b"abcd") + copy, LIMIT) == expected


@pytest.mark.parametrize(
    "block",
    [
        b"\xff\xff\xff\xff\x0f",  # claims 4 GB
        b"\x80" * 12,  # a length without end
        b"\x05" + literal(b"abcd"),  # less than it states
        b"\x03" + literal(b"abcd"),  # more
        b"\x08" + bytes([0b000_000_01, 1]),  # a copy of nothing
        b"\x08" + literal(b"abcd") + bytes([0b000_000_01, 9]),  # from before the beginning
        b"\x08" + literal(b"abcd") + bytes([0b000_000_01, 0]),
        b"\x08" + bytes([63 << 2, 1]),  # ends within a length
        b"\x08" + literal(b"abcd") + b"\x02\x01",  # ends within an offset
    ],
)
def test_blocks_that_lie_are_refused(block: bytes) -> None:
    with pytest.raises(DamagedError):
        unpack_snappy(block, LIMIT)
