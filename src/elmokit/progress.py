"""Progress with rate and time left: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_EVERY_SECONDS = 10.0


class Meter:
    """Counts work done; the work itself only has to call ``advance``."""

    def __init__(self, title: str, unit: str, total: int | None) -> None:
        self.title = title
        self.unit = unit
        self.total = total
        self.done = 0
        self.started = time.monotonic()

    @property
    def rate(self) -> float:
        """Units per second since the start."""
        return self.done / max(time.monotonic() - self.started, 1e-9)

    def advance(self, amount: int = 1, note: str = "") -> None:
        """Count ``amount`` more units as done; ``note`` is shown beside them."""
        self.done += amount
        self._show(note)

    def _show(self, note: str) -> None:
        """Overridden by what is visible; the base class is silent."""


class _Bar(Meter):
    def __init__(self, title: str, unit: str, total: int | None, progress: "Progress") -> None:
        super().__init__(title, unit, total)
        self.progress = progress
        self.task = progress.add_task(title, total=total, speed="", note="")

    def _show(self, note: str) -> None:
        speed = f"{self.rate:,.0f} {self.unit}/s"
        self.progress.update(self.task, completed=self.done, speed=speed, note=note)


class _Lines(Meter):
    last_line = 0.0

    def _show(self, note: str) -> None:
        now = time.monotonic()
        if now - max(self.last_line, self.started) < LINE_EVERY_SECONDS:
            return
        self.last_line = now
        share = f" of {self.total:,} ({self.done / self.total:.0%})" if self.total else ""
        left = f", {_clock((self.total - self.done) / self.rate)} left" if self.total else ""
        print(
            f"{self.title}: {self.done:,}{share} {self.unit}, {self.rate:,.0f}/s{left}"
            + (f", {note}" if note else ""),
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def meter(title: str, unit: str, total: int | None = None, quiet: bool = False) -> Iterator[Meter]:
    """Show progress on standard error: a bar on a terminal, a line every ten seconds elsewhere."""
    if quiet:
        yield Meter(title, unit, total)
    elif sys.stderr.isatty():
        # Imported only for a terminal, because the import is slow.
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%" if total else "{task.completed:,.0f}"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield _Bar(title, unit, total, progress)
    else:
        yield _Lines(title, unit, total)


def _clock(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
