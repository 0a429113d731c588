"""Train with 1, 2 and 4 processes at the same global batch and compare held-out perplexity.

python benchmarks/speed/processes.py --data DATA [--tokens 400000]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from elmokit.pretrain.training.run_folder import read_log


def perplexity(data: Path, out: Path, processes: int, tokens: int) -> float:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone",
        f"--nproc-per-node={processes}", "-m", "elmokit", "train", "tiny",
        "--data", str(data), "--out", str(out), "--set", f"train.max_tokens={tokens}",
        "--set", "train.evaluate_every=1000000", "--set", "train.num_epochs=50.0",
    ]  # fmt: skip
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    events = [event for event in read_log(out / "log.jsonl") if event["event"] == "heldout"]
    return float(events[-1]["mean_perplexity"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=400_000)
    options = parser.parse_args()
    alone = None
    with tempfile.TemporaryDirectory() as folder:
        for processes in (1, 2, 4):
            found = perplexity(
                options.data, Path(folder, str(processes)), processes, options.tokens
            )
            alone = alone or found
            print(f"{processes} processes: perplexity {found:.2f} ({found / alone - 1:+.2%})")


if __name__ == "__main__":
    main()
