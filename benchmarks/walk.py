"""How far a reader walks: the files of elmokit that an action runs through, cold.

A file counts when a function of it is called. A change is a call into another file than the last,
counted once for each function and file it is reached from: a loop is read once. Imports, and what
torch calls back for its operators, are not counted. A training ends at its second step, a report
after its first sections.

    python benchmarks/walk.py DATA CORPUS            # DATA holds wnut17, ewt and glove
    python benchmarks/walk.py DATA CORPUS --show     # every change of file, in order
    python benchmarks/walk.py DATA CORPUS --only embed
"""

import argparse
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import elmokit

HOME = str(Path(elmokit.__file__).parent)


class _EnoughError(Exception):
    """Ends an action once the part that counts has run."""


def _is_import(frame: FrameType | None) -> bool:
    """A module or a class being defined, or what its definition calls, such as a decorator."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(HOME) and not code.co_flags & inspect.CO_OPTIMIZED:
            return True
        frame = frame.f_back
    return False


class Walk:
    """Counts files, changes of file and readings of a model, in every thread of an action."""

    def __init__(self, last_call: tuple[str, str, int] | None) -> None:
        self.files: set[str] = set()
        self.changes: dict[tuple[str, str, str], None] = {}  # in the order of the walk
        self.num_models_read = 0
        self.last_call = last_call
        self._calls = 0
        self._file: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        name, function = frame.f_code.co_filename, frame.f_code.co_name
        if event != "call" or not name.startswith(HOME) or _is_import(frame):
            return
        if function == "__torch_function__":
            return
        self.files.add(name)
        self.num_models_read += function == "build_bilm"
        thread = threading.get_ident()
        if self._file.get(thread, name) != name:
            self.changes.setdefault((self._file[thread], name, function))
        self._file[thread] = name
        if self.last_call and (Path(name).name, function) == self.last_call[:2]:
            self._calls += 1
            if self._calls == self.last_call[2]:
                raise _EnoughError

    def steps(self) -> list[str]:
        """The changes of file, one line each: from which file, into which function."""
        return [
            f"  {Path(here).relative_to(HOME)} -> {Path(there).relative_to(HOME)}:{function}"
            for here, there, function in self.changes
        ]

    def over(self, action: Callable[[], object]) -> None:
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            action()
        except (_EnoughError, SystemExit):
            pass
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def command(*arguments: object) -> None:
    from elmokit.cli import main

    sys.argv = ["elmokit", *map(str, arguments)]
    main()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="How many files an action runs through.")
    parser.add_argument("data", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--show", action="store_true", help="print every change of file")
    parser.add_argument("--only", default="", help="actions whose title has this in it")
    options = parser.parse_args(arguments)
    data, corpus = options.data, options.corpus
    with tempfile.TemporaryDirectory() as folder:
        wnut = data / "wnut17"
        actions: list[tuple[str, Callable[[], object], tuple[str, str, int] | None]] = [
            (
                "load + embed",
                lambda: elmokit.load().embed([["I", "like", "apples", "."]]),
                None,
            ),
            (
                "train, to its second step",
                lambda: command("train", "tiny", "--data", corpus, "-o", f"{folder}/run"),
                ("loop.py", "_advance", 2),
            ),
            (
                "task train ner, to its second batch",
                lambda: command(
                    "task", "train", "ner", "--train", *sorted(wnut.glob("*train*"))[:1],
                    "--dev", *sorted(wnut.glob("*dev*"))[:1],
                    "--out", f"{folder}/ner", "--vectors", data / "glove",
                    "--cache", f"{folder}/layers",  # empty: a full one would hide the biLM
                ),
                ("fit.py", "step", 2),
            ),
            (
                "report of demo and part of speech",
                lambda: command(
                    "report", "-o", f"{folder}/report", "--data", data, "--only", "demo",
                    "--only", "pos",
                ),
                None,
            ),
        ]  # fmt: skip
        for title, action, last_call in actions:
            if options.only not in title:
                continue
            walk = Walk(last_call)
            walk.over(action)
            print(
                f"{title}: {len(walk.files)} files, {len(walk.changes)} changes of file, "
                f"{walk.num_models_read} models read"
            )
            if options.show:
                print("\n".join(walk.steps()))


if __name__ == "__main__":
    main(sys.argv[1:])
