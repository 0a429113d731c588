"""The files of a task run: its description, weights and log, written atomically and checked.

FOLDER/task.json          settings, labels, and which ELMo model it needs
       words.json, words.safetensors    the word vectors it started from
       best.safetensors   its weights; training.pt and log.jsonl: see fit.py
       result.json        scores, and the learned weights of the layers
"""

import hashlib
import json
import pickle
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import elmokit
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError, reason_of
from elmokit.files import replacing_file
from elmokit.recipe import parse_json, to_plain
from elmokit.tasks.config import TaskConfig, renamed
from elmokit.weights.names import SHIPPED_MODELS, find_model, shipped_names

FORMAT = 2
"""The version of the format of task.json."""
MAY_CHANGE = ("max_epochs", "patience", "max_minutes")
"""Settings of ``fit`` that a run may be continued with."""
RENAMED_WEIGHTS = {"heed.": "attention_logit."}
"""Prefixes of weights in files of earlier versions, and what they are called now."""


@contextmanager
def checked_reading(path: Path, kind: str, cure: str) -> Iterator[None]:
    """Turn the errors of torch, pickle, json and safetensors on a bad file into InputError."""
    try:
        yield
    except InputError:
        raise
    except (
        RuntimeError,  # torch: not an archive, or tensors of other shapes
        SafetensorError,
        pickle.UnpicklingError,
        EOFError,
        struct.error,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        OSError,  # torch seeks where a damaged archive tells it to
    ) as error:
        raise InputError(f"{path}: not {kind} ({reason_of(error)}); {cure}") from None


def load_state(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """``load_state_dict``, for weights of earlier versions too."""
    for old, new in RENAMED_WEIGHTS.items():
        weights = {
            new + name.removeprefix(old) if name.startswith(old) else name: weight
            for name, weight in weights.items()
        }
    module.load_state_dict(weights)


def load_weights(module: nn.Module, path: Path) -> None:
    """Put the weights of a best.safetensors file into a model of the same settings."""
    with checked_reading(path, "the weights of this task model", "train it again"):
        load_state(module, load_file(path, device=str(next(module.parameters()).device)))


def save_weights(module: nn.Module, path: Path) -> None:
    """Write a model's weights as a safetensors file."""
    weights = {name: value.contiguous() for name, value in module.state_dict().items()}
    with replacing_file(path) as aside:
        save_file(weights, aside)
        aside.chmod(0o644)


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log.jsonl file, one per epoch; none if there is no such file yet."""
    if not path.exists():
        return []
    with checked_reading(path, "the log of a task run", "delete it"):
        lines = [parse_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if not all(isinstance(line["epoch"], int) for line in lines):
            raise ValueError("a line without its epoch")
    return lines


def describe_run(
    config: TaskConfig,
    labels: list[str],
    embedder: Embedder | None,
    precision: str,
    examples: Sequence[Any],
) -> dict[str, Any]:
    """What task.json says of a run: all that must stay the same for it to be resumed.

    ``precision``: of the biLM's layers; ``examples``: all that it is trained and stopped on.
    """
    elmo = None
    if embedder is not None:
        elmo = {
            "source": _lasting_source(embedder.source),
            "fingerprint": embedder.fingerprint,
            "weights": embedder.precision,
            "precision": precision,
        }
    return {
        "format": FORMAT,
        "elmokit": elmokit.__version__,
        "config": to_plain(config),
        "labels": labels,
        "elmo": elmo,
        "data": _digest(examples),
    }


def _lasting_source(source: str) -> str:
    """The name of a model that ships with elmokit, otherwise the absolute path."""
    path = Path(source)
    if not path.exists():
        return source
    path = path.resolve()
    return path.name if path.parent == SHIPPED_MODELS.resolve() else str(path)


def find_source(folder: Path, source: str) -> Path | str:
    """Where the ELMo model of a run is now.

    A model that ships with elmokit is found in this installation, even if the run was trained in
    another one.
    """
    path = Path(source)
    was_shipped = path.name == source or (
        not path.exists() and path.parts[-3:-1] == ("elmokit", "models")
    )
    if was_shipped and path.name in shipped_names():
        return SHIPPED_MODELS / path.name
    try:
        find_model(source)
    except InputError as error:
        raise InputError(
            f"{folder}: its ELMo model is not found ({error}); give it with --model"
        ) from None
    return source


def _digest(examples: Sequence[Any]) -> str:
    """Names the training and development data."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(repr(example).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def read_description(folder: Path) -> dict[str, Any]:
    """The contents of a folder's task.json, settings under their names of today."""
    path = folder / "task.json"
    if not path.exists():
        raise InputError(f"{folder}: no task.json here; give a folder that task train has written")
    with checked_reading(path, "the description of a task run", "train into a new folder"):
        facts: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        version = facts.get("format")
    if version != FORMAT:
        raise InputError(f"{path}: format {version!r}, this elmokit reads {FORMAT}; train it again")
    with checked_reading(path, "the description of a task run", "train into a new folder"):
        _require_form(facts)
        return {**facts, "config": renamed(facts["config"])}


def _require_form(facts: dict[str, Any]) -> None:
    """Raise ValueError unless the fields of task.json have the right types."""
    config, elmo, labels = facts["config"], facts["elmo"], facts["labels"]
    is_config = isinstance(config, dict) and isinstance(config["task"], str)
    if not is_config or not isinstance(config["fit"], dict):
        raise ValueError("its settings are not a table")
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise ValueError("its labels are not a list of names")
    if elmo is not None and not all(isinstance(elmo[k], str) for k in ("source", "fingerprint")):
        raise ValueError("its ELMo model has no name")
    if elmo is None and config.get("elmo", {}).get("where") != "none":
        raise ValueError("its ELMo model is missing")
    _ = facts["data"]


def check_same_run(out: Path, facts: dict[str, Any]) -> None:
    """A folder holds one run: to resume it, nothing may have changed but when to stop."""
    if not (out / "task.json").exists():
        return
    old, new = read_description(out), json.loads(json.dumps(facts))
    for either in (old, new):
        for name in MAY_CHANGE:
            either["config"]["fit"].pop(name, None)
    for table in new["config"]:
        if old["config"].get(table) != new["config"][table]:
            raise InputError(
                f"{out}: holds a run with other settings in [{table}]; choose another --out"
            )
    if old["data"] != new["data"]:
        raise InputError(f"{out}: holds a run on other data; choose another --out")
    if (old["elmo"] or {}).get("fingerprint") != (new["elmo"] or {}).get("fingerprint"):
        raise InputError(f"{out}: holds a run with another ELMo model; choose another --out")
    precisions = [(facts["elmo"] or {}).get("precision", "float32") for facts in (old, new)]
    if precisions[0] != precisions[1]:
        raise InputError(
            f"{out}: holds a run on layers of {precisions[0]}; resume it with --cache-precision "
            f"{precisions[0]}, or choose another --out"
        )
