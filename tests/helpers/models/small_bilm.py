"""Small random biLMs with weights strong enough for every path to matter."""

import torch

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer

INDEXER = TokenIndexer.utf8(12)


def small_bilm(
    *,
    num_layers: int = 2,
    dim: int = 7,
    projection_dim: int = 5,
    clip: float | None = 3.0,
    has_skip: bool = True,
    scale: float = 3.0,
    seed: int = 0,
) -> BiLm:
    torch.manual_seed(seed)
    config = ModelConfig(
        LstmConfig(
            dim=dim,
            projection_dim=projection_dim,
            num_layers=num_layers,
            use_skip_connections=has_skip,
            has_projection=dim != projection_dim,
            cell_clip=clip,
            projection_clip=clip,
        ),
        CharCnnConfig(
            embedding_dim=4, filters=((1, 3), (2, 4), (3, 2)), max_characters=12, num_highway=1
        ),
    )
    bilm = BiLm(config)
    with torch.no_grad():
        for weight in bilm.parameters():
            weight.mul_(scale)
        for name, weight in bilm.named_parameters():
            if name.endswith("bias"):
                weight.normal_(std=0.3)
    return bilm.eval()
