"""Opens untrusted HDF5 files: only plain arrays inside the file itself are read.

HDF5 can point elsewhere: links to other files, datasets stored in other files or put together
from them, filters loaded as plug-ins. All of that is refused by name before a byte is read.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor

from elmokit.errors import InputError, reason_of
from elmokit.weights.tensors import StoredTensor

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_LFS_POINTER = b"version https://git-lfs"
_KNOWN_FILTERS = frozenset(
    (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32,
     h5py.h5z.FILTER_LZF, h5py.h5z.FILTER_SCALEOFFSET, h5py.h5z.FILTER_NBIT)
)  # fmt: skip
_MOST_NAMES = 10_000
_MOST_LEVELS = 16
_GREATEST_RATIO = 1000
"""How much larger than its storage a dataset may be; about how well zeros compress."""
_FREE_BYTES = 1 << 20
"""The ratio is not limited for datasets of at most this size."""


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """An open file; any problem with it, now or while it is read, raises InputError."""
    _require_signature(path)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        if "truncated" in str(error):
            raise InputError(
                f"{path}: this HDF5 file is truncated at {path.stat().st_size:,} bytes; "
                f"download or copy it again"
            ) from None
        raise InputError(
            f"{path}: damaged HDF5 file ({reason_of(error)}); download it again"
        ) from error


def find_datasets(file: h5py.File, path: Path) -> dict[str, h5py.Dataset]:
    """Every dataset by its full name, each checked; anything that points elsewhere is refused."""
    found: dict[str, h5py.Dataset] = {}
    groups: list[tuple[str, h5py.Group]] = [("", file)]
    num_names = 0
    while groups:
        prefix, group = groups.pop()
        for key in group:
            name = f"{prefix}{key}"
            num_names += 1
            if num_names > _MOST_NAMES or name.count("/") > _MOST_LEVELS:
                raise InputError(
                    f"{path}: holds more than {_MOST_NAMES:,} names or {_MOST_LEVELS} levels; this "
                    f"is not a file of weights"
                )
            item = _own_item(group, key, name, path)
            if isinstance(item, h5py.Group):
                groups.append((f"{name}/", item))
            elif isinstance(item, h5py.Dataset):
                require_plain(item, name, path)
                found[name] = item
    return found


def stored_tensors(file: h5py.File, path: Path) -> dict[str, StoredTensor]:
    """Every dataset by its full name, each checked; they can be read while the file is open."""
    return {
        name: StoredTensor(path, dataset.shape, partial(read_tensor, dataset, name, path))
        for name, dataset in find_datasets(file, path).items()
    }


def find_dataset(file: h5py.File, name: str, path: Path) -> h5py.Dataset | None:
    """One dataset by its full name, checked; None if there is none of this name."""
    item: h5py.Group | h5py.Dataset = file
    for key in name.split("/"):
        if not isinstance(item, h5py.Group) or key not in item:
            return None
        item = _own_item(item, key, name, path)
    if not isinstance(item, h5py.Dataset):
        return None
    require_plain(item, name, path)
    return item


def has_name(file: h5py.File, name: str) -> bool:
    """Whether the file has a group or a dataset of this name; no link is followed."""
    try:
        return isinstance(file.get(name, getlink=True), h5py.HardLink)
    except (KeyError, RuntimeError):
        return False


def read_tensor(dataset: h5py.Dataset, name: str, path: Path) -> Tensor:
    """A checked dataset as float32."""
    if dataset.dtype.kind not in "fiu":
        raise InputError(f"{path}: {name} holds no numbers; this is not a file of weights")
    try:
        values = np.asarray(dataset[()])
    except (OSError, KeyError, RuntimeError) as error:
        raise InputError(f"{path}: cannot read {name} ({error}); download it again") from None
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def require_plain(dataset: h5py.Dataset, name: str, path: Path) -> None:
    """Refuse a dataset that is stored outside of its file, or that is larger than it can be."""
    if dataset.external or dataset.is_virtual:
        raise InputError(
            f"{path}: refused, because {name} takes its values from other files; get the file "
            f"from a source you trust"
        )
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(number)[0] for number in range(properties.get_nfilters())}
    if not filters <= _KNOWN_FILTERS:
        raise InputError(
            f"{path}: {name} is compressed by a plug-in (filter {min(filters - _KNOWN_FILTERS)}), "
            f"which elmokit does not load; write the file with gzip or uncompressed"
        )
    num_bytes, stored = dataset.nbytes, dataset.id.get_storage_size()
    ratio = _GREATEST_RATIO if filters else 1
    if num_bytes > _FREE_BYTES and dataset.dtype.kind in "fiu" and num_bytes > ratio * stored:
        raise InputError(
            f"{path}: {name} claims {num_bytes:,} bytes but stores only {stored:,}; the file is "
            f"damaged or made to exhaust memory, so download it again"
        )


def _own_item(group: h5py.Group, key: str, name: str, path: Path) -> h5py.Group | h5py.Dataset:
    link = group.get(key, getlink=True)
    if not isinstance(link, h5py.HardLink):
        raise InputError(
            f"{path}: refused, because {name} is a link to elsewhere; get the file from a source "
            f"you trust"
        )
    return group[key]


def _require_signature(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: this file may not be read; check its permissions")
    with path.open("rb") as stream:
        head = stream.read(512)
    if head.startswith(_SIGNATURE):
        return
    if head.startswith(_LFS_POINTER):
        raise InputError(
            f"{path}: this is a git-lfs pointer, not the weights; fetch them with  git lfs pull"
        )
    if not head:
        raise InputError(f"{path}: this file is empty; download it again")
    if b"\x00" not in head:
        kind = "a web page" if head.lstrip()[:1] == b"<" else "text"
        raise InputError(f"{path}: this is {kind}, not HDF5; download the file again")
    raise InputError(f"{path}: this is not an HDF5 file; give the weights of a biLM")
