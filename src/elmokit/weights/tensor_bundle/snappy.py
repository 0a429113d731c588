"""Snappy's block format, unpacked; nothing grows beyond the length that it states."""

from elmokit.weights.tensor_bundle.wire import DamagedError, read_varint


def unpack_snappy(data: bytes, most_bytes: int) -> bytes:
    """Unpack a block; one that states more than ``most_bytes`` is refused."""
    length, place = read_varint(data, 0)
    if length > most_bytes:
        raise DamagedError(f"a block claims to unpack to {length:,} bytes")
    result = bytearray()
    while place < len(data):
        tag, place = data[place], place + 1
        if tag & 3 == 0:
            place = _copy_literal(data, tag >> 2, place, result)
        else:
            place = _copy_earlier(data, tag, place, result)
        if len(result) > length:
            raise DamagedError("a block unpacks to more than it states")
    if len(result) != length:
        raise DamagedError("a block unpacks to less than it states")
    return bytes(result)


def _copy_literal(data: bytes, size: int, place: int, result: bytearray) -> int:
    if size >= 60:  # the size itself is in the next one to four bytes
        num_bytes = size - 59
        size = int.from_bytes(data[place : place + num_bytes], "little")
        place += num_bytes
    size += 1
    if place + size > len(data):
        raise DamagedError("a block ends within a literal")
    result += data[place : place + size]
    return place + size


def _copy_earlier(data: bytes, tag: int, place: int, result: bytearray) -> int:
    """Repeat what was unpacked ``offset`` bytes before; the copy may overlap itself."""
    kind = tag & 3
    num_bytes = (1, 2, 4)[kind - 1]
    if place + num_bytes > len(data):
        raise DamagedError("a block ends within a copy")
    offset = int.from_bytes(data[place : place + num_bytes], "little")
    size = (tag >> 2) + 1
    if kind == 1:
        offset |= tag >> 5 << 8
        size = (tag >> 2 & 7) + 4
    if not 0 < offset <= len(result):
        raise DamagedError("a block copies from before its beginning")
    part = bytes(result[-offset:])
    result += (part * (size // len(part) + 1))[:size] if offset < size else part[:size]
    return place + num_bytes
