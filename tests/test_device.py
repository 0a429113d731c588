"""What a device can do, as far as settings depend on it."""

from pathlib import Path

import pytest
import torch

from elmokit import device

CPUINFO = """processor\t: 0
model name\t: A processor
flags\t\t: fpu avx2 {flag} avx512f
bugs\t\t: none
"""


@pytest.mark.parametrize(
    ("flag", "is_fast"),
    [("avx512_bf16", True), ("amx_bf16", True), ("avx512_vnni", False), ("avx512_bf16x", False)],
)
def test_bfloat16_is_fast_where_the_processor_has_instructions_for_it(
    flag: str, is_fast: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(CPUINFO.format(flag=flag))
    monkeypatch.setattr(device, "CPUINFO", cpuinfo)
    assert device.multiplies_bfloat16_fast(torch.device("cpu")) == is_fast
    cpuinfo.unlink()
    assert not device.multiplies_bfloat16_fast(torch.device("cpu"))
    assert not device.multiplies_bfloat16_fast(torch.device("meta"))


def test_pairs_of_integers_are_fast_with_avx2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(CPUINFO.format(flag="sse2"))
    monkeypatch.setattr(device, "CPUINFO", cpuinfo)
    assert device.multiplies_int16_fast(torch.device("cpu"))
    assert not device.multiplies_int16_fast(torch.device("meta"))
    cpuinfo.write_text("flags : fpu sse2\n")
    assert not device.multiplies_int16_fast(torch.device("cpu"))
