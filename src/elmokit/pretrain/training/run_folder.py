"""THE FOLDER OF A RUN: what was asked for, what was logged, and all that is needed to resume.

RUN/
  run.json             the recipe and the corpus, written when the run starts
  log.jsonl            one event per line
  checkpoints/NNN.pt   after NNN steps: the last few, and the best
  best.json            which checkpoint is the best, and its held-out perplexity
  .lock                held by the process that trains here

A checkpoint is a zip file, as torch.save writes it, with a CRC-32 of every record. torch does not
check these when it reads; ``read_checkpoint`` does.
"""

import json
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from elmokit.errors import InputError, reason_of
from elmokit.files import replacing_file, write_json
from elmokit.files.checksums import zip_damage
from elmokit.files.locks import holder_of, try_lock
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import Recipe, recipe_from_plain
from elmokit.recipe import parse_json

_CHECKPOINT_PARTS = (
    "step", "bilm", "softmax", "optimizers", "state", "best", "best_step", "evaluations_since_best",
)  # fmt: skip


def read_run(run: Path) -> tuple[Recipe, Path]:
    """The recipe of a run, and the corpus it reads."""
    path = run / "run.json"
    if not path.is_file():
        raise InputError(f"{run}: not a training run (there is no run.json)")
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
        recipe, data = content["recipe"], Path(content["data"])
        return recipe_from_plain(recipe, str(path)), data
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):  # a setting with a bad value, named already
            raise
        raise InputError(
            f"{path}: damaged ({reason_of(error)}); copy it from a backup, or put in its place the "
            f"run.json that  elmokit train  writes for the same recipe and data in a new folder"
        ) from None


def write_run(run: Path, recipe: Recipe, data: Path) -> None:
    """Store the recipe and the corpus of a run; nothing is written if they are stored already."""
    content = {"recipe": recipe.to_plain(), "data": str(data.resolve())}
    path = run / "run.json"
    if not path.is_file() or path.read_text(encoding="utf-8") != _as_json(content):
        write_json(path, content)


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


