"""A tiny random ELMo model, in memory and on disk, for all task tests."""

import tarfile
from pathlib import Path

import pytest
from tiny_model import tiny_pretrained

from elmokit.embed.embedder import Embedder
from elmokit.weights.native import write_native


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
def other_elmo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the same shape with other weights."""
    folder = tmp_path_factory.mktemp("elmo") / "other"
    write_native(tiny_pretrained(seed=3), folder)
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
