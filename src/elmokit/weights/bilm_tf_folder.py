"""Which file of a folder is what: bilm-tf, AllenNLP, NLPL and SeqVec lay them out alike."""

from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError
from elmokit.weights.bilm_tf import read_bilm_tf
from elmokit.weights.folders import read_json
from elmokit.weights.hdf5 import open_hdf5
from elmokit.weights.pretrained import PretrainedModel


def read_bilm_tf_folder(folder: Path, *, need_softmax: bool = True) -> PretrainedModel:
    files = find_bilm_tf(folder)
    model = read_bilm_tf(
        files.weights,
        files.options,
        vocabulary=files.vocabulary,
        softmax=files.softmax,
        embedding=files.embedding,
        need_softmax=need_softmax,
    )
    model.source = str(folder)
    model.card = card_of_meta(folder) | model.card
    return model


class BilmTfFiles(NamedTuple):
    """What lies in a folder (bilm-tf, AllenNLP, NLPL or SeqVec)."""

    weights: Path
    options: Path
    vocabulary: Path | None
    softmax: Path | None
    embedding: Path | None


def find_bilm_tf(folder: Path) -> BilmTfFiles:
    """Tell the HDF5 files of a folder apart by what is in them."""
    roles: dict[str, Path] = {}
    found = sorted((*folder.glob("*.hdf5"), *folder.glob("*.h5")), key=_by_usual_name)
    for path in found:
        with open_hdf5(path) as file:
            for role, name in (
                ("weights", "RNN_0"),
                ("softmax", "softmax"),
                ("words", "embedding"),
            ):
                if name in file:
                    roles.setdefault(role, path)
    if "weights" not in roles:
        raise InputError(f"{folder}: no .hdf5 file here holds the weights of a biLM (RNN_0)")
    weights = roles["weights"]
    return BilmTfFiles(
        weights,
        options_beside(weights),
        vocabulary_beside(weights),
        _unless_same(roles.get("softmax"), weights),
        _separate_embedding(roles.get("words"), weights),
    )


def _by_usual_name(path: Path) -> tuple[int, str]:
    usual = ("model.hdf5", "weights.hdf5")
    return (usual.index(path.name) if path.name in usual else len(usual), path.name)


def _unless_same(path: Path | None, weights: Path) -> Path | None:
    return None if path == weights else path


def _separate_embedding(path: Path | None, weights: Path) -> Path | None:
    """Used only where the weights have no characters: a dump of a character model is no model."""
    if path is None or path == weights:
        return None
    with open_hdf5(weights) as file:
        return None if "char_embed" in file else path


def options_beside(weights: Path) -> Path:
    """options.json, or X_options.json beside X_weights.hdf5, as the English models are named."""
    folder, stem = weights.parent, weights.name.rsplit(".", 1)[0]
    candidates = [
        folder / f"{stem.removesuffix('weights')}options.json",
        folder / f"{stem}.json",
        folder / "options.json",
        *sorted(folder.glob("*options*.json")),
    ]
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        f"{weights}: no options.json beside it; HDF5 weights can only be read with their options"
    )


def vocabulary_beside(weights: Path) -> Path | None:
    folder = weights.parent
    candidates = [folder / "vocab.txt", folder / "vocab.txt.gz", *sorted(folder.glob("vocab*.txt"))]
    return next((path for path in candidates if path.is_file()), None)


def card_of_meta(folder: Path) -> dict[str, str]:
    """NLPL's meta.json, flattened: corpus.language, algorithm.name, ..."""
    path = folder / "meta.json"
    return dict(_flat(read_json(path), "")) if path.is_file() else {}


def _flat(value: Any, prefix: str) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [
            pair
            for key, item in value.items()
            for pair in _flat(item, f"{prefix}.{key}" if prefix else str(key))
        ]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [pair for item in value for pair in _flat(item, prefix)]
    return [(prefix, str(value))]
