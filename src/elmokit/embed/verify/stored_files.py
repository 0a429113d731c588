"""Checks whether the files of a model, a corpus or an index are unchanged."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from elmokit.files.checksums import FILE_NAME, check_files
from elmokit.weights.names import ModelName, find_model

Kind = Literal["model", "corpus", "index"]
_MARKS: dict[str, tuple[Kind, str]] = {
    "corpus.json": ("corpus", "copy the corpus again, or make it again with  elmokit prepare"),
    "index.json": ("index", "copy the index again, or make it again with  elmokit index"),
}
_MODEL: tuple[Kind, str] = ("model", "copy or download the model again")


@dataclass(frozen=True)
class FilesReport:
    """What was compared; damage raises ``InputError`` instead."""

    path: Path
    kind: Kind
    num_files: int | None
    """How many files have the recorded checksum; None if none are recorded."""

    def line(self) -> str:
        """The line that ``elmokit verify`` prints."""
        if self.num_files is not None:
            noun = "file" if self.num_files == 1 else "files"
            return f"files      {self.num_files} {noun} of the {self.kind} as {FILE_NAME} says"
        cure = {
            "model": "a copy made with  elmokit convert  has them",
            "corpus": "prepare it again to have them",
            "index": "make it again to have them",
        }
        return f"files      not checked: this {self.kind} carries no checksums; {cure[self.kind]}"


def check_stored(name: ModelName) -> FilesReport:
    """Compare a model (by name or path), a corpus or an index with its checksums."""
    path = find_model(name).path
    if not path.is_dir():
        is_zip = zipfile.is_zipfile(path)  # has checksums of its own, compared when unpacked
        num_files = None if is_zip else check_files(path.parent, _MODEL[1], path.name)
        return FilesReport(path, "model", num_files)
    marks = (known for mark, known in _MARKS.items() if (path / mark).is_file())
    kind, cure = next(marks, _MODEL)
    return FilesReport(path, kind, check_files(path, cure))
