from collections.abc import Callable

import pytest
import torch

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel

TINY = ModelConfig(
    lstm=LstmConfig(dim=11, projection_dim=5, num_layers=2),
    char_cnn=CharCnnConfig(
        embedding_dim=3, filters=((1, 4), (3, 6)), max_characters=13, num_highway=1
    ),
)


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
