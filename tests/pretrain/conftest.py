from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny_corpus import prepare_tiny, tiny_recipe

from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import export
from elmokit.pretrain.training.run import train


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny(tiny_data: Path) -> Corpus:
    return Corpus.open(tiny_data)


@pytest.fixture(scope="session")
def model(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained for a few steps, with its softmax."""
    folder = tmp_path_factory.mktemp("trained")
    train(tiny_recipe(max_tokens=240), tiny_data, folder / "run")
    export(folder / "run", folder / "model")
    return folder / "model"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Models this small only lose by a second thread; test_objective checks that way apart."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
