from pathlib import Path

import pytest
import torch

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords, Softmax
from elmokit.text.token_ids import TokenIndexer
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "."]


def tiny_model() -> PretrainedModel:
    torch.manual_seed(11)
    config = ModelConfig(
        lstm=LstmConfig(dim=9, projection_dim=4),
        char_cnn=CharCnnConfig(embedding_dim=3, filters=((1, 3), (2, 5)), num_highway=1),
    )
    softmax = Softmax(len(WORDS), 4)
    words = OutputWords(softmax, Vocabulary(WORDS))
    model = PretrainedModel(BiLm(config), TokenIndexer.utf8(), "native", "tiny")
    model.output_words = words
    return model


@pytest.fixture(scope="session")
def tf_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model as bilm-tf published them: options.json, an .hdf5, a vocabulary."""
    folder = tmp_path_factory.mktemp("compat") / "tf"
    write_bilm_tf(tiny_model(), folder)
    return folder


@pytest.fixture(scope="session")
def native_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compat") / "native"
    write_native(tiny_model(), folder)
    return folder


@pytest.fixture(scope="session")
def weight_file(tf_folder: Path) -> Path:
    (path,) = (path for path in tf_folder.glob("*.hdf5") if "softmax" not in path.name)
    return path


@pytest.fixture(scope="session")
def options_file(tf_folder: Path) -> Path:
    return tf_folder / "options.json"


@pytest.fixture(scope="session")
def ours(tf_folder: Path) -> Embedder:
    return Embedder(load_pretrained(tf_folder))
