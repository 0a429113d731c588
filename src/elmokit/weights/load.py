"""Recognise what a user gives, and read it; what cannot be read is named, with advice."""

import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import elmokit
from elmokit.errors import InputError
from elmokit.files import is_full_disk
from elmokit.weights.bilm_tf_folder import (
    files_of,
    find_bilm_tf,
    read_bilm_tf_files,
    read_bilm_tf_folder,
)
from elmokit.weights.manylangs import is_manylangs, read_manylangs
from elmokit.weights.native import is_native, read_native
from elmokit.weights.pretrained import PretrainedModel

SHIPPED_MODEL = Path(elmokit.__file__).parent / "models" / "en-small"


def load_pretrained(
    path: str | Path | None = None,
    *,
    options: str | Path | None = None,
    need_softmax: bool = True,
) -> PretrainedModel:
    """Read any model: a folder, a zip, an .hdf5 file; nothing = the one that ships with elmokit.

    ``options`` belongs to an .hdf5 file whose options.json does not lie beside it.
    ``need_softmax=False`` leaves the softmax on disk: vectors do not need it, and it is large.
    """
    if path is None:
        return _read_shipped(need_softmax)
    given = Path(path).expanduser()
    if not given.exists():
        raise InputError(_advice_if_missing(given, str(path)))
    if given.is_dir():
        if options is not None:
            return _read_pair(find_bilm_tf(given).weights, Path(options), need_softmax)
        return _read_folder(given, need_softmax)
    if zipfile.is_zipfile(given) and given.suffix not in (".hdf5", ".h5"):
        return _read_zip(given, need_softmax)
    _refuse_file(given)
    if given.name in ("config.json", "options.json", "model.safetensors"):
        return _read_folder(given.parent, need_softmax)
    return _read_pair(given, None if options is None else Path(options), need_softmax)


def _read_shipped(need_softmax: bool) -> PretrainedModel:
    if not (SHIPPED_MODEL / "config.json").is_file():
        raise InputError(
            f"{SHIPPED_MODEL}: this installation has no model of its own; "
            f"give the path of a model, or train one with  elmokit train"
        )
    return read_native(SHIPPED_MODEL, need_softmax=need_softmax)


def _read_folder(folder: Path, need_softmax: bool) -> PretrainedModel:
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
        _unpack(path, aside)
        try:
            model = _read_folder(Path(aside), need_softmax)
        except InputError as error:
            message = str(error).replace(f"{aside}/", "").replace(aside, ".")
            raise InputError(f"{path}: inside it, {message}") from None
    model.source = str(path)
    return model


def _unpack(path: Path, folder: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                _require_inside(member, path)
            archive.extractall(folder)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged zip file ({error}); download it again") from None
    except RuntimeError as error:  # a password, or a compression that Python lacks
        raise InputError(
            f"{path}: cannot be unpacked ({error}); give the unpacked folder"
        ) from None
    except OSError as error:
        if not is_full_disk(error):
            raise
        raise InputError(
            f"{path}: no space to unpack it in {tempfile.gettempdir()}; set TMPDIR to a folder on "
            f"a larger disk"
        ) from None


def _require_inside(member: str, path: Path) -> None:
    name = PurePosixPath(member.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or (name.parts and ":" in name.parts[0]):
        raise InputError(
            f"{path}: refused, because its member {member!r} points outside of the archive; "
            f"get the archive from a source you trust"
        )


def _advice_if_missing(given: Path, text: str) -> str:
    if text.startswith(("http://", "https://")):
        return f"{text}: elmokit reads files, not addresses; download it first"
    if Path(f"{given}.index").exists():  # the prefix of a TensorFlow checkpoint
        return _checkpoint_advice(given)
    return f"{given}: there is no such file or folder"


def _checkpoint_advice(path: Path) -> str:
    return (
        f"{path}: this is a TensorFlow checkpoint; export it to HDF5 with bilm-tf's "
        f"bin/dump_weights.py and give elmokit that file with its options.json"
    )


def _refuse_folder(folder: Path) -> None:
    names = {child.name for child in folder.iterdir()}
    if names & {"saved_model.pb", "tfhub_module.pb"}:
        raise InputError(
            f"{folder}: this is a TF-Hub module, which elmokit does not read; the same weights "
            f"are published as HDF5 + options.json, so download those"
        )
    if "checkpoint" in names or any(name.endswith(".index") for name in names):
        raise InputError(_checkpoint_advice(folder))
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
        raise InputError(_checkpoint_advice(path))
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