class Checkpoints:
    """The checkpoint files of one run; each is complete or absent."""

    def __init__(self, run: Path, keep: int) -> None:
        """``keep``: how many of the latest checkpoints are kept, besides the best."""
        self.folder = run / "checkpoints"
        self.best_file = run / "best.json"
        self.keep = keep

    def path(self, step: int) -> Path:
        """Where the checkpoint after ``step`` steps is kept."""
        return self.folder / f"{step:09d}.pt"

    def save(self, step: int, content: dict[str, Any]) -> Path:
        """Write a checkpoint and remove those that are no longer needed."""
        path = self.path(step)
        with replacing_file(path) as aside:
            torch.save(content, aside)
        self._prune()
        return path

    def mark_best(self, path: Path, perplexity: float) -> None:
        """Keep this checkpoint until another one is better."""
        write_json(self.best_file, {"checkpoint": path.name, "perplexity": perplexity})
        self._prune()

    def latest(self) -> Path | None:
        """The checkpoint after the most steps; None if there is none."""
        paths = self._all()
        return paths[-1] if paths else None

    def latest_intact(self) -> Path | None:
        """The latest checkpoint that can be read; damaged ones are reported and renamed.

        Raises InputError if there are checkpoints but none of them is intact, so that the run does
        not silently start from the beginning.
        """
        paths = self._all()
        for path in reversed(paths):
            problem = zip_damage(path)
            if problem is None:
                return path
            aside = path.with_name(f"{path.name}.damaged")
            path.replace(aside)
            print(f"{path}: damaged ({problem}); renamed to {aside.name}", file=sys.stderr)
        if paths:
            raise InputError(
                f"{self.folder}: no checkpoint is intact; train again in a new folder, or copy a "
                f"checkpoint from a backup"
            )
        return None

    def best(self) -> Path | None:
        """The checkpoint with the lowest held-out perplexity; None if none was marked."""
        if not self.best_file.is_file():
            return None
        try:
            content = parse_json(self.best_file.read_text(encoding="utf-8"))
            name = str(content["checkpoint"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.best_file}: damaged ({reason_of(error)}); delete it: the latest checkpoint "
                f"then counts as the best, until the run measures the next one"
            ) from None
        return next((path for path in self._all() if path.name == name), None)

    def _all(self) -> list[Path]:
        return sorted(self.folder.glob("*.pt"))

    def _prune(self) -> None:
        best = self.best()
        for path in self._all()[: -self.keep]:
            if path != best:
                path.unlink()
        for part in self.folder.glob(".*.part"):  # of a run killed while writing
            part.unlink()


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The contents of a checkpoint, on the CPU; a damaged or foreign file raises InputError."""
    problem = zip_damage(path)
    if problem is not None:
        raise InputError(
            f"{path}: damaged ({problem}); delete it: the run then resumes, and is exported, from "
            f"an earlier checkpoint"
        )
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError, KeyError, pickle.UnpicklingError) as error:
        raise _foreign(path, reason_of(error)) from None
    found = content if isinstance(content, dict) else {}
    missing = [part for part in _CHECKPOINT_PARTS if part not in found]
    if missing:
        raise _foreign(path, f"it lacks {', '.join(missing)}")
    return found


def load_weights(path: Path, weights: dict[str, Any], bilm: BiLm, softmax: Softmax) -> None:
    """Put the weights of the checkpoint at ``path`` into a biLM and its softmax."""
    try:
        bilm.load_state_dict(weights["bilm"])
        softmax.load_state_dict(weights["softmax"])
    except (RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: does not fit the recipe or the vocabulary of the corpus "
            f"({reason_of(error)}); use the recipe and the corpus that the run was started with"
        ) from None


def _foreign(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path}: not a checkpoint of elmokit ({reason}); remove it from the folder of the run"
    )


class RunLog:
    """Appends events to log.jsonl, to TensorBoard if that is installed, and shows them.

    A resumed run drops what was logged after its checkpoint, so that the log reads as if the run
    had never been interrupted.
    """

    def __init__(self, run: Path, resume_at: int, is_main: bool, is_over: bool = False) -> None:
        """Open the log of the run in folder ``run``.

        Args:
            resume_at: Steps done so far; later events are dropped.
            is_main: Only the main process writes.
            is_over: No step is left to do: the final events will be written again.
        """
        self.path = run / "log.jsonl"
        self.is_main = is_main
        self.board = None
        if not is_main:
            return
        if self.path.is_file():
            self._drop(resume_at, is_over)
        try:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(run / "tensorboard"), purge_step=resume_at)
        except ImportError:
            pass

    def _drop(self, resume_at: int, is_over: bool) -> None:
        kept = [
            event
            for event in read_log(self.path)
            if event.get("step", 0) <= resume_at
            and event["event"] != "stopped"
            and not (is_over and event.get("is_final", False))
        ]
        with replacing_file(self.path) as aside:
            lines = "".join(json.dumps(event) + "\n" for event in kept)
            aside.write_text(lines, encoding="utf-8")

    def write(self, event: str, step: int, message: str, **values: Any) -> None:
        """Log an event with its values, and show ``message``."""
        if not self.is_main:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "step": step, **values}) + "\n")
        print(message, file=sys.stderr, flush=True)
        if self.board is not None:
            for name, value in values.items():
                if isinstance(value, (int, float)):
                    self.board.add_scalar(f"{event}/{name}", value, step)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of a log, in order.

    A last line that a kill cut short is left out silently, other damaged lines with a warning.
    """
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    events = []
    for number, line in enumerate(lines, 1):
        event = _parse_event(line)
        if event is not None:
            events.append(event)
        elif number < len(lines):
            print(
                f"{path}: line {number} is damaged and left out of the curves; the run and its "
                f"weights are not affected",
                file=sys.stderr,
            )
    return events


def _parse_event(line: str) -> dict[str, Any] | None:
    try:
        event = parse_json(line)
    except ValueError:
        return None
    is_event = isinstance(event, dict) and "event" in event
    return event if is_event else None


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold the lock of a run's folder, released when the process ends; raise if it is taken."""
    run.mkdir(parents=True, exist_ok=True)
    path = run / ".lock"
    with try_lock(path) as is_ours:
        if not is_ours:
            holder = holder_of(path)
            raise InputError(
                f"{run}: another process{f' ({holder})' if holder else ''} is training in this "
                f"folder; wait for it, stop it, or choose another folder"
            )
        yield
