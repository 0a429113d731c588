"""FILES OF TENSORS <-> MODULES: every reader ends here, so every file is checked the same way.

Files are read as float32: safetensors, also written, and the state dicts of others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from elmokit.config import ModelConfig
from elmokit.errors import InputError, reason_of
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmState
from elmokit.model.softmax import Softmax

StorageType = Literal["float32", "float16"]
"""How weights are stored; they are computed in float32 either way."""
STATE_FILE = "settled.safetensors"
"""A stored biLM state: what ``start="settled"`` starts every sentence from."""


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


class _NoDraws(TorchFunctionMode):
    """Skips the random initialisation of weights, for modules built on the meta device.

    Drawing them would change nothing there, but torch decomposes it by way of its compiler, and
    importing that takes as long as importing all else of torch.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def meta_bilm(config: ModelConfig) -> BiLm:
    """A biLM with shapes and no memory: built in a moment, whatever its size."""
    with torch.device("meta"), _NoDraws():
        return BiLm(config)


def build_bilm(config: ModelConfig, tensors: Mapping[str, Tensor], where: Path | str) -> BiLm:
    """The biLM that owns ``tensors`` (float32, by their ``state_dict`` names); nothing is copied.

    Built without memory first: random initial weights would take longer than reading the file.
    """
    bilm = meta_bilm(config)
    expected = bilm.state_dict()
    missing = sorted(expected.keys() - tensors.keys())
    unknown = sorted(tensors.keys() - expected.keys())
    if missing or unknown:
        problem = f"lack {missing[0]}" if missing else f"hold {unknown[0]}, which has no place"
        raise InputError(f"{where}: the weights {problem}; they do not belong to this config")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape:
            raise InputError(
                f"{where}: {name} has shape {tuple(tensor.shape)}, but the config asks for "
                f"{tuple(expected[name].shape)}; they do not belong together"
            )
        require_finite(tensor, name, where)
    bilm.load_state_dict(dict(tensors), strict=True, assign=True)
    return bilm.eval()


def build_softmax(weight: Tensor, bias: Tensor, where: Path | str) -> Softmax:
    """A softmax that owns ``weight`` (V, P) and ``bias`` (V)."""
    require_finite(weight, "softmax weight", where)
    require_finite(bias, "softmax bias", where)
    with torch.device("meta"), _NoDraws():
        softmax = Softmax(*weight.shape)
    softmax.load_state_dict({"weight": weight, "bias": bias}, strict=True, assign=True)
    return softmax.eval()


def require_finite(tensor: Tensor, name: str, where: Path | str) -> None:
    """Refuse a tensor with NaN or infinite values; ``where`` is the file it came from."""
    # One NaN or infinity always reaches the sum; the slower look is for sums that overflow.
    if not tensor.sum().isfinite() and not tensor.isfinite().all():
        count = int((~tensor.isfinite()).sum())
        raise InputError(
            f"{where}: {name} holds {count:,} values that are NaN or infinite; the file is damaged "
            f"or its training diverged, so download it again or export an earlier checkpoint"
        )


def read_state(folder: Path, config: ModelConfig) -> BiLmState | None:
    """The state of one row stored beside a model's weights; None if there is none."""
    path = folder / STATE_FILE
    if not path.is_file():
        return None
    tensors = read_tensors(path)
    lstm = config.lstm
    widths = {"hidden": lstm.projection_dim, "cell": lstm.dim}
    for name in (f"{side}.{part}" for side in ("forward", "backward") for part in widths):
        shape = (lstm.num_layers, 1, widths[name.split(".")[1]])
        if name not in tensors or tuple(tensors[name].shape) != shape:
            raise InputError(
                f"{path}: {name} of shape {shape} is missing; the state belongs to another model, "
                f"so delete the file or settle the model again"
            )
        require_finite(tensors[name], name, path)
    return BiLmState(
        LstmState(tensors["forward.hidden"], tensors["forward.cell"]),
        LstmState(tensors["backward.hidden"], tensors["backward.cell"]),
    )


def write_state(state: BiLmState, folder: Path) -> None:
    """Store a state of one row in a model's folder."""
    tensors = {
        f"{side}.{part}": tensor
        for side, one in (("forward", state.forward), ("backward", state.backward))
        for part, tensor in zip(one._fields, one, strict=True)
    }
    write_tensors(folder / STATE_FILE, tensors, "float32")
