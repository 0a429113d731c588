"""What a user may give: recognised and read, or named in one sentence with advice."""

import errno
import json
import pickle
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from elmokit.errors import InputError
from elmokit.weights import names
from elmokit.weights.load import load_pretrained


def refused(given: Path | str, *parts: str) -> None:
    """One sentence that names the path and contains each of ``parts``."""
    with pytest.raises(InputError) as caught:
        load_pretrained(given)
    message = str(caught.value)
    assert "\n" not in message
    for part in (Path(given).name, *parts):
        assert part in message, message


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    refused(tmp_path / "absent", "there is no such file or folder")
    refused("https://example.org/elmo.hdf5", "download it first")


def test_nothing_is_the_shipped_model(bilm_tf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from elmokit.weights.native import write_native

    monkeypatch.setattr(names, "SHIPPED_MODELS", bilm_tf.parent / "models")
    with pytest.raises(InputError, match="this installation has no model of its own"):
        load_pretrained(None)
    write_native(load_pretrained(bilm_tf), bilm_tf.parent / "models" / "en-small")
    assert load_pretrained().source.endswith("en-small")
    assert load_pretrained("en-small").source.endswith("models/en-small")
    with pytest.raises(InputError, match="no model of this name; available models: en-small"):
        load_pretrained("en-smal")
    write_native(load_pretrained(bilm_tf), bilm_tf.parent / "here" / "en-small")
    monkeypatch.chdir(bilm_tf.parent / "here")
    assert load_pretrained("en-small").source == "en-small"  # a path comes before a name


def test_a_pair_of_options_and_weights_is_a_model(bilm_tf: Path, tmp_path: Path) -> None:
    options = (bilm_tf / "options.json").rename(tmp_path / "elsewhere.json")
    for pair in ((options, bilm_tf / "weights.hdf5"), (str(bilm_tf / "weights.hdf5"), options)):
        assert load_pretrained(pair).format == "bilm-tf"
    with pytest.raises(InputError, match=r"absent\.json: there is no such file"):
        load_pretrained((tmp_path / "absent.json", bilm_tf / "weights.hdf5"))
    with pytest.raises(InputError, match="has two paths, got 1"):
        load_pretrained([options])


@pytest.mark.parametrize("given", [3, b"en-small", ("options.json", 1), ("o.json", "w.hdf5", 1)])
def test_what_is_no_name_path_or_pair(given: object) -> None:
    with pytest.raises(
        InputError, match="its name, its path or a pair of options and weights, got"
    ):
        load_pretrained(given)  # type: ignore[arg-type]


def test_an_empty_name_is_not_the_shipped_model() -> None:
    with pytest.raises(InputError, match=r"name is empty .* leave it out for en-small"):
        load_pretrained("")


def test_a_folder_inside_a_folder(bilm_tf: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    bilm_tf.rename(outer / "inner")
    assert load_pretrained(outer).format == "bilm-tf"


def test_a_folder_with_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "more.txt").write_text("hello")
    refused(tmp_path, "it holds more.txt, notes.txt", "expected config.json")


def test_options_without_weights(tmp_path: Path) -> None:
    (tmp_path / "options.json").write_text("{}")
    refused(tmp_path, "options.json without weights")


def test_files_that_only_pretend_to_be_checkpoints(tmp_path: Path) -> None:
    for name in ("model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001", "checkpoint"):
        (tmp_path / name).write_bytes(b"\x00\x01")
    for name in (".", "model.ckpt-7", "model.ckpt-7.index", "checkpoint"):
        refused(tmp_path / name, "model.ckpt-7.index: this is not the index of a TensorFlow")
    (tmp_path / "model.ckpt-7.index").unlink()
    with pytest.raises(InputError, match=r"model\.ckpt-7\.index: there is no such file"):
        load_pretrained(tmp_path / "model.ckpt-7.data-00000-of-00001")


def test_options_for_a_model_with_settings_of_its_own(model: Path, tmp_path: Path) -> None:
    (tmp_path / "options.json").write_text("{}")
    with pytest.raises(InputError, match=r"settings of its own; leave .*options\.json out"):
        load_pretrained(model, options=tmp_path / "options.json")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Not Found", "this is text, not HDF5"),
        (b"<!doctype html><html>", "this is a web page, not HDF5"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"", "this file is empty"),
        (b"PK\x00\x00\xff", "this is not an HDF5 file"),
    ],
)
def test_files_that_only_pretend_to_be_hdf5(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "weights.hdf5"
    path.write_bytes(content)
    (tmp_path / "options.json").write_text("{}")
    refused(path, reason)
    with pytest.raises(InputError, match=r"weights\.hdf5"):
        load_pretrained(tmp_path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.95])
