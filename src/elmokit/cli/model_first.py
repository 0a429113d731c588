"""``[MODEL] TEXT...``: commands whose first argument may be a model, which can be left out.

A model can also be given as ``--model``; then every argument is text.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from elmokit.weights.archives import TAR_SUFFIXES
from elmokit.weights.names import DEFAULT_MODEL, is_checkpoint_file, shipped_names

ModelOption = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        help=f"Name or path of a model, if not given before the text. Default: {DEFAULT_MODEL}.",
        show_default=False,
    ),
]

_IN_FOLDERS = ("config.json", "*options*.json", "*.hdf5", "*.th", "*.pb", "*.index", "checkpoint")
"""Files that only a model's folder has."""
_MODEL_SUFFIXES = (".hdf5", ".h5", ".th", ".pb", ".json", ".safetensors", *TAR_SUFFIXES)


def model_and_text(words: Sequence[str], model: str | None, kind: str = "TEXT") -> tuple[str, str]:
    """The model's name and the one text; whatever comes before the text is the model.

    >>> model_and_text(["A ___ ."], None)
    ('en-small', 'A ___ .')
    """
    *names, text = words
    if len(names) > 1 or (names and model):
        raise typer.BadParameter(f"give one {kind}, in quotes, and at most one model before it")
    return names[0] if names else model or DEFAULT_MODEL, text


def model_and_texts(words: Sequence[str], model: str | None) -> tuple[str, list[str]]:
    """The model's name and the files or folders of text; the first may be the model.

    >>> model_and_texts(["en-small", "story.txt", "other.txt"], None)
    ('en-small', ['story.txt', 'other.txt'])
    """
    first, *others = words
    if model is not None:
        return model, list(words)
    if others and not _is_text(Path(first)):
        return first, others
    if not others and _is_model(Path(first)):
        raise typer.BadParameter(f"{first} is a model: give a TEXT too (if it is text: --model)")
    return DEFAULT_MODEL, list(words)


def _is_text(path: Path) -> bool:
    """Whether there is such a file, folder or pipe, and it is no model."""
    is_empty = path.is_dir() and not any(path.iterdir())
    return path.exists() and not is_empty and not _is_model(path)


def _is_model(path: Path) -> bool:
    """Whether this is the name of a model, or a path that is a model's by the names of files."""
    if path.is_dir():
        return any(any(path.glob(f"{at}{name}")) for name in _IN_FOLDERS for at in ("", "*/"))
    if not path.is_file():
        return not path.exists() and str(path) in shipped_names()
    is_named_so = path.name.endswith(_MODEL_SUFFIXES) or is_checkpoint_file(path)
    return is_named_so or zipfile.is_zipfile(path)
