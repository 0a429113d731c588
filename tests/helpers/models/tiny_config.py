"""The smallest configuration that has every part; its sizes are all different."""

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig

TINY = ModelConfig(
    lstm=LstmConfig(dim=11, projection_dim=5, num_layers=2),
    char_cnn=CharCnnConfig(
        embedding_dim=3, filters=((1, 4), (3, 6)), max_characters=13, num_highway=1
    ),
)
