"""HDF5 + options.json: every variant is read, and written back to the bit."""

import gzip
import json
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from random_files import BilmTfSpec, write_bilm_tf_files
from random_specs import GENTLE, assert_same_weights, bilm_tf_specs
from twin import read_arrays

from elmokit.embed.embedder import Embedder
from elmokit.embed.warm_start import settle
from elmokit.errors import InputError
from elmokit.weights.bilm_tf.read import read_bilm_tf
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "naïve", "sat")


@given(spec=bilm_tf_specs(GENTLE))
@settings(max_examples=30)
def test_file_native_file_is_the_same_file_to_the_bit(spec: BilmTfSpec) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bilm_tf_files(folder / "given", spec)
        model = load_pretrained(folder / "given")
        write_native(model, folder / "native")
        native = load_pretrained(folder / "native")
        assert_same_weights(model, native)
        write_bilm_tf(native, folder / "back")
        assert_same_weights(model, load_pretrained(folder / "back"))
        before, after = (read_arrays(folder / f / "weights.hdf5") for f in ("given", "back"))
        if spec.separate_embedding:
            before |= read_arrays(folder / "given" / "embedding.hdf5")
    full = "MultiRNNCell/Cell0/LSTMCell"
    before = {key.replace("RNN/LSTMCell", f"RNN/{full}"): value for key, value in before.items()}
    assert before.keys() == after.keys()
    for key, array in before.items():
        assert np.array_equal(array, after[key]), key


def test_written_options_are_the_ones_allennlp_reads(bilm_tf: Path, tmp_path: Path) -> None:
    given = json.loads((bilm_tf / "options.json").read_text())
    write_bilm_tf(load_pretrained(bilm_tf), tmp_path / "out")
    written = json.loads((tmp_path / "out" / "options.json").read_text())
    for table in ("lstm", "char_cnn"):
        assert written[table] == given[table]


def test_softmax_vocabulary_settled_state_and_card_are_written_too(
    bilm_tf: Path, tmp_path: Path
) -> None:
    model = load_pretrained(bilm_tf)
    model.settled = settle(Embedder(model))
    write_bilm_tf(model, tmp_path / "out")
    again = load_pretrained(tmp_path / "out")
    assert again.output_words is not None and model.output_words is not None
    assert torch.equal(again.output_words.softmax.weight, model.output_words.softmax.weight)
    assert again.output_words.vocabulary.words == list(WORDS)
    assert again.settled is not None
    assert torch.equal(again.settled.backward.cell, model.settled.backward.cell)
    assert again.card == model.card == {"n_train_tokens": "768648884"}


