"""What users call a model -> where its files are: the one place that tells names from paths."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import elmokit
from elmokit.errors import InputError, missing_extra, reason_of

DEFAULT_MODEL = "en-small"
"""The model that ships with elmokit, used if no MODEL is given."""
SHIPPED_MODELS = Path(elmokit.__file__).parent / "models"

HUB_FILES = (
    "*.json",
    "*.safetensors",
    "*.hdf5",
    "*.h5",
    "*.txt",
    "*.gz",
    "*.dic",
    "*.pkl",
    "*.zip",
    "*.th",
    "*.index",
    "*.data-*",
    "checkpoint",
)
"""The files of a repository on the Hugging Face Hub that are downloaded."""
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)

ModelName = str | Path | Sequence[str | Path] | None
"""A name (``"en-small"``), a path, a TensorFlow checkpoint (``"run/model.ckpt-1000"``), the id of a
model on the Hugging Face Hub (``"user/model"``, or ``"user/model@revision"``), a pair of options
and weights, or None for the default."""


class ModelFiles(NamedTuple):
    """Where a model is: a folder, an archive or a file of weights, and options from elsewhere."""

    path: Path
    options: Path | None = None


def shipped_names() -> list[str]:
    """The names of the models that come with this installation."""
    return sorted(path.parent.name for path in SHIPPED_MODELS.glob("*/config.json"))


def find_model(model: ModelName = None) -> ModelFiles:
    """The files of a model by its name, its path, or (options, weights) in either order.

    An existing file or folder comes before a name: write ``./en-small`` to be sure.

    >>> find_model("en-small").path.name
    'en-small'
    """
    if model is None or model == "":
        model = DEFAULT_MODEL
    if not isinstance(model, (str, Path)):
        return _find_pair(model)
    path = Path(model).expanduser()
    if path.exists():
        return ModelFiles(path)
    if _index_of(path).exists():
        return ModelFiles(_index_of(path))
    if str(model) in shipped_names():
        return ModelFiles(SHIPPED_MODELS / str(model))
    if isinstance(model, str) and _HUB_ID.fullmatch(model):
        return ModelFiles(_download(model))
    raise InputError(_advice(path, str(model)))


def is_model(source: str) -> bool:
    """Whether the files that a model was read from still exist; a model made in memory has none."""
    path = Path(source)
    return path.exists() or _index_of(path).exists()


def short_name(source: str) -> str:
    """What to call a model in tables: the last part of its path, or its id on the Hub.

    >>> short_name("/home/me/.cache/huggingface/hub/models--user--model/snapshots/0a1b")
    'user/model'
    """
    parts = Path(source).parts[-3:]
    if len(parts) == 3 and parts[0].startswith("models--") and parts[1] == "snapshots":
        return parts[0].removeprefix("models--").replace("--", "/")
    return source.rstrip("/").rsplit("/", 1)[-1]


def _download(name: str) -> Path:
    """The folder of a model on the Hugging Face Hub: from its cache, or downloaded now."""
    repository, _, revision = name.partition("@")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        purpose = f"{name}: there is no such file or folder; a model of the Hugging Face Hub"
        raise missing_extra("huggingface-hub", "hub", purpose) from None
    try:
        folder = snapshot_download(
            repository, revision=revision or None, allow_patterns=list(HUB_FILES)
        )
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name}: there is no such file or folder, and no model of this name could be loaded "
            f"from the Hugging Face Hub or its cache ({reason_of(error)})"
        ) from None
    return Path(folder)


def _find_pair(pair: Sequence[str | Path]) -> ModelFiles:
    paths = [Path(part).expanduser() for part in pair]
    if len(paths) != 2:
        raise InputError(f"a pair of options and weights has two paths, got {len(paths)}")
    options, weights = paths if paths[0].suffix == ".json" else reversed(paths)
    if not weights.exists() and _index_of(weights).exists():
        weights = _index_of(weights)
    for path in (options, weights):
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
    if options.suffix != ".json":
        raise InputError(f"{options}: expected the options.json that belongs to {weights}")
    return ModelFiles(weights, options)


def _advice(path: Path, text: str) -> str:
    if text.startswith(("http://", "https://")):
        return f"{text}: elmokit reads files, not addresses; download it first"
    if path.name != text:  # it looks like a path
        return f"{path}: there is no such file or folder"
    names = shipped_names()
    if not names:
        return (
            f"{text}: there is no such file or folder, and this installation has no model of its "
            f"own; give the path of a model, or train one with  elmokit train"
        )
    return (
        f"{text}: there is no such file or folder, and no model of this name; the names are "
        f"{', '.join(names)}"
    )


def _index_of(path: Path) -> Path:
    """A TensorFlow checkpoint is named by what its files have in common."""
    return path.with_name(f"{path.name}.index") if path.name else path


def is_checkpoint_file(path: Path) -> bool:
    """Whether a file looks like a part of a TensorFlow checkpoint.

    >>> is_checkpoint_file(Path("run/model.ckpt-7.data-00000-of-00001"))
    True
    """
    return path.suffix in (".index", ".meta") or ".data-" in path.name
