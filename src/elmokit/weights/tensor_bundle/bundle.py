"""A checkpoint: the shapes of its tensors from the .index, their values from the shards."""

import math
import os
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.weights.tensor_bundle.crc32c import masked_crc32c
from elmokit.weights.tensor_bundle.table import is_table, read_table
from elmokit.weights.tensor_bundle.wire import DamagedError, as_bytes, as_int, read_fields
from elmokit.weights.tensors import StoredTensor

_MOST_INDEX_BYTES = 1 << 26
_MOST_SHARDS = 10_000
_MOST_DIMS = 8
_HALF, _BFLOAT16 = 19, 14
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", _HALF: "<f2", _BFLOAT16: "<u2"}
"""TensorFlow's numbers of the types that weights may have."""
_SHARD = re.compile(r"\.data-\d{5}-of-\d{5}")


@dataclass(frozen=True)
class _Entry:
    """What the index says of a tensor."""

    kind: int = 0
    shape: tuple[int, ...] = ()
    shard: int = 0
    offset: int = 0
    size: int = 0
    checksum: int = 0
    is_sliced: bool = False


def prefix_of(path: Path) -> Path:
    """What a checkpoint is called, by any of its files.

    >>> prefix_of(Path("run/model.ckpt-7.data-00000-of-00001")).name
    'model.ckpt-7'
    """
    name = path.name.removesuffix(".index").removesuffix(".meta")
    return path.with_name(_SHARD.sub("", name))


def read_bundle(prefix: Path) -> dict[str, StoredTensor]:
    """The tensors of the checkpoint ``prefix``, each read when asked for."""
    index = Path(f"{prefix}.index")
    try:
        table = read_table(_read_index(index))
        num_shards = _num_shards(table.pop(b"", b""))
        entries = {
            key.decode("utf-8", "replace"): _entry(value)
            for key, value in table.items()
            if not key.startswith(b"\0")  # a slice of a partitioned variable
        }
    except DamagedError as error:
        raise InputError(f"{index}: damaged checkpoint ({error}); copy it again") from None
    tensors = {}
    for name, entry in entries.items():
        shard = Path(f"{prefix}.data-{entry.shard:05}-of-{num_shards:05}")
        read = partial(_read_tensor, entry, name, shard)
        tensors[name] = StoredTensor(index, entry.shape, read)
    return tensors


def _read_index(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - 64))
        if size > _MOST_INDEX_BYTES or not is_table(file.read()):
            raise InputError(f"{path}: this is not the index of a TensorFlow checkpoint")
        file.seek(0)
        return file.read(_MOST_INDEX_BYTES)


def _num_shards(header: bytes) -> int:
    fields = dict(read_fields(header))
    count = as_int(fields.get(1, 0))
    if not 1 <= count <= _MOST_SHARDS:
        raise DamagedError(f"it names {count:,} shards")
    if as_int(fields.get(2, 0)) != 0:
        raise DamagedError("its numbers are big-endian, which elmokit does not read")
    return count


def _entry(message: bytes) -> _Entry:
    numbers = {1: 0, 3: 0, 4: 0, 5: 0, 6: 0}
    shape: tuple[int, ...] = ()
    is_sliced = False
    for number, value in read_fields(message):
        if number == 2:
            shape = _shape(as_bytes(value))
        elif number == 7:
            is_sliced = True
        elif number in numbers:
            numbers[number] = as_int(value)
    if min(numbers.values()) < 0:
        raise DamagedError("a place or size in it is negative")
    return _Entry(numbers[1], shape, numbers[3], numbers[4], numbers[5], numbers[6], is_sliced)


def _shape(message: bytes) -> tuple[int, ...]:
    sizes = []
    for number, value in read_fields(message):
        if number == 2:
            sizes.append(as_int(dict(read_fields(as_bytes(value))).get(1, 0)))
    if len(sizes) > _MOST_DIMS or any(size < 0 for size in sizes):
        raise DamagedError(f"a tensor has the shape {tuple(sizes[: _MOST_DIMS + 1])}")
    return tuple(sizes)


def _read_tensor(entry: _Entry, name: str, shard: Path) -> Tensor:
    """The values as float32; whatever the index claims is compared with the shard before."""
    if entry.is_sliced:
        raise InputError(
            f"{shard}: {name} is stored in slices (a partitioned variable), which elmokit does not "
            f"read; save it whole with a tf.train.Saver"
        )
    if entry.kind not in _TYPES:
        raise InputError(
            f"{shard}: {name} has TensorFlow's type {entry.kind}, not a number; this is not a file "
            f"of weights"
        )
    kind = np.dtype(_TYPES[entry.kind])
    num_bytes = math.prod(entry.shape) * kind.itemsize
    if num_bytes != entry.size:
        raise InputError(
            f"{shard}: {name} of shape {entry.shape} takes {num_bytes:,} bytes, but the index says "
            f"{entry.size:,}; the checkpoint is damaged, so copy it again"
        )
    data = _read_bytes(entry, name, shard)
    if masked_crc32c(data) != entry.checksum:
        raise InputError(f"{shard}: the checksum of {name} is wrong; copy the file again")
    values = np.frombuffer(data, dtype=kind).reshape(entry.shape)
    if entry.kind == _BFLOAT16:  # the upper half of a float32
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return torch.from_numpy(values.astype(np.float32, copy=False))


def _read_bytes(entry: _Entry, name: str, shard: Path) -> bytearray:
    if not shard.is_file():
        raise InputError(f"{shard}: there is no such file, but {name} is stored in it")
    with shard.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if entry.offset + entry.size > size:
            raise InputError(
                f"{shard}: {size:,} bytes, but {name} ends at {entry.offset + entry.size:,}; the "
                f"file is truncated, so copy it again"
            )
        file.seek(entry.offset)
        data = bytearray(entry.size)
        file.readinto(data)
        return data
