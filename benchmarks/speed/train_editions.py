"""How much faster does this version train than another one? At the sizes of en-small.

    git worktree add FIRST 9049e14                                 # the first edition
    python benchmarks/speed/train_editions.py TEXT FIRST/src src

TEXT is a plain text file, of which each version prepares a corpus of its own. The versions train in
turns, 30 steps each; what is printed is their rate over the last 20.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SETTINGS = (
    "lstm.dim=1024", "lstm.projection_dim=256",
    "char_cnn.filters=[[1,32],[2,64],[3,128],[4,128],[5,160]]",
    "train.batch_size=256", "train.window=20", "train.num_negatives=2048",
    "train.max_tokens=160000", "train.evaluate_every=1000",
    "train.evaluate_tokens=1000", "train.checkpoint_every=1000",
)  # fmt: skip
TURNS = 2
RUN = """
import sys
try:
    import elmokit.pretrain.training.loop as loop
except ModuleNotFoundError:
    import elmokit.pretrain.loop as loop  # the first edition
loop.LOG_EVERY = 10
from elmokit.cli import main
main()
"""


def elmokit(source: str, *arguments: str) -> str:
    """What the command printed, by the version at ``source``."""
    environment = {**os.environ, "PYTHONPATH": str(Path(source).resolve())}
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout + done.stderr


def main() -> None:
    text, *sources = sys.argv[1:]
    rates: dict[str, list[float]] = {source: [] for source in sources}
    with tempfile.TemporaryDirectory() as folder:
        for number, source in enumerate(sources):
            elmokit(source, "prepare", text, "-o", f"{folder}/corpus-{number}")
        for turn in range(TURNS):
            for number, source in enumerate(sources):
                printed = elmokit(
                    source, "train", "small", "--data", f"{folder}/corpus-{number}",
                    "-o", f"{folder}/run-{number}-{turn}",
                    *(part for setting in SETTINGS for part in ("--set", setting)),
                )  # fmt: skip
                lines = [line for line in printed.splitlines() if "tokens/s" in line]
                last = [line.split(" tokens/s")[0].split()[-1].replace(",", "") for line in lines]
                rates[source].append(sum(map(float, last[1:3])) / 2)
                print(f"turn {turn + 1}  {source}: {rates[source][-1]:,.0f} tokens/s", flush=True)
    first, *others = sources
    for source in others:
        ratios = [new / old for new, old in zip(rates[source], rates[first], strict=True)]
        by_turn = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{source} / {first}: {max(rates[source]) / max(rates[first]):.2f} ({by_turn})")


if __name__ == "__main__":
    main()
