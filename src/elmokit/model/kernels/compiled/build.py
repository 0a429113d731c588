"""Compile a C file of this folder into a shared library, once per machine, and load it."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

FLAGS = ("-O3", "-std=c11", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
SWITCH = "ELMOKIT_COMPILED"
"""Set this environment variable to 0 to use PyTorch instead of compiled code."""

POINTER, COUNT, NUMBER = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float


@cache
def library(name: str, *defines: str) -> ctypes.CDLL | None:
    """The library compiled from ``name``.c; None without a compiler, or if the compiler fails."""
    compiler = find_compiler()
    if compiler is None:
        return None
    source = Path(__file__).with_name(f"{name}.c")
    command = [compiler, *FLAGS, *_machine_flags(), *(f"-D{define}" for define in defines)]
    target = _cache_folder() / f"{name}-{_fingerprint(source, command)}.so"
    try:
        if not target.is_file():
            _compile(command, source, target)
        return ctypes.CDLL(str(target))
    except (OSError, subprocess.SubprocessError):
        return None  # PyTorch gives the same results


def address(tensor: Tensor | None, dtype: torch.dtype = torch.float32) -> int | None:
    """The address of a tensor's data, for C; None is NULL."""
    if tensor is None:
        return None
    assert tensor.is_contiguous() and tensor.dtype == dtype and tensor.device.type == "cpu"
    return tensor.data_ptr()


def find_compiler() -> str | None:
    """The C compiler that will be used: $CC, else cc, gcc or clang."""
    if os.environ.get(SWITCH, "1") == "0" or os.name != "posix":
        return None
    names = (os.environ.get("CC"), "cc", "gcc", "clang")
    return next((path for name in names if name and (path := shutil.which(name))), None)


def _compile(command: list[str], source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        subprocess.run(
            [*command, "-shared", "-fPIC", "-pthread", str(source), "-o", str(made), "-lm"],
            check=True,
            capture_output=True,
            timeout=120,
        )
        os.replace(made, target)  # another process may have made it in the meantime


def _machine_flags() -> list[str]:
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return ["-march=native"] if is_x86 else ["-mcpu=native"]


def _fingerprint(source: Path, command: list[str]) -> str:
    """A checksum of source, command and processor: different machines may share a home folder."""
    headers = [path.read_bytes() for path in sorted(source.parent.glob("*.h"))]
    parts = [
        source.read_bytes(),
        *headers,
        " ".join(command).encode(),
        platform.platform().encode(),
    ]
    return hashlib.sha256(b"\0".join([*parts, _processor()])).hexdigest()[:16]


def _processor() -> bytes:
    try:
        lines = Path("/proc/cpuinfo").read_bytes().splitlines()
    except OSError:
        return platform.processor().encode()
    kinds = (b"model name", b"flags", b"Features", b"CPU part")
    return b"\n".join(sorted({line for line in lines if line.startswith(kinds)}))


def _cache_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "elmokit"