def test_a_truncated_hdf5_file(bilm_tf: Path, kept: float) -> None:
    path = bilm_tf / "weights.hdf5"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    refused(path, "truncated", "again")


def test_missing_keys_and_wrong_kinds(bilm_tf: Path) -> None:
    with h5py.File(bilm_tf / "weights.hdf5", "a") as file:
        del file["CNN/b_cnn_1"]
    with pytest.raises(InputError, match=r"lacks CNN/b_cnn_1, which options\.json asks for"):
        load_pretrained(bilm_tf)
    with h5py.File(bilm_tf / "weights.hdf5", "a") as file:
        file["CNN/b_cnn_1"] = np.array([b"abcd"] * 4)
    with pytest.raises(InputError, match="CNN/b_cnn_1 holds no numbers"):
        load_pretrained(bilm_tf)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_numbers(bilm_tf: Path, value: float) -> None:
    with h5py.File(bilm_tf / "weights.hdf5", "a") as file:
        file["RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_0"][2, 3] = value
    refused(bilm_tf / "weights.hdf5", "backward_lstm.layers.0", "holds 1 values", "NaN or infinite")


def test_hdf5_that_is_no_model(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "vectors.hdf5", "w") as file:
        file["0"] = np.zeros((3, 2))
    refused(tmp_path, "holds the weights of a biLM")


def test_options_that_are_not_options(bilm_tf: Path) -> None:
    for text, reason in (
        ("<html>", "not a JSON file"),
        ("[1]", "expected a JSON object"),
        ("{}", "no table lstm"),
        (json.dumps({"lstm": {"dim": 7, "projection_dim": 5, "n_layers": 2}}), "neither char_cnn"),
    ):
        (bilm_tf / "options.json").write_text(text)
        with pytest.raises(InputError, match=rf"options\.json: .*{reason}"):
            load_pretrained(bilm_tf)


@pytest.mark.parametrize("member", ["../evil.txt", "/etc/evil.txt", "a/../../evil", "..\\evil.txt"])
def test_a_zip_that_points_outside(tmp_path: Path, member: str) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
        file.writestr(member, "boo")
    refused(tmp_path / "model.zip", "points outside of the archive")
    assert not list(tmp_path.glob("**/evil*"))


def test_zips_that_are_damaged_or_hold_something_else(bilm_tf: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(b"PK\x03\x04 cut")
    refused(path, "damaged zip file")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.txt", "hello")
        file.writestr("b.txt", "hello")
    refused(path, "inside it, .: no model that elmokit reads")
    with zipfile.ZipFile(path, "w") as file:
        file.write(bilm_tf / "weights.hdf5", "weights.hdf5")
    refused(path, "inside it, weights.hdf5: no options.json beside it")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("File 'weights.hdf5' is encrypted"), "encrypted); give the unpacked folder"),
        (OSError(errno.ENOSPC, "No space left on device"), "set TMPDIR to a folder on a larger"),
    ],
)
def test_zips_that_cannot_be_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def extractall(archive: zipfile.ZipFile, folder: str) -> None:
        raise error

    with zipfile.ZipFile(tmp_path / "model.zip", "w") as file:
        file.writestr("weights.hdf5", "")
    monkeypatch.setattr(zipfile.ZipFile, "extractall", extractall)
    refused(tmp_path / "model.zip", reason)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_pickle_that_would_run_code(manylangs: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (manylangs / "evil",))

    torch.save({"weight": Evil()}, manylangs / "encoder.pkl")
    refused(manylangs, "encoder.pkl: refused")
    (manylangs / "encoder.pkl").write_bytes(pickle.dumps({"weight": Evil()}))
    refused(manylangs, "encoder.pkl: refused")
    assert not (manylangs / "evil").exists()
