from pathlib import Path

import pytest
from tiny_corpus import prepare_tiny

from elmokit.pretrain.corpus import Corpus


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny(tiny_data: Path) -> Corpus:
    return Corpus.open(tiny_data)
