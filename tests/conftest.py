"""Fixtures that every folder of tests may use."""

import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when huggingface-hub is imported: no network

import pytest
import torch
from hypothesis import HealthCheck, settings
from random_files import BilmTfSpec, ManyLangsSpec, write_bilm_tf_files, write_manylangs_files

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

settings.register_profile(
    "elmokit",
    deadline=None,  # tests never depend on a clock
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("elmokit")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ``shared`` beside the repository: real data."""
    path = Path(__file__).parents[2] / "shared"
    if not path.is_dir():
        pytest.skip(f"{path} is absent: real data cannot be read")
    return path


@pytest.fixture(scope="session")
def published() -> Path:
    """A tiny published biLM with its outputs; see tests/fixtures/README.md."""
    return Path(__file__).parent / "fixtures" / "elmo"


@pytest.fixture(scope="session")
def from_tensorflow() -> Path:
    """Checkpoints that TensorFlow wrote, and their values; see tests/fixtures/README.md."""
    return Path(__file__).parent / "fixtures" / "tensorflow"


@pytest.fixture(scope="session")
def from_allennlp() -> Path:
    """An archive that holds an Elmo of AllenNLP with the weights of ``from_tensorflow``."""
    return Path(__file__).parent / "fixtures" / "allennlp" / "model.tar.gz"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny native model on disk, for tests of commands and programs."""
    torch.manual_seed(3)
    config = ModelConfig(
        lstm=LstmConfig(dim=9, projection_dim=4),
        char_cnn=CharCnnConfig(embedding_dim=3, filters=((1, 3), (2, 5)), num_highway=1),
    )
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_native(PretrainedModel(BiLm(config), TokenIndexer.utf8(), "native", "tiny"), folder)
    return folder


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(20180215)


WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "naïve", "sat")


@pytest.fixture
def bilm_tf(tmp_path: Path) -> Path:
    """Characters, with a softmax and its vocabulary."""
    folder = tmp_path / "bilm-tf"
    write_bilm_tf_files(folder, BilmTfSpec(softmax_words=WORDS))
    return folder


@pytest.fixture
def word_model(tmp_path: Path) -> Path:
    folder = tmp_path / "words"
    write_bilm_tf_files(folder, BilmTfSpec(words=WORDS))
    return folder


@pytest.fixture
def manylangs(tmp_path: Path) -> Path:
    folder = tmp_path / "manylangs"
    write_manylangs_files(folder, ManyLangsSpec())
    return folder
