"""CHECKPOINTS: everything a run needs to go on as if it had never stopped, in one file.

RUN/
  run.json             recipe, data, command: what was asked
  log.jsonl            one line an event
  checkpoints/NNN.pt   the last few, and the best
  best.json            which one is best, and its perplexity
"""

import json
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import InputError
from elmokit.files import replacing_file, write_json


class Checkpoints:
    """The checkpoint files of one run; each is complete or absent."""

    def __init__(self, run: Path, keep: int) -> None:
        self.folder = run / "checkpoints"
        self.best_file = run / "best.json"
        self.keep = keep

    def save(self, step: int, content: dict[str, Any]) -> Path:
        path = self.folder / f"{step:09d}.pt"
        with replacing_file(path) as aside:
            torch.save(content, aside)
        self._prune()
        return path

    def mark_best(self, path: Path, perplexity: float) -> None:
        write_json(self.best_file, {"checkpoint": path.name, "perplexity": perplexity})
        self._prune()

    def latest(self) -> Path | None:
        paths = sorted(self.folder.glob("*.pt"))
        return paths[-1] if paths else None

    def best(self) -> Path | None:
        if not self.best_file.is_file():
            return None
        path = self.folder / str(json.loads(self.best_file.read_text())["checkpoint"])
        return path if path.is_file() else None

    def _prune(self) -> None:
        best = self.best()
        for path in sorted(self.folder.glob("*.pt"))[: -self.keep]:
            if path != best:
                path.unlink()
        for part in self.folder.glob(".*.part"):  # of a run killed while writing
            part.unlink()


def read_checkpoint(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError) as error:
        raise InputError(f"{path}: not a checkpoint of elmokit ({error})") from None
    return content
