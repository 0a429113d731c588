"""The log of a run: JSON lines always, TensorBoard if installed, plain lines for people."""

import json
import sys
from pathlib import Path
from typing import Any


class RunLog:
    """Appends events; on resume, drops what was logged after the checkpoint."""

    def __init__(self, run: Path, resume_at: int, is_main: bool) -> None:
        self.path = run / "log.jsonl"
        self.is_main = is_main
        self.board = None
        if not is_main:
            return
        run.mkdir(parents=True, exist_ok=True)
        kept = [event for event in read_log(self.path) if event["step"] <= resume_at]
        lines = "".join(json.dumps(event) + "\n" for event in kept)
        self.path.write_text(lines, encoding="utf-8")
        try:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(run / "tensorboard"), purge_step=resume_at)
        except ImportError:
            pass

    def write(self, event: str, step: int, message: str, **values: Any) -> None:
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
    """The events of a log; a last line cut short by a kill is left out."""
    events = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                break
    return events
