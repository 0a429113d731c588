"""Files of tensors, read as float32: safetensors, also written, and the state dicts of others."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from elmokit.errors import InputError, reason_of

StorageType = Literal["float32", "float16"]
"""How weights are stored; they are computed in float32 either way."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor that is still in its file: the shape is known, the values are read when needed."""

    path: Path
    """The file, for messages."""
    shape: tuple[int, ...]
    read: Callable[[], Tensor]
    """The values as float32; whatever is wrong with them is an InputError."""


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file; every tensor becomes float32."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file, but config.json asks for it")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise InputError(f"{path}: damaged safetensors file ({error}); copy it again") from None
    return {name: tensor.float() for name, tensor in tensors.items()}


def read_pickled_tensors(path: Path) -> dict[str, Tensor]:
    """A state dict as torch saves it; nothing but tensors is unpickled."""
    try:
        values = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle may raise anything; none of its code is run
        raise InputError(
            f"{path}: refused, because it is damaged or holds more than tensors "
            f"({reason_of(error)}); download it again from its publisher"
        ) from None
    if not isinstance(values, dict) or not all(_is_plain(value) for value in values.values()):
        raise InputError(f"{path}: not a table of tensors; download it again")
    return {str(name): tensor.float() for name, tensor in values.items()}


def _is_plain(value: object) -> bool:
    """Whether it is a tensor whose numbers are in the file: not sparse, quantized or meta."""
    if not isinstance(value, Tensor):
        return False
    return value.layout == torch.strided and value.device.type == "cpu" and not value.is_quantized


def write_tensors(path: Path, tensors: dict[str, Tensor], dtype: StorageType) -> None:
    """Write a safetensors file in the given precision."""
    stored = getattr(torch, dtype)
    converted = {
        name: tensor.detach().cpu().to(stored).contiguous() for name, tensor in tensors.items()
    }
    for name, tensor in converted.items():
        if not tensor.float().sum().isfinite():
            raise InputError(f"{path.name}: {name} does not fit into {dtype}; store it in float32")
    save_file(converted, path)
    path.chmod(0o644)  # safetensors makes files for their owner alone