def test_models_of_many_languages_cannot_be_written_as_bilm_tf(
    manylangs: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="write this model in the native format"):
        write_bilm_tf(load_pretrained(manylangs), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_words_are_looked_up_in_the_vocabulary(word_model: Path) -> None:
    model = load_pretrained(word_model)
    with h5py.File(word_model / "weights.hdf5") as file:
        table = file["embedding"][()]
    with torch.no_grad():
        vectors = model.bilm.encoder(model.indexer.encode(["cat", "zebra", "<S>"])).numpy()
    assert np.array_equal(vectors, table[[4, 2, 0]])


def test_a_separate_embedding_makes_word_ids_of_a_character_model(
    bilm_tf: Path, tmp_path: Path
) -> None:
    """As bilm-tf's dump_token_embeddings leaves it."""
    table = np.random.default_rng(1).normal(size=(len(WORDS), 5)).astype(np.float32)
    with h5py.File(tmp_path / "tokens.hdf5", "w") as file:
        file["embedding"] = table
    model = read_bilm_tf(
        bilm_tf / "weights.hdf5",
        bilm_tf / "options.json",
        vocabulary=bilm_tf / "vocab.txt",
        embedding=tmp_path / "tokens.hdf5",
    )
    assert model.config.char_cnn is None
    with torch.no_grad():
        vectors = model.bilm.encoder(model.indexer.encode(["sat"])).numpy()
    assert np.array_equal(vectors, table[[6]])


def test_an_nlpl_folder_is_read(bilm_tf: Path) -> None:
    (bilm_tf / "weights.hdf5").rename(bilm_tf / "model.hdf5")
    (bilm_tf / "vocab.txt.gz").write_bytes(gzip.compress((bilm_tf / "vocab.txt").read_bytes()))
    (bilm_tf / "vocab.txt").unlink()
    meta = {"algorithm": {"name": "ELMo"}, "corpus": [{"language": "nob", "tokens": 7}]}
    (bilm_tf / "meta.json").write_text(json.dumps(meta))
    model = load_pretrained(bilm_tf)
    assert model.output_words is not None
    assert model.card["corpus.language"] == "nob" and model.card["algorithm.name"] == "ELMo"


def test_an_nlpl_zip_is_read_and_leaves_nothing_behind(
    bilm_tf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bilm_tf / "weights.hdf5").rename(bilm_tf / "model.hdf5")
    archive = tmp_path / "187.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in bilm_tf.iterdir():
            file.write(path, path.name)
    aside = tmp_path / "aside"
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    model = load_pretrained(archive)
    assert_same_weights(model, load_pretrained(bilm_tf))
    assert model.source == str(archive) and list(aside.iterdir()) == []


def test_english_file_names_find_their_options(bilm_tf: Path) -> None:
    stem = bilm_tf / "elmo_2x4096_512_2048cnn_2xhighway"
    weights = (bilm_tf / "weights.hdf5").rename(f"{stem}_weights.hdf5")
    (bilm_tf / "options.json").rename(f"{stem}_options.json")
    (bilm_tf / "other_options.json").write_text("{}")
    assert load_pretrained(weights).config.lstm.dim == 7


def test_a_folder_of_several_models_asks_for_one_of_them(bilm_tf: Path) -> None:
    for name in ("small", "medium"):
        (bilm_tf / f"{name}_weights.hdf5").write_bytes((bilm_tf / "weights.hdf5").read_bytes())
        (bilm_tf / f"{name}_options.json").write_bytes((bilm_tf / "options.json").read_bytes())
    assert load_pretrained(bilm_tf).config.lstm.dim == 7  # weights.hdf5 is the usual name
    (bilm_tf / "weights.hdf5").unlink()
    with pytest.raises(InputError, match=r"several models \(medium_weights.hdf5, small_weights"):
        load_pretrained(bilm_tf)
    assert load_pretrained(bilm_tf / "small_weights.hdf5").config.lstm.dim == 7


@pytest.mark.parametrize("name", ["softmax.hdf5", "elmo_softmax.hdf5", "elmo_softmax_weights.hdf5"])
def test_the_softmax_beside_one_file_is_found(bilm_tf: Path, name: str) -> None:
    weights = (bilm_tf / "weights.hdf5").rename(bilm_tf / "elmo_weights.hdf5")
    (bilm_tf / "softmax.hdf5").rename(bilm_tf / name)
    model = load_pretrained(weights)
    assert model.output_words is not None and len(model.output_words.vocabulary) == 7


def test_a_softmax_in_the_weights_themselves_is_found(bilm_tf: Path) -> None:
    with (
        h5py.File(bilm_tf / "softmax.hdf5") as file,
        h5py.File(bilm_tf / "weights.hdf5", "a") as to,
    ):
        file.copy("softmax", to)
    (bilm_tf / "softmax.hdf5").unlink()
    assert load_pretrained(bilm_tf).output_words is not None


def test_an_explicit_pair_is_read(bilm_tf: Path, tmp_path: Path) -> None:
    options = (bilm_tf / "options.json").rename(tmp_path / "elsewhere.json")
    assert load_pretrained(bilm_tf / "weights.hdf5", options=options).config.lstm.dim == 7
    with pytest.raises(InputError, match=r"no options\.json beside it"):
        load_pretrained(bilm_tf / "weights.hdf5")


def change_options(folder: Path, table: str, **changes: object) -> None:
    path = folder / "options.json"
    options = json.loads(path.read_text())
    options[table] |= changes
    path.write_text(json.dumps(options))


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        ("lstm", {"dim": 8}, r"W_0 has shape \(10, 28\), but options.json asks for \(10, 32\)"),
        ("lstm", {"n_layers": 3}, r"lacks RNN_0/RNN/MultiRNNCell/Cell2/LSTMCell/W_0"),
        ("lstm", {"n_layers": 1}, r"holds RNN_0/RNN/MultiRNNCell/Cell1/LSTMCell/B, which"),
        ("lstm", {"n_layers": 0}, r"options.json: lstm.num_layers must be at least 1, got 0"),
        ("lstm", {"n_layers": "two"}, r"lstm.n_layers must be int, got 'two'"),
        ("lstm", {"projection_dim": None}, r"lstm.projection_dim is missing"),
        ("lstm", {"cell_clip": -3}, r"lstm.cell_clip must be positive, got -3"),
        ("char_cnn", {"n_highway": 2}, r"lacks CNN_high_1/W_carry"),
        ("char_cnn", {"n_highway": None}, r"holds CNN_high_0/W_carry, which"),
        ("char_cnn", {"activation": "gelu"}, r"must be relu or tanh, got 'gelu'"),
        ("char_cnn", {"n_characters": 300}, r"n_characters must be 261 or 262 .* got 300"),
        ("char_cnn", {"filters": [[1, 3], [2]]}, r"must be \[width, number\] pairs"),
        ("char_cnn", {"filters": [[20, 3]]}, r"widest filter \(20\) exceeds max_characters = 11"),
    ],
)
def test_options_that_disagree_with_the_weights_are_named(
    bilm_tf: Path, table: str, changes: dict[str, object], message: str
) -> None:
    change_options(bilm_tf, table, **changes)
    with pytest.raises(InputError, match=message) as caught:
        load_pretrained(bilm_tf)
    assert str(caught.value).count("options.json: ") <= 1
    assert "\n" not in str(caught.value)


def test_vocabularies_that_do_not_fit_are_named(bilm_tf: Path, word_model: Path) -> None:
    for folder in (bilm_tf, word_model):
        path = folder / "vocab.txt"
        text = path.read_text()
        path.write_text(text + "extra\n")
        with pytest.raises(InputError, match=r"vocab\.txt: 8 words, but .* has 7 rows"):
            load_pretrained(folder)
        path.write_text(text.replace("<UNK>", "unk"))
        with pytest.raises(InputError, match=r"the vocabulary lacks <UNK>; .* needs all of"):
            load_pretrained(folder)
    (word_model / "vocab.txt").unlink()
    with pytest.raises(InputError, match=r"needs the words of its 7 rows; put vocab\.txt"):
        load_pretrained(word_model)


def test_a_softmax_of_another_width_is_named(bilm_tf: Path) -> None:
    with h5py.File(bilm_tf / "softmax.hdf5", "w") as file:
        file["softmax/W"], file["softmax/b"] = np.zeros((7, 6), "f4"), np.zeros(7, "f4")
    with pytest.raises(InputError, match="do not fit a projection of 5"):
        load_pretrained(bilm_tf)
    assert load_pretrained(bilm_tf, need_softmax=False).output_words is None
