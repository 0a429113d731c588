"""What every task model must show: it learns 20 examples by heart, and survives a new process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elmokit.tasks.run import CacheConfig, TrainedTask, configured, read_examples, train_task


def overfit(
    name: str, file: Path, folder: Path, elmo: Path, settings: list[str]
) -> tuple[TrainedTask, list[dict[str, object]]]:
    """Train on ``file`` and score on the same; the model, and its answers as plain JSON."""
    trained = train_task(
        name,
        file,
        file,
        folder / "run",
        elmo=elmo,
        config=configured(name, None, settings),
        cache=CacheConfig(folder / "cache"),
        quiet=True,
    )
    examples = read_examples(trained.task, file)
    predictions = trained.predict(examples)
    rows = [trained.task.to_json(e, p) for e, p in zip(examples, predictions, strict=True)]
    return trained, [json.loads(json.dumps(row)) for row in rows]


def predict_in_new_process(folder: Path, file: Path) -> list[dict[str, object]]:
    """``elmokit task predict --labelled --json`` on the folder that ``overfit`` has written."""
    command = [sys.executable, "-m", "elmokit", "task", "predict", str(folder / "run"), str(file)]
    result = subprocess.run(
        [*command, "--labelled", "--json"], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def close(found: Any, wanted: Any) -> bool:
    """Whether two answers are the same, numbers to 1e-4: layers came from other batches.

    (Rounding both would not do: two neighbours may lie on either side of a rounding.)
    """
    if isinstance(wanted, float):
        return bool(found == pytest.approx(wanted, abs=1e-4))
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(close, found, wanted))
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(close(found[k], wanted[k]) for k in wanted)
    return bool(found == wanted)
