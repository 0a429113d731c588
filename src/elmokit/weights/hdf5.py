"""Open HDF5 files, and say what a file is that only pretends to be one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor

from elmokit.errors import InputError

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_LFS_POINTER = b"version https://git-lfs"


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    """An open file; whatever is wrong with it becomes one sentence."""
    _require_signature(path)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        if "truncated" in str(error):
            raise InputError(
                f"{path}: this HDF5 file is truncated at {path.stat().st_size:,} bytes; "
                f"download or copy it again"
            ) from None
        raise InputError(f"{path}: damaged HDF5 file ({error}); download it again") from None
    with file:
        yield file


def read_tensor(file: h5py.File, name: str, path: Path) -> Tensor:
    """A dataset as float32; the caller has checked that it exists."""
    try:
        values = file[name][()]
    except (OSError, KeyError) as error:
        raise InputError(f"{path}: cannot read {name} ({error}); download it again") from None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        raise InputError(f"{path}: {name} holds no numbers; this is not a file of weights")
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def dataset_names(file: h5py.File) -> list[str]:
    names: list[str] = []
    file.visititems(
        lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None
    )
    return names


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
