"""TENSORS -> biLM: every reader ends here, so every file is checked the same way."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.lstm import ProjectedLstm
from elmokit.model.softmax import Softmax


class _NoDraws(TorchFunctionMode):
    """Skips the random initialisation of weights."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__name__", "") in ("normal_", "uniform_", "kaiming_uniform_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def _without_memory() -> Iterator[None]:
    """Modules are built on the meta device, and no initial weights are drawn.

    Drawing them would change nothing there, but torch decomposes it by way of its compiler, and
    importing that takes as long as importing all else of torch.
    """
    with torch.device("meta"), _NoDraws():
        yield


def meta_bilm(config: ModelConfig) -> BiLm:
    """A biLM with shapes and no memory: built in a moment, whatever its size."""
    with _without_memory():
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
    for module in bilm.modules():
        if isinstance(module, ProjectedLstm):
            module.reset_forget_bias()
    return bilm.eval()


def build_softmax(weight: Tensor, bias: Tensor, where: Path | str) -> Softmax:
    """A softmax that owns ``weight`` (V, P) and ``bias`` (V)."""
    require_finite(weight, "softmax weight", where)
    require_finite(bias, "softmax bias", where)
    with _without_memory():
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
