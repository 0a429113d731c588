"""Damage to a file: what disks, networks and attackers do to bytes, drawn at random."""

import json
import random
from collections.abc import Callable
from typing import Any

TROUBLE = (
    b"", b"\0", b"\xff", b"\xff\xfe", b"\n", b"\t", b"-1", b"0", b"1e999", b"NaN", b"null",
    b"[]", b"{}", b'""', b"9" * 5000, b"[" * 5000, b'{"a":' * 3000, b"../../etc/passwd",
    b"/dev/zero", b"\xed\xa0\x80", "\u2028\u202e\u0000\ufeff".encode(), b"%s%n", b"A" * 4096,
    b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff", b"\x80\0\0\0\0\0\0\0", b"<S>", b"(",
)  # fmt: skip
"""Bytes that parsers stumble over."""
STRANGE_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 10**12, 2**64, 10**400, 1.5, float("nan"), float("inf"), -0.0, "",
    "x" * 3000, "../x", "\0", "\ud800", [], [[]], {}, {"a": 1}, [None], [1, "a"],
)  # fmt: skip
"""What may stand where another value is expected."""


def damage(content: bytes, source: random.Random, name: str = "") -> bytes:
    """``content`` with one to four damages; ``name`` tells which ones make sense."""
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        if name.endswith((".json", ".jsonl")) and source.random() < 0.6:
            content = _damage_json(content, source)
        else:
            content = source.choice(_DAMAGES)(content, source)
    return content


def _flip_bit(content: bytes, source: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
    return bytes(changed)


def _flip_early_bit(content: bytes, source: random.Random) -> bytes:
    """Where headers stand."""
    head = min(len(content), 400)
    return _flip_bit(content[:head], source) + content[head:]


def _overwrite(content: bytes, source: random.Random) -> bytes:
    place, length = source.randrange(len(content) + 1), source.choice((1, 2, 4, 8, 64))
    return content[:place] + source.randbytes(length) + content[place + length :]


def _cut_off(content: bytes, source: random.Random) -> bytes:
    return content[: source.randrange(len(content) + 1)]


def _cut_out(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content) + 1)
    return content[:place] + content[place + source.choice((1, 3, 50, 4096)) :]


def _zero(content: bytes, source: random.Random) -> bytes:
    """A block that a disk never wrote."""
    place = source.randrange(len(content) + 1)
    length = min(source.choice((8, 512, 4096)), len(content) - place)
    return content[:place] + bytes(length) + content[place + length :]


def _repeat(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content) + 1)
    part = content[place : place + source.choice((1, 20, 500))]
    return content[:place] + part * source.choice((2, 3, 50)) + content[place + len(part) :]


def _insert_trouble(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content) + 1)
    return content[:place] + source.choice(TROUBLE) + content[place:]


def _replace_word(content: bytes, source: random.Random) -> bytes:
    words = content[:20_000].split()
    if not words:
        return source.choice(TROUBLE)
    return content.replace(source.choice(words), source.choice(TROUBLE), source.choice((1, -1)))


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip_bit, _flip_early_bit, _overwrite, _cut_off, _cut_out, _zero, _repeat, _insert_trouble,
    _replace_word,
)  # fmt: skip


def _damage_json(content: bytes, source: random.Random) -> bytes:
    """The same JSON with a value, a key or a line changed: it still parses."""
    lines = content.split(b"\n") if content.count(b"\n{") else [content]
    number = source.randrange(len(lines))
    try:
        value = json.loads(lines[number])
        lines[number] = json.dumps(_change_somewhere(value, source)).encode()
    except (ValueError, RecursionError):
        return _flip_bit(content, source)
    return b"\n".join(lines)


def _change_somewhere(value: Any, source: random.Random, depth: int = 0) -> Any:
    is_here = source.random() < 0.15 + 0.1 * depth
    if isinstance(value, dict) and value and not is_here:
        name = source.choice(list(value))
        if source.random() < 0.1:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: _change_somewhere(value[name], source, depth + 1)}
    if isinstance(value, list) and value and not is_here:
        place = source.randrange(len(value))
        changed = _change_somewhere(value[place], source, depth + 1)
        return [*value[:place], changed, *value[place + 1 :]]
    return source.choice(STRANGE_VALUES)
