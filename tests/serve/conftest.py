from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tiny_lm import tiny_lm
from tiny_model import tiny_pretrained

from elmokit.embed.embedder import Embedder
from elmokit.serve.app import create_app
from elmokit.serve.limits import Limits
from elmokit.serve.models import ServedModel, ServedModels

SMALL = Limits(
    body_bytes=20_000,
    request_tokens=100,
    text_tokens=40,
    queue_tokens=200,
    batch_tokens=64,
    wait_ms=0,
)


@pytest.fixture(scope="session")
def elmo() -> Embedder:
    return Embedder(tiny_pretrained())


@pytest.fixture(scope="session")
def models(elmo: Embedder) -> ServedModels:
    other = Embedder(tiny_pretrained(seed=1))
    return ServedModels([ServedModel("tiny", elmo), ServedModel("other", other)])


@pytest.fixture(scope="session")
def client(models: ServedModels) -> Iterator[TestClient]:
    """A server with small limits, without a network."""
    with TestClient(create_app(models, SMALL), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def make_client(models: ServedModels) -> Callable[..., TestClient]:
    def make(limits: Limits = SMALL, **options: Any) -> TestClient:
        return TestClient(create_app(models, limits, **options))

    return make


@pytest.fixture(scope="session")
def tiny_index(tmp_path_factory: pytest.TempPathFactory, elmo: Embedder) -> Path:
    return _index(elmo, tmp_path_factory)


@pytest.fixture(scope="session")
def complete_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server whose model has a softmax, with an index: every endpoint can answer."""
    from elmokit.analysis.words.index import open_index

    elmo = Embedder(tiny_lm())
    models = ServedModels([ServedModel("tiny", elmo)], open_index(_index(elmo, tmp_path_factory)))
    with TestClient(create_app(models, SMALL), raise_server_exceptions=False) as client:
        yield client


def _index(elmo: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from elmokit.analysis.encoders.bilm import BiLmEncoder
    from elmokit.analysis.words.build_index import build_index

    folder = tmp_path_factory.mktemp("index") / "secret-folder"
    sentences = [["the", "cat", "sat"], ["a", "cat", "ran"], ["the", "dog", "sat"]]
    build_index(BiLmEncoder(elmo), sentences, folder, quiet=True)
    return folder
