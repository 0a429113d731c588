"""Which precision a user's name stands for on this machine."""

from typing import Literal

import torch

from elmokit.device import multiplies_bfloat16_fast, multiplies_int16_fast
from elmokit.errors import InputError
from elmokit.model.kernels.compiled.lstm_layer import compiled_layer
from elmokit.model.kernels.lstm_weights import PRECISIONS, Precision

PrecisionName = Precision | Literal["auto"]


def require_precision(name: str) -> None:
    """Refuse an unknown precision before any work is done."""
    if name not in (*PRECISIONS, "auto"):
        raise InputError(f"precision must be {', '.join(PRECISIONS)} or auto, got {name!r}")


def usable_precision(name: str, device: torch.device) -> Precision:
    """``auto`` is the precision in which this processor multiplies fastest.

    That is bfloat16 where there are instructions for it, int8 on other CPUs with AVX2 where a C
    compiler has made the kernel, and float32 everywhere else: PyTorch alone multiplies narrow
    numbers more slowly there.
    """
    require_precision(name)
    if name == "auto":
        if multiplies_bfloat16_fast(device):
            return "bfloat16"
        is_faster = multiplies_int16_fast(device) and compiled_layer("int8") is not None
        return "int8" if is_faster else "float32"
    return next(precision for precision in PRECISIONS if precision == name)


def describe_auto(device: torch.device) -> str:
    """What ``auto`` is on this machine, and why."""
    chosen = usable_precision("auto", device)
    reasons: dict[Precision, str] = {
        "bfloat16": "multiplied in hardware",
        "int8": "compiled kernel with AVX2; no instructions for bfloat16",
        "float32": "no instructions for bfloat16, and no C compiler or no AVX2",
    }
    return f"{chosen} ({reasons[chosen]})"
