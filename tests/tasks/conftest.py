"""A tiny random ELMo model, in memory and on disk, for all task tests."""

import tarfile
from pathlib import Path

import pytest
import torch

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

TINY = ModelConfig(
    lstm=LstmConfig(dim=14, projection_dim=6, num_layers=2),
    char_cnn=CharCnnConfig(
        embedding_dim=4, filters=((1, 5), (2, 7)), max_characters=17, num_highway=1
    ),
)


def tiny_pretrained(seed: int = 0) -> PretrainedModel:
    torch.manual_seed(seed)
    return PretrainedModel(BiLm(TINY), TokenIndexer.utf8(17), "native", "a/tiny")


@pytest.fixture(scope="session")
def tiny_elmo() -> Embedder:
    """L + 1 = 3 layers of D = 12."""
    return Embedder(tiny_pretrained())


@pytest.fixture(scope="session")
def tiny_elmo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as ``tiny_elmo``, for ``--elmo``."""
    folder = tmp_path_factory.mktemp("elmo") / "tiny"
    write_native(tiny_pretrained(), folder)
    return folder


@pytest.fixture(scope="session")
def shared_data(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small archives of shared/data, unpacked."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("wnut17", "sst", "nli"):
        archive = shared / "data" / f"{name}.tar.xz"
        if not archive.exists():
            pytest.skip(f"{archive} is absent: real files cannot be read")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
    return folder
