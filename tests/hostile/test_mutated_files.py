"""Thousands of damaged files of every kind, the same ones in every run: no reader is surprised.

``make fuzz`` continues from here; reliability/targets.py says what is attacked.
"""

import random
import traceback
import zlib
from pathlib import Path

import pytest
from targets import Target, Victim, all_targets, draw_attack

ATTACKS = {
    "checksums": 400, "static vectors": 400, "FASTA": 400, "kept windows": 300, "prose": 150,
    "corpus": 200, "index": 200, "layer cache": 200, "results": 200, "task files": 150,
    "settings": 200, "training run": 60, "task run": 25, "text files": 40, "command line": 60,
    "AllenNLP archive": 30,
}  # fmt: skip
"""How many of each kind: the fast ones get more."""
USUAL_ATTACKS = 70


@pytest.mark.parametrize("target", all_targets(), ids=lambda target: target.name)
def test_whatever_is_in_a_file_is_read_or_refused_in_one_sentence(
    target: Target, tmp_path: Path
) -> None:
    victim = Victim(target, tmp_path / "files")
    for seed in range(ATTACKS.get(target.name, USUAL_ATTACKS)):
        source = random.Random(zlib.crc32(f"{target.name} {seed}".encode()))
        name, content = draw_attack(victim, source)
        error = victim.attack(name, content)
        if error is not None:
            trace = "".join(traceback.format_exception(error)[-12:])
            pytest.fail(f"{target.name}, seed {seed}, {name} ({len(content)} bytes): {trace}")
