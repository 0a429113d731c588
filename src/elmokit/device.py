"""Where a model runs: the device, its instructions, and how many threads PyTorch uses."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from elmokit.errors import InputError

AUTO = "auto"
CPUINFO = Path("/proc/cpuinfo")


def usable_device(name: str | torch.device) -> torch.device:
    """The device of that name; raises ``InputError`` if torch cannot use it on this machine.

    ``auto`` is the first GPU that torch can use, otherwise the CPU.
    """
    if name == AUTO:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # torch raises either
        reason = str(error).splitlines()[0]
        raise InputError(f"device {name}: cannot be used here ({reason}); use cpu") from None


def multiplies_bfloat16_fast(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16 products, which are very slow otherwise."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and not {"avx512_bf16", "amx_bf16"}.isdisjoint(_cpu_flags())


def multiplies_int16_fast(device: torch.device) -> bool:
    """Whether the device multiplies and adds 16 pairs of 16-bit integers at once: AVX2."""
    return device.type == "cpu" and "avx2" in _cpu_flags()


@contextmanager
def limited_threads(num_threads: int | None) -> Iterator[None]:
    """Limit PyTorch to ``num_threads`` inside the block; None changes nothing."""
    before = torch.get_num_threads()
    if num_threads is None or num_threads == before:
        yield
        return
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _cpu_flags() -> set[str]:
    """The flags that Linux reports for an x86 processor; empty elsewhere."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())
