"""Model files of every format, vectors of other programs, and lists of checksums."""

import gzip
import shutil
import tarfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
import torch
from random_files import BilmTfSpec, ManyLangsSpec, write_bilm_tf_files, write_manylangs_files
from targets import Target

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.embed.verify.reference_vectors import read_expected
from elmokit.embed.verify.stored_files import check_stored
from elmokit.model.bilm import BiLm
from elmokit.text.static_vectors import read_static_vectors
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.info import info
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "naïve", "sat")
TINY = ModelConfig(
    lstm=LstmConfig(dim=9, projection_dim=4),
    char_cnn=CharCnnConfig(embedding_dim=3, filters=((1, 3), (2, 5)), num_highway=1),
)


def tiny_native(folder: Path) -> None:
    """A model of a few hundred weights."""
    torch.manual_seed(3)
    write_native(PretrainedModel(BiLm(TINY), TokenIndexer.utf8(), "native", "tiny"), folder)


def _native_on_words(folder: Path) -> None:
    """With a softmax, a vocabulary and a warm start."""
    write_bilm_tf_files(folder / "tf", BilmTfSpec(softmax_words=WORDS, words=WORDS))
    model = load_pretrained(folder / "tf")
    model.settled = model.bilm.zero_state(1)
    shutil.rmtree(folder / "tf")
    write_native(model, folder)


def _native_on_characters(folder: Path) -> None:
    write_manylangs_files(folder / "many", ManyLangsSpec())
    model = load_pretrained(folder / "many")
    shutil.rmtree(folder / "many")
    write_native(model, folder)


def _bilm_tf_on_characters(folder: Path) -> None:
    write_bilm_tf_files(folder, BilmTfSpec(softmax_words=WORDS))


def _bilm_tf_on_words(folder: Path) -> None:
    write_bilm_tf_files(folder, BilmTfSpec(words=WORDS, separate_embedding=True))


def _manylangs(folder: Path) -> None:
    write_manylangs_files(folder, ManyLangsSpec())


def _zip(folder: Path) -> None:
    write_bilm_tf_files(folder / "model", BilmTfSpec(softmax_words=WORDS))
    for name, kind in (("a.zip", zipfile.ZIP_STORED), ("b.zip", zipfile.ZIP_DEFLATED)):
        with zipfile.ZipFile(folder / name, "w", kind) as archive:
            for path in sorted((folder / "model").iterdir()):
                archive.write(path, path.name)
    shutil.rmtree(folder / "model")


def _tf_checkpoint(folder: Path) -> None:
    shutil.copytree(FIXTURES / "tensorflow" / "sharded", folder, dirs_exist_ok=True)


def _tf_hub(folder: Path) -> None:
    shutil.copytree(FIXTURES / "tensorflow" / "hub", folder, dirs_exist_ok=True)


def _allennlp(folder: Path) -> None:
    """The archive, and its files: damage inside of a .gz is rarely more than a wrong checksum."""
    shutil.copy(FIXTURES / "allennlp" / "model.tar.gz", folder)
    with gzip.open(folder / "model.tar.gz") as file:
        (folder / "model.tar").write_bytes(file.read())
    with tarfile.open(folder / "model.tar") as archive:
        archive.extractall(folder / "unpacked", filter="data")


def _load(path: Path) -> None:
    """Load a model, run it, and say what it is."""
    model = load_pretrained(path)
    info(model).lines()
    Embedder(model).embed([["the", "cat", ""]])


def _load_each(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        _load(path)


def _expected(folder: Path) -> None:
    vectors = np.ones((3, 8), dtype=np.float32)
    index = '{"a b c": "0"}'
    with h5py.File(folder / "a.h5", "w") as file:
        file["0"] = vectors
        file.create_dataset("sentence_to_index", data=[index], dtype=h5py.string_dtype())
    np.savez(folder / "b.npz", **{"0": vectors, "sentence_to_index": np.array([index])})
    (folder / "c.txt").write_text("a b c\n")


def _read_expected(folder: Path) -> None:
    read_expected(folder / "a.h5", folder / "c.txt", 10)
    read_expected(folder / "b.npz", None, 10)
    read_expected(folder / "b.npz", folder / "c.txt", 10)


def _static_vectors(folder: Path) -> None:
    rows = [(word, np.arange(number, number + 5)) for number, word in enumerate("abcdef")]
    glove = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows)
    (folder / "glove.txt").write_text(glove)
    (folder / "w2v.txt").write_text(f"6 5\n{glove}")
    binary = b"".join(w.encode() + b" " + row.astype("<f4").tobytes() + b"\n" for w, row in rows)
    (folder / "w2v.bin").write_bytes(b"6 5\n" + binary)


def _read_static_vectors(folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        read_static_vectors(path)


MODELS = [
    Target("native model on words", _native_on_words, _load, 2),
    Target("native model on characters", _native_on_characters, _load, 2),
    Target("bilm-tf model on characters", _bilm_tf_on_characters, _load, 3),
    Target("bilm-tf model on words", _bilm_tf_on_words, _load, 2),
    Target("ELMoForManyLangs model", _manylangs, _load, 3),
    Target("zipped model", _zip, _load_each, 2),
    Target("TensorFlow checkpoint", _tf_checkpoint, _load, 3),
    Target("TF-Hub module", _tf_hub, _load, 2),
    Target("AllenNLP archive", _allennlp, _load_each, 2),
    Target("checksums", tiny_native, check_stored),
    Target("expected vectors", _expected, _read_expected, 2),
    Target("static vectors", _static_vectors, _read_static_vectors, 2),
]
