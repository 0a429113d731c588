"""Resolves the name of a precision, such as ``auto``, on this machine."""

from typing import Literal

import torch

from elmokit.device import multiplies_bfloat16_fast, multiplies_int16_fast
from elmokit.errors import InputError
from elmokit.model.kernels.compiled.lstm_layer import compiled_layer
from elmokit.model.kernels.lstm_weights import PRECISIONS, Precision

PrecisionName = Precision | Literal["auto"]
"""A precision, or ``auto`` for the fastest one on this processor."""


def require_precision(name: str) -> None:
    """Reject an unknown precision before any work is done."""
    if name not in (*PRECISIONS, "auto"):
        raise InputError(f"precision must be {', '.join(PRECISIONS)} or auto, got {name!r}")


def usable_precision(name: str, device: torch.device) -> Precision:
    """The precision of that name; ``auto`` is the fastest one on this processor.

    That is bfloat16 if there are instructions for it, int8 on other CPUs with AVX2 if a C compiler
    is available, and otherwise float32, because PyTorch alone multiplies narrow types more slowly.
    """
    require_precision(name)
    if name == "auto":
        if multiplies_bfloat16_fast(device):
            return "bfloat16"
        is_faster = multiplies_int16_fast(device) and compiled_layer("int8") is not None
        return "int8" if is_faster else "float32"
    return next(precision for precision in PRECISIONS if precision == name)


def describe_auto(device: torch.device) -> str:
    """What ``auto`` means on this machine, and why."""
    chosen = usable_precision("auto", device)
    reasons: dict[Precision, str] = {
        "bfloat16": "multiplied in hardware",
        "int8": "compiled kernel with AVX2; no instructions for bfloat16",
        "float32": "no instructions for bfloat16, and no C compiler or no AVX2",
    }
    return f"{chosen} ({reasons[chosen]})"
