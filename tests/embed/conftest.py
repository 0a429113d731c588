from collections.abc import Callable

import pytest
import torch
from tiny_config import TINY

from elmokit.config import ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel


@pytest.fixture(scope="session")
def make_embedder() -> Callable[..., Embedder]:
    def make(config: ModelConfig = TINY, seed: int = 0, **options: int) -> Embedder:
        torch.manual_seed(seed)
        assert config.char_cnn is not None
        indexer = TokenIndexer.utf8(config.char_cnn.max_characters)
        return Embedder(PretrainedModel(BiLm(config), indexer, "native", "a/tiny"), **options)

    return make


@pytest.fixture(scope="session")
def elmo(make_embedder: Callable[..., Embedder]) -> Embedder:
    return make_embedder()
