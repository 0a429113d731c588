"""What starting costs: ``elmokit.load()`` and a two-line ``elmokit embed`` beside ``import torch``.

CPU seconds of whole processes with one thread, in turns; the medians count. Asked: at most 1.25.

    python benchmarks/speed/startup.py --turns 7
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TWO_LINES = "I like apples.\nShe works for Apple.\n"
PROGRAMS = {
    "import torch": ("-c", "import torch"),
    "elmokit.load()": ("-c", "import elmokit; elmokit.load()"),
    "elmokit embed two.txt": ("-m", "elmokit", "embed", "two.txt", "-o", "vectors.h5"),
    "elmokit --help": ("-m", "elmokit", "--help"),
}


def cpu_seconds(arguments: tuple[str, ...], folder: Path) -> float:
    """User and system time of one process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=7)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "two.txt").write_text(TWO_LINES)
        for program in PROGRAMS.values():
            cpu_seconds(program, folder)  # writes bytecode, fills the disk cache
        seconds: dict[str, list[float]] = {title: [] for title in PROGRAMS}
        for _ in range(turns):
            for title, program in PROGRAMS.items():
                seconds[title].append(cpu_seconds(program, folder))
    torch = seconds["import torch"]
    for title, times in seconds.items():
        ratios = sorted(one / other for one, other in zip(times, torch, strict=True))
        print(
            f"{title:<24}{statistics.median(times):6.2f} s   "
            f"{statistics.median(times) / statistics.median(torch):5.2f} x import torch   "
            f"(turns: {ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


if __name__ == "__main__":
    main()
