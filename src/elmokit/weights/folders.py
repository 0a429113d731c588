"""Writes a model's folder atomically, and never over something that is not a model."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from elmokit.errors import InputError
from elmokit.files import checksums, is_full_disk, replacing_folder

MODEL_FILES = frozenset(
    (
        "config.json", "options.json", "model.safetensors", "softmax.safetensors",
        "settled.safetensors", "bases.safetensors", "characters.json", "words.json", "vocab.txt",
        "weights.hdf5", "softmax.hdf5", checksums.FILE_NAME,
    )
)  # fmt: skip
"""What elmokit itself writes; a folder that holds anything else is not replaced."""


@contextmanager
def writing_model(folder: Path) -> Iterator[Path]:
    """Yield a folder to fill; on success it takes the place of ``folder``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: a model is written as a folder, but this is a file")
    if folder.is_dir():
        for child in folder.iterdir():
            if child.name not in MODEL_FILES:
                raise InputError(
                    f"{folder}: this folder holds {child.name}, which is no part of a model, "
                    f"and would be replaced; choose a new folder"
                )
    try:
        with replacing_folder(folder) as aside:
            yield aside
            checksums.write_checksums(aside)
    except (OSError, SafetensorError) as error:
        if is_full_disk(error):
            raise InputError(
                f"{folder}: no space is left on the disk; nothing was written, so free some "
                f"space or choose another folder"
            ) from None
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: cannot write here ({reason}); choose another folder") from None


def require_space(path: Path, num_bytes: int) -> None:
    """Raise OSError unless a file of ``num_bytes`` (and a little more) can be written here."""
    wanted = num_bytes + 2**16
    if not hasattr(os, "posix_fallocate"):
        if shutil.disk_usage(path.parent).free < wanted:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, wanted)
    path.unlink()
