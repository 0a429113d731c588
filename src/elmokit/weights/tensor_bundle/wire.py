"""Varints and the fields of protobuf messages, read with bounds."""

from collections.abc import Iterator

_LONGEST_VARINT = 10
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class DamagedError(Exception):
    """Bytes that are not what they should be; whoever knows the file makes a sentence of it."""


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of at most 64 bits at ``place``, and where it ends."""
    value = 0
    for number, byte in enumerate(data[place : place + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, place + number + 1
    raise DamagedError("a number has no end")


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field: a number, or the bytes of a string or message."""
    place = 0
    while place < len(message):
        key, place = read_varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = read_varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            size, place = read_varint(message, place)
        elif kind in (_FIXED_64, _FIXED_32):
            size = 8 if kind == _FIXED_64 else 4
        else:
            raise DamagedError(f"a field of unknown kind {kind}")
        if place + size > len(message):
            raise DamagedError("a message ends within a field")
        part = message[place : place + size]
        yield number, part if kind == _BYTES else int.from_bytes(part, "little")
        place += size


def as_int(value: int | bytes) -> int:
    """The value of a field that must be a number; negative ones are stored as two's complement."""
    if isinstance(value, bytes):
        raise DamagedError("a field holds bytes where a number is due")
    return value - (1 << 64) if value >= 1 << 63 else value


def as_bytes(value: int | bytes) -> bytes:
    """The value of a field that must be a string or a message."""
    if isinstance(value, int):
        raise DamagedError("a field holds a number where bytes are due")
    return value
