"""The checksum of checkpoints, against published values and against itself byte by byte."""

import random

import pytest

from elmokit.weights.tensor_bundle.crc32c import crc32c, masked_crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [  # RFC 3720, appendix B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
        (b"", 0),
    ],
)
def test_published_checksums(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize("length", [65_535, 65_537, 70_001, 98_304])
def test_lanes_give_what_one_lane_gives(length: int) -> None:
    data = random.Random(length).randbytes(length)
    assert crc32c(data) == bit_by_bit(data)


def test_the_mask_is_leveldbs() -> None:
    assert masked_crc32c(b"") == 0xA282EAD8
    crc = crc32c(b"foo")
    rotated = (masked_crc32c(b"foo") - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == crc != masked_crc32c(b"foo")
