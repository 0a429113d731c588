"""Model files made to do harm: nothing outside of them is read, and no memory is exhausted."""

import gzip
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from random_files import BilmTfSpec, ManyLangsSpec, write_bilm_tf_files, write_manylangs_files

from elmokit.errors import InputError
from elmokit.text.vocabulary import read_vocabulary
from elmokit.weights.load import load_pretrained

SECRET = b"root:x:0:0:root:/root:/bin/sh padded to some length, and then a little more of it."
CELL = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A good model, about to be spoilt."""
    write_bilm_tf_files(tmp_path / "model", BilmTfSpec())
    return tmp_path / "model" / "weights.hdf5"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


def external_storage(file: h5py.File, name: str, secret: Path) -> None:
    shape = file[name].shape
    del file[name]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_external(str(secret).encode(), 0, int(np.prod(shape)))
    space = h5py.h5s.create_simple(shape)
    group, _, last = name.rpartition("/")
    parent = file[group] if group else file
    h5py.h5d.create(parent.id, last.encode(), h5py.h5t.STD_U8LE, space, properties)


def external_link(file: h5py.File, name: str, secret: Path) -> None:
    with h5py.File(secret.with_suffix(".h5"), "w") as other:
        other["stolen"] = file[name][()]
    del file[name]
    file[name] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "stolen")


def external_group(file: h5py.File, name: str, secret: Path) -> None:
    with h5py.File(secret.with_suffix(".h5"), "w") as other:
        other["group/W_0"] = np.zeros((2, 2))
    group = name.rpartition("/")[0]
    if group:
        del file[group]
        file[group] = h5py.ExternalLink(str(secret.with_suffix(".h5")), "group")
    else:
        external_link(file, name, secret)


def soft_link(file: h5py.File, name: str, secret: Path) -> None:
    file.move(name, "hidden")
    file[name] = h5py.SoftLink("/hidden")


def virtual_dataset(file: h5py.File, name: str, secret: Path) -> None:
    with h5py.File(secret.with_suffix(".h5"), "w") as other:
        other["stolen"] = file[name][()]
    shape = file[name].shape
    del file[name]
    layout = h5py.VirtualLayout(shape=shape, dtype="f4")
    layout[...] = h5py.VirtualSource(str(secret.with_suffix(".h5")), "stolen", shape=shape)
    file.create_virtual_dataset(name, layout)


TRICKS = [external_storage, external_link, external_group, soft_link, virtual_dataset]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.__name__)
@pytest.mark.parametrize("name", ["char_embed", f"{CELL}/W_0", "CNN/b_cnn_0"])
def test_a_dataset_that_points_elsewhere_is_refused(
    weights: Path, secret: Path, trick: Callable[..., None], name: str
) -> None:
    with h5py.File(weights, "a") as file:
        trick(file, name, secret)
    with pytest.raises(InputError, match=r"refused, because .* (other files|a link to elsewhere)"):
        load_pretrained(weights.parent)


@pytest.mark.parametrize("trick", [external_storage, external_link, soft_link, virtual_dataset])
def test_a_softmax_that_points_elsewhere_is_refused(
    tmp_path: Path, secret: Path, trick: Callable[..., None]
) -> None:
    words = ("<S>", "</S>", "<UNK>", "the")
    write_bilm_tf_files(tmp_path / "model", BilmTfSpec(softmax_words=words))
    path = next(p for p in (tmp_path / "model").glob("*.hdf5") if "softmax/W" in h5py.File(p, "r"))
    with h5py.File(path, "a") as file:
        trick(file, "softmax/W", secret)
    with pytest.raises(InputError, match="refused, because softmax"):
        load_pretrained(tmp_path / "model")


def test_a_dataset_that_claims_more_than_the_file_holds_is_refused(weights: Path) -> None:
    """In a chunked dataset nothing need be stored: a kilobyte of file can claim a terabyte."""
    with h5py.File(weights, "a") as file:
        del file["char_embed"]
        file.create_dataset("char_embed", (261, 1 << 30), dtype="f4", chunks=(1, 1 << 20))
    with pytest.raises(InputError, match=r"char_embed claims 1,120,986,464,256 bytes but stores"):
        load_pretrained(weights.parent)


def test_compressed_weights_are_read(weights: Path) -> None:
    with h5py.File(weights, "a") as file:
        values = file["char_embed"][()]
        del file["char_embed"]
        file.create_dataset("char_embed", data=values, compression="gzip", shuffle=True)
    assert load_pretrained(weights.parent).format == "bilm-tf"


def test_groups_without_end_are_refused(weights: Path) -> None:
    with h5py.File(weights, "a") as file:
        file["loop/deeper"] = file["CNN"]
        file["CNN/again"] = file["loop"]  # a hard link to what holds it
    with pytest.raises(InputError, match="more than 10,000 names or 16 levels"):
        load_pretrained(weights.parent)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("name", ["weights.hdf5", "options.json"])
def test_a_pipe_is_no_file(weights: Path, name: str) -> None:
    (weights.parent / name).unlink()
    os.mkfifo(weights.parent / name)
    with pytest.raises(InputError):
        load_pretrained(weights.parent)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("lstm", "n_layers"), 10**6),
        (("lstm", "dim"), 10**9),
        (("lstm", "projection_dim"), 10**12),
        (("char_cnn", "n_highway"), 10**7),
        (("char_cnn", "max_characters_per_token"), 10**9),
        (("char_cnn", "filters"), [[1, 10**10]]),
        (("char_cnn", "filters"), [[1, 1]] * 100_000),
        (("char_cnn", "embedding"), {"dim": 10**9}),
    ],
)
def test_absurd_sizes_are_refused_before_any_work(
    weights: Path, place: tuple[str, str], value: object
) -> None:
    path = weights.parent / "options.json"
    options = json.loads(path.read_text())
    options[place[0]][place[1]] = value
    path.write_text(json.dumps(options))
    with pytest.raises(InputError, match=r"options\.json: .*must (be|have) at most"):
        load_pretrained(weights.parent)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, '{"a": ' + "9" * 5000 + "}"])
def test_json_made_to_break_its_parser_is_one_sentence(weights: Path, text: str) -> None:
    (weights.parent / "options.json").write_text(text)
    with pytest.raises(InputError, match=r"options\.json: not a JSON file"):
        load_pretrained(weights.parent)


def test_settings_outside_of_a_folder_are_not_read(tmp_path: Path) -> None:
    """ELMoForManyLangs' config_path is often absolute, on its author's disk."""
    write_manylangs_files(tmp_path / "model", ManyLangsSpec())
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    inside = tmp_path / "model" / Path(config["config_path"]).name
    for outside in (tmp_path / "elsewhere.json", tmp_path / "model" / ".." / "elsewhere.json"):
        (tmp_path / "elsewhere.json").write_text('{"token_embedder": "stolen"}')
        (tmp_path / "model" / "config.json").write_text(json.dumps({"config_path": str(outside)}))
        inside.rename(tmp_path / "model" / "elsewhere.json")
        inside = tmp_path / "model" / "elsewhere.json"
        assert load_pretrained(tmp_path / "model").format == "manylangs"


@pytest.mark.parametrize("name", ["weights.hdf5", "options.json"])
def test_a_link_out_of_the_models_folder_is_refused(weights: Path, name: str) -> None:
    outside = weights.parent.parent / "outside"
    (weights.parent / name).rename(outside)
    (weights.parent / name).symlink_to(outside)
    with pytest.raises(InputError, match="link that leaves the model's folder"):
        load_pretrained(weights.parent)


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
            return os.mkdir, (str(tmp_path / "harm"),)

    write_manylangs_files(tmp_path / "model", ManyLangsSpec())
    torch.save({"x": Evil()}, tmp_path / "model" / "encoder.pkl")
    with pytest.raises(InputError, match="holds more than tensors"):
        load_pretrained(tmp_path / "model")
    assert not (tmp_path / "harm").exists()


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("options.json", "{}")
        archive.writestr("model.hdf5", bytes(64 << 20))
    with pytest.raises(InputError, match=r"'model\.hdf5' would unpack to 67,108,864 bytes from"):
        load_pretrained(path)
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number}.txt", "")
    with pytest.raises(InputError, match="holds 1,001 files, but a model has at most 1,000"):
        load_pretrained(path)


def test_a_vocabulary_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmokit.text.vocabulary.MOST_BYTES", 1 << 20)
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"word\n" * (1 << 19)))
    with pytest.raises(InputError, match="it unpacks to far too much"):
        read_vocabulary(tmp_path / "vocab.txt.gz")
