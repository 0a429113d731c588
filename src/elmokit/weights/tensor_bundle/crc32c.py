"""CRC-32C (Castagnoli), as LevelDB and TensorFlow store it; computed by NumPy in lanes.

A CRC is linear: the register after two pieces is the register after the first, shifted by the
length of the second, plus that of the second from zero. So a long buffer is cut into lanes that
advance together, one vectorised step per two bytes, and the lanes are joined pairwise.
"""

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78
_NUM_LANES = 4096
_SHORT = 1 << 16
"""Up to this length one lane is as fast."""
_COLUMNS = 512
"""How many steps of all lanes are laid out at once."""


def _byte_table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ _POLYNOMIAL, table >> 1).astype(np.uint32)
    return table


_BYTES = _byte_table()
_BYTE_LIST: list[int] = _BYTES.tolist()


def masked_crc32c(data: bytes | bytearray) -> int:
    """The checksum that is stored: rotated and shifted, so that it may be part of checked data."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc32c(data: bytes | bytearray) -> int:
    """The CRC-32C of ``data``.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    register = 0xFFFFFFFF
    done = 0
    if len(data) > _SHORT:
        lane = len(data) // _NUM_LANES & ~1  # whole pairs of bytes
        done = lane * _NUM_LANES
        register = _long_register(np.frombuffer(data, dtype="<u2", count=done // 2), lane, register)
    for byte in data[done:]:
        register = register >> 8 ^ _BYTE_LIST[(register ^ byte) & 0xFF]
    return register ^ 0xFFFFFFFF


def _long_register(pairs: NDArray[np.uint16], lane: int, register: int) -> int:
    """The register after ``_NUM_LANES`` lanes of ``lane`` bytes."""
    low = _BYTES[np.arange(1 << 16) & 0xFF]
    table = _BYTES[(low ^ np.arange(1 << 16, dtype=np.uint32) >> 8) & 0xFF] ^ low >> 8
    lanes = pairs.reshape(_NUM_LANES, lane // 2)
    registers = np.zeros(_NUM_LANES, dtype=np.uint32)
    registers[0] = register
    for start in range(0, lanes.shape[1], _COLUMNS):
        for column in np.ascontiguousarray(lanes[:, start : start + _COLUMNS].T):
            registers = table[(registers ^ column) & 0xFFFF] ^ registers >> 16
    shift = _shift_by(lane)
    while len(registers) > 1:
        registers = _apply(shift, registers[::2]) ^ registers[1::2]
        shift = _apply(shift, shift)
    return int(registers[0])


def _shift_by(num_bytes: int) -> Words:
    """What that many bytes of zeros do to each of the 32 bits of a register."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    power = _BYTES[bits & 0xFF] ^ bits >> 8  # one byte
    shift = bits
    while num_bytes:
        if num_bytes & 1:
            shift = _apply(power, shift)
        power = _apply(power, power)
        num_bytes >>= 1
    return shift


def _apply(matrix: Words, registers: Words) -> Words:
    """Multiply registers (vectors of 32 bits) by a matrix, given by its columns."""
    result = np.zeros_like(registers)
    for bit in range(32):
        result ^= (registers >> bit & 1) * matrix[bit]
    return result
