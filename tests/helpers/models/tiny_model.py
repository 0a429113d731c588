"""A tiny random ELMo model; a module of its own, since every folder has a conftest."""

import torch

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
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
