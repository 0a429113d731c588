"""What is attacked: good files of every kind, and the code that reads them.

A target's ``make`` writes good files into a folder; its ``read`` reads all of them. Whatever is in
the files, ``read`` must return or raise InputError.
"""

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from elmokit.errors import InputError

HELPERS = Path(__file__).parents[1] / "tests" / "helpers"
sys.path[:0] = [str(HELPERS / "models"), str(HELPERS / "data")]


@dataclass(frozen=True)
class Target:
    """One kind of input."""

    name: str
    make: Callable[[Path], None]
    read: Callable[[Path], object]
    weight: int = 1
    """How much of the time it deserves."""


class Victim:
    """The good files of a target in a folder, damaged one at a time."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        folder.mkdir(parents=True, exist_ok=True)
        target.make(folder)
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        self.damaged: set[str] = set()
        target.read(folder)  # good files are read

    @property
    def names(self) -> list[str]:
        return list(self.files)

    def attack(self, name: str, content: bytes) -> Exception | None:
        """Read the files with one of them replaced; what was raised that no user should meet."""
        self._restore()
        (self.folder / name).write_bytes(content)
        self.damaged = {name}
        try:
            self.target.read(self.folder)
        except InputError as error:
            sentence = str(error)
            if not sentence or len(sentence) > 3000:
                return AssertionError(f"an InputError of {len(sentence)} characters")
        except Exception as error:
            return error
        return None

    def _restore(self) -> None:
        """Readers may rename what is damaged, and writers replace it."""
        for name, content in self.files.items():
            path = self.folder / name
            if name in self.damaged or not path.is_file():
                path.write_bytes(content)


def draw_attack(victim: Victim, source: random.Random) -> tuple[str, bytes]:
    """A file and its damaged content."""
    from mutations import damage

    name = source.choice(victim.names)
    return name, damage(victim.files[name], source, name)


def all_targets() -> Sequence[Target]:
    """Every target, models first."""
    from targets_of_models import MODELS
    from targets_of_runs import RUNS
    from targets_of_texts import TEXTS

    return [*MODELS, *RUNS, *TEXTS]
