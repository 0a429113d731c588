"""Recognise what a user gives, and read it; what cannot be read is named, with advice."""

import tempfile
import zipfile
from pathlib import Path

from elmokit.errors import InputError
from elmokit.weights.archives import unpack_zip
from elmokit.weights.bilm_tf.layout import (
    files_of,
    find_bilm_tf,
    read_bilm_tf_files,
    read_bilm_tf_folder,
)
from elmokit.weights.folders import require_own_files
from elmokit.weights.manylangs import is_manylangs, read_manylangs
from elmokit.weights.names import ModelName, checkpoint_advice, find_model
from elmokit.weights.native import is_native, read_native
from elmokit.weights.pretrained import PretrainedModel


def load_pretrained(
    model: ModelName = None,
    *,
    options: str | Path | None = None,
    need_softmax: bool = True,
) -> PretrainedModel:
    """Read a model of any known format.

    Args:
        model: a name (``"en-small"``, the default), a folder, a zip, an .hdf5 file, or a pair of
            options and weights.
        options: the options of an .hdf5 file that has no options.json beside it.
        need_softmax: False leaves the softmax on disk: vectors do not need it, and it is large.
    """
    path, paired = find_model(model)
    given = paired if options is None else Path(options)
    if path.is_dir():
        if given is not None:
            return _read_pair(find_bilm_tf(path).weights, given, need_softmax)
        return _read_folder(path, need_softmax)
    if zipfile.is_zipfile(path) and path.suffix not in (".hdf5", ".h5"):
        return _read_zip(path, need_softmax)
    _refuse_file(path)
    if path.name in ("config.json", "options.json", "model.safetensors"):
        return _read_folder(path.parent, need_softmax)
    return _read_pair(path, given, need_softmax)


def _read_folder(folder: Path, need_softmax: bool) -> PretrainedModel:
    require_own_files(folder)
    if is_manylangs(folder):
        return read_manylangs(folder)
    if is_native(folder):
        return read_native(folder, need_softmax=need_softmax)
    if any(folder.glob("*.hdf5")) or any(folder.glob("*.h5")):
        return read_bilm_tf_folder(folder, need_softmax=need_softmax)
    _refuse_folder(folder)
    children = [child for child in folder.iterdir() if not child.name.startswith((".", "__"))]
    if len(children) == 1 and children[0].is_dir():
        return _read_folder(children[0], need_softmax)
    names = ", ".join(sorted(child.name for child in children)[:5]) or "nothing"
    raise InputError(
        f"{folder}: no model that elmokit reads (it holds {names}); expected config.json + "
        f"model.safetensors, options.json + .hdf5, or an ELMoForManyLangs folder"
    )


def _read_pair(weights: Path, options: Path | None, need_softmax: bool) -> PretrainedModel:
    """One .hdf5 file; the softmax and the words are taken from beside it."""
    if options is not None and not options.is_file():
        raise InputError(f"{options}: there is no such options file")
    return read_bilm_tf_files(files_of(weights, options), need_softmax=need_softmax)


def _read_zip(path: Path, need_softmax: bool) -> PretrainedModel:
    """NLPL's archives: unpacked aside, read, removed."""
    with tempfile.TemporaryDirectory(prefix="elmokit-") as aside:
        unpack_zip(path, aside)
        try:
            model = _read_folder(Path(aside), need_softmax)
        except InputError as error:
            message = str(error).replace(f"{aside}/", "").replace(aside, ".")
            raise InputError(f"{path}: inside it, {message}") from None
    model.source = str(path)
    return model


def _refuse_folder(folder: Path) -> None:
    names = {child.name for child in folder.iterdir()}
    if names & {"saved_model.pb", "tfhub_module.pb"}:
        raise InputError(
            f"{folder}: this is a TF-Hub module, which elmokit does not read; the same weights "
            f"are published as HDF5 + options.json, so download those"
        )
    if "checkpoint" in names or any(name.endswith(".index") for name in names):
        raise InputError(checkpoint_advice(folder))
    if "weights.th" in names:
        raise InputError(_archive_advice(folder))
    if "options.json" in names:
        raise InputError(f"{folder}: options.json without weights; put the .hdf5 file beside it")


def _refuse_file(path: Path) -> None:
    if (
        path.name.endswith((".index", ".meta"))
        or ".data-" in path.name
        or path.name == "checkpoint"
    ):
        raise InputError(checkpoint_advice(path))
    if path.name in ("saved_model.pb", "tfhub_module.pb"):
        _refuse_folder(path.parent)
    if path.name.endswith((".tar.gz", ".tgz", ".tar", ".th")):
        raise InputError(_archive_advice(path))
    if path.suffix == ".zip":
        raise InputError(f"{path}: damaged zip file; download it again")


def _archive_advice(path: Path) -> str:
    return (
        f"{path}: this looks like an AllenNLP model archive, which elmokit does not read; give "
        f"it the options_file and weight_file that the archive's config.json names"
    )
