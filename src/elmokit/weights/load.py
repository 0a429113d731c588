"""Recognise what a user gives, and read it; what cannot be read is named, with advice."""

import tempfile
import zipfile
from pathlib import Path

from elmokit.errors import InputError
from elmokit.weights.archives import TAR_SUFFIXES, unpack_tar, unpack_zip
from elmokit.weights.bilm_tf.allennlp import ARCHIVED, WEIGHTS, read_allennlp
from elmokit.weights.bilm_tf.checkpoint import TF_HUB_FILES, find_checkpoint, read_checkpoint
from elmokit.weights.bilm_tf.layout import (
    files_of,
    find_bilm_tf,
    read_bilm_tf_files,
    read_bilm_tf_folder,
)
from elmokit.weights.manylangs import FILES as MANYLANGS_FILES
from elmokit.weights.manylangs import read_manylangs
from elmokit.weights.names import ModelFiles, ModelName, find_model, is_checkpoint_file
from elmokit.weights.native import read_native
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensor_bundle.bundle import prefix_of


def load_pretrained(
    model: ModelName = None,
    *,
    options: str | Path | None = None,
    need_softmax: bool = True,
) -> PretrainedModel:
    """Read a model of any known format.

    Args:
        model: a name (``"en-small"``, the default), a folder, an archive, an .hdf5 file, a
            TensorFlow checkpoint (``"run/model.ckpt-1000"``), or a pair of options and weights.
        options: the options of weights that have no options.json beside them.
        need_softmax: False leaves the softmax on disk: vectors do not need it, and it is large.
    """
    path, paired = find_model(model)
    given = paired if options is None else Path(options)
    if given is not None and not given.is_file():
        raise InputError(f"{given}: there is no such options file")
    found = _read(path, given, need_softmax)
    if found.unread_softmax is not None:  # by paths that survive a change of the current folder
        found.unread_softmax = ModelFiles(path.absolute(), given and given.absolute())
    return found


def read_softmax(model: PretrainedModel) -> None:
    """Read the softmax of a model that was loaded without it; nothing happens if it has none."""
    files = model.unread_softmax
    if files is None or model.output_words is not None:
        return
    gone = [path for path in files if path is not None and not path.exists()]
    found = None if gone else load_pretrained(files.path, options=files.options).output_words
    if found is None:
        raise InputError(
            f"{gone[0] if gone else files.path}: the softmax of this model was left here on disk "
            f"when it was loaded, and is gone; put it back, or load the model from its new place"
        )
    found.softmax.to(model.bilm.device)
    model.output_words = found


def _read(path: Path, given: Path | None, need_softmax: bool) -> PretrainedModel:
    if path.is_dir():
        return _read_folder(path, need_softmax, given)
    if path.name.endswith(TAR_SUFFIXES) or _is_zip(path):
        return _read_archive(path, need_softmax, given)
    if path.suffix == ".zip":
        raise InputError(f"{path}: damaged zip file; download it again")
    if path.name in _FILES_OF_FOLDERS:
        return _read_folder(path.parent, need_softmax, given)
    if is_checkpoint_file(path):
        return read_checkpoint(prefix_of(path), given, need_softmax=need_softmax)
    return _read_pair(path, given, need_softmax)


_FILES_OF_FOLDERS = TF_HUB_FILES | {
    "config.json", "options.json", "model.safetensors", "checkpoint", WEIGHTS,
}  # fmt: skip
"""Files that stand for the folder they are in."""


def _read_folder(folder: Path, need_softmax: bool, options: Path | None = None) -> PretrainedModel:
    names = _own_files(folder)
    if options is None and not MANYLANGS_FILES.isdisjoint(names):
        return read_manylangs(folder)
    if options is None and "config.json" in names:
        native = read_native(folder, need_softmax=need_softmax)
        if native is not None:
            return native
    if any(folder.glob("*.hdf5")) or any(folder.glob("*.h5")):
        if options is not None:
            return _read_pair(find_bilm_tf(folder).weights, options, need_softmax)
        return read_bilm_tf_folder(folder, need_softmax=need_softmax)
    if WEIGHTS in names:
        if (folder / ARCHIVED).is_dir():
            _own_files(folder / ARCHIVED)
        return read_allennlp(folder, options)
    checkpoint = find_checkpoint(folder)
    if checkpoint is not None:
        _own_files(checkpoint.parent)  # the variables of a TF-Hub module stand one folder below
        model = read_checkpoint(checkpoint, options, need_softmax=need_softmax)
        model.source = str(folder)
        return model
    return _look_inside(folder, need_softmax, options)


def _own_files(folder: Path) -> set[str]:
    """The names of the files of a model's folder; refuses links out of it, to anybody's files.

    In Hugging Face's cache a snapshot is made of links into the folder of its repository.
    """
    home = folder.resolve()
    if home.parent.name == "snapshots" and home.parents[1].name.startswith("models--"):
        home = home.parents[1]
    for path in folder.iterdir():
        if path.is_symlink() and home not in path.resolve().parents:
            raise InputError(
                f"{path}: refused, because it is a link that leaves the model's folder; copy the "
                f"file it leads to, or give that file's own path"
            )
    return {path.name for path in folder.iterdir() if path.is_file()}


def _look_inside(folder: Path, need_softmax: bool, options: Path | None) -> PretrainedModel:
    """The model in the only folder of a folder; otherwise what is wrong with it."""
    children = [child for child in folder.iterdir() if not child.name.startswith((".", "__"))]
    names = sorted(child.name for child in children)
    if not TF_HUB_FILES.isdisjoint(names):
        raise InputError(f"{folder}: a TF-Hub module without variables/variables.index; unpack all")
    if "options.json" in names:
        raise InputError(f"{folder}: options.json without weights; put the .hdf5 file beside it")
    if options is not None and "config.json" in names:
        raise InputError(f"{folder}: this model has settings of its own; leave {options} out")
    if len(children) == 1 and children[0].is_dir():
        return _read_folder(children[0], need_softmax, options)
    raise InputError(
        f"{folder}: no model that elmokit reads (it holds {', '.join(names[:5]) or 'nothing'}); "
        f"expected config.json + model.safetensors, options.json + .hdf5, a TensorFlow checkpoint, "
        f"or the folder of ELMoForManyLangs, TF-Hub or AllenNLP"
    )


def _read_pair(weights: Path, options: Path | None, need_softmax: bool) -> PretrainedModel:
    """One .hdf5 file; the softmax and the words are taken from beside it."""
    return read_bilm_tf_files(files_of(weights, options), need_softmax=need_softmax)


def _is_zip(path: Path) -> bool:
    """HDF5 files and PyTorch's may look like one at their ends."""
    return path.suffix not in (".hdf5", ".h5", ".th") and zipfile.is_zipfile(path)


def _read_archive(path: Path, need_softmax: bool, options: Path | None) -> PretrainedModel:
    """Archives of NLPL, AllenNLP and TF-Hub: unpacked aside, read, removed."""
    unpack = unpack_tar if path.name.endswith(TAR_SUFFIXES) else unpack_zip
    with tempfile.TemporaryDirectory(prefix="elmokit-") as aside:
        unpack(path, aside)
        try:
            model = _read_folder(Path(aside), need_softmax, options)
        except InputError as error:
            message = str(error).replace(f"{aside}/", "").replace(aside, ".")
            raise InputError(f"{path}: inside it, {message}") from None
    model.source = str(path)
    return model
