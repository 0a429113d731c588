"""Which file of a folder is what: bilm-tf, AllenNLP, NLPL and SeqVec lay them out alike."""

from pathlib import Path
from typing import Any, NamedTuple

from elmokit.errors import InputError
from elmokit.recipe import read_json
from elmokit.weights.bilm_tf.read import read_bilm_tf
from elmokit.weights.hdf5 import has_name, open_hdf5
from elmokit.weights.pretrained import PretrainedModel


def read_bilm_tf_folder(folder: Path, *, need_softmax: bool = True) -> PretrainedModel:
    """Read the model in a folder; ``need_softmax=False`` leaves its softmax on disk."""
    model = read_bilm_tf_files(find_bilm_tf(folder), need_softmax=need_softmax)
    model.source = str(folder)
    model.card = card_of_meta(folder) | model.card
    return model


def read_bilm_tf_files(files: "BilmTfFiles", *, need_softmax: bool = True) -> PretrainedModel:
    """Read a model whose files are known."""
    return read_bilm_tf(
        files.weights,
        files.options,
        vocabulary=files.vocabulary,
        softmax=files.softmax,
        embedding=files.embedding,
        need_softmax=need_softmax,
    )


class BilmTfFiles(NamedTuple):
    """What goes together (bilm-tf, AllenNLP, NLPL or SeqVec)."""

    weights: Path
    options: Path
    vocabulary: Path | None
    softmax: Path | None
    embedding: Path | None


def find_bilm_tf(folder: Path) -> BilmTfFiles:
    """The model of a folder; its HDF5 files are told apart by what is in them."""
    found = [path for path in sorted(folder.iterdir()) if path.suffix in (".hdf5", ".h5")]
    weights = [path for path in found if _holds(path, "RNN_0")]
    usual = [path for path in weights if path.stem in ("model", "weights")]
    if not weights:
        raise InputError(f"{folder}: no .hdf5 file here holds the weights of a biLM (RNN_0)")
    if len(weights) > 1 and not usual:
        names = ", ".join(path.name for path in weights)
        raise InputError(f"{folder}: holds several models ({names}); give the path of one of them")
    return files_of(usual[0] if usual else weights[0])


def files_of(weights: Path, options: Path | None = None) -> BilmTfFiles:
    """The files beside one file of weights that belong to it."""
    is_word_model = not _holds(weights, "char_embed") and not _holds(weights, "embedding")
    return BilmTfFiles(
        weights,
        options or options_beside(weights),
        vocabulary_beside(weights),
        _softmax_beside(weights),
        _embedding_beside(weights) if is_word_model else None,
    )


def _holds(path: Path, name: str) -> bool:
    with open_hdf5(path) as file:
        return has_name(file, name)


def _softmax_beside(weights: Path) -> Path | None:
    stem = weights.stem.removesuffix("weights")
    names = ("softmax.hdf5", f"{stem}softmax.hdf5", f"{stem}softmax_weights.hdf5")
    return next((weights.parent / n for n in names if (weights.parent / n).is_file()), None)


def _embedding_beside(weights: Path) -> Path | None:
    """The rows of a word-id model, where they are in a file of their own."""
    for path in sorted(weights.parent.iterdir()):
        if path.suffix in (".hdf5", ".h5") and path != weights and _holds(path, "embedding"):
            return path
    return None


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
        f"{weights}: no options.json beside it; weights can only be read with their options"
    )


def vocabulary_beside(weights: Path) -> Path | None:
    """The vocabulary in the folder of a file of weights, if there is one."""
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
