"""options.json <-> ModelConfig, as bilm-tf and AllenNLP understand it."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig, WordTableConfig
from elmokit.errors import InputError
from elmokit.weights.bilm_tf.names import full_cell_name
from elmokit.weights.tensors import StoredTensor

_TRAINING_FACTS = (
    "n_train_tokens", "n_epochs", "batch_size", "unroll_steps", "dropout", "n_tokens_vocab",
    "n_negative_samples_batch", "all_clip_norm_val",
)  # fmt: skip


def config_of_options(
    options: dict[str, Any],
    where: Path,
    *,
    datasets: Collection[str],
    num_character_rows: int | None,
    num_word_rows: int | None,
) -> ModelConfig:
    """What the options say, and where they are silent, what the weights show.

    ``datasets``: the names in the weights; ``num_character_rows``: rows of ``char_embed``;
    ``num_word_rows``: of the word table (with its mask), where the model reads word ids.
    """
    if options.get("bidirectional") is False:
        raise InputError(f"{where}: a forward-only model; elmokit reads biLMs, which have both")
    lstm = _lstm(options, where, datasets)
    try:
        if num_word_rows is not None:
            words = WordTableConfig(num_word_rows, lstm.projection_dim)
            return ModelConfig(lstm, char_cnn=None, words=words, has_token_projection=False)
        char_cnn = _char_cnn(options, where, num_character_rows)
        has_projection = (
            char_cnn.num_filters != lstm.projection_dim or "CNN_proj/W_proj" in datasets
        )
        return ModelConfig(lstm, char_cnn, has_token_projection=has_projection)
    except InputError as error:
        message = str(error)
        raise InputError(
            message if message.startswith(str(where)) else f"{where}: {message}"
        ) from None


def _lstm(options: dict[str, Any], where: Path, datasets: Collection[str]) -> LstmConfig:
    table = _get(options, "lstm", dict, where, "")
    if table is None:
        raise InputError(f"{where}: no table lstm, so these are not the options of a biLM")
    dim = _required(table, "dim", int, where, "lstm.")
    projection_dim = _required(table, "projection_dim", int, where, "lstm.")
    has_projection = dim != projection_dim or any(name.endswith("/W_P_0") for name in datasets)
    num_layers = _get(table, "n_layers", int, where, "lstm.")
    try:
        return LstmConfig(
            dim=dim,
            projection_dim=projection_dim,
            num_layers=1 if num_layers is None else num_layers,
            use_skip_connections=bool(table.get("use_skip_connections")),
            has_projection=has_projection,
            cell_clip=_get(table, "cell_clip", float, where, "lstm."),
            projection_clip=_get(table, "proj_clip", float, where, "lstm."),
        )
    except InputError as error:
        message = str(error)
        raise InputError(
            message if message.startswith(str(where)) else f"{where}: {message}"
        ) from None


def _char_cnn(options: dict[str, Any], where: Path, num_rows: int | None) -> CharCnnConfig:
    table = _get(options, "char_cnn", dict, where, "")
    if table is None:
        raise InputError(
            f"{where}: neither char_cnn here nor a dataset `embedding` in the weights; "
            f"a word-id model needs the file of its embedding"
        )
    num_characters = _get(table, "n_characters", int, where, "char_cnn.")
    if num_characters is not None and num_characters not in (261, 262, num_rows):
        raise InputError(
            f"{where}: char_cnn.n_characters must be 261 or 262 (UTF-8 bytes and markers), "
            f"got {num_characters}"
        )
    embedding = _get(table, "embedding", dict, where, "char_cnn.")
    filters = _required(table, "filters", list, where, "char_cnn.")
    for item in filters:
        if not (isinstance(item, list) and len(item) == 2 and all(type(n) is int for n in item)):
            raise InputError(f"{where}: char_cnn.filters must be [width, number] pairs: {item!r}")
    return CharCnnConfig(
        num_characters=(num_rows or 261) + 1,  # row 0 masks, and is in no file
        embedding_dim=_required(embedding or {}, "dim", int, where, "char_cnn.embedding."),
        filters=tuple((width, number) for width, number in filters),
        max_characters=_get(table, "max_characters_per_token", int, where, "char_cnn.") or 50,
        num_highway=_get(table, "n_highway", int, where, "char_cnn.") or 0,
        activation=_required(table, "activation", str, where, "char_cnn."),
    )


def options_of_config(config: ModelConfig, card: dict[str, str]) -> dict[str, Any]:
    """The options that bilm-tf and AllenNLP expect beside the weights."""
    lstm = config.lstm
    options: dict[str, Any] = {
        "bidirectional": True,
        "lstm": {
            "cell_clip": lstm.cell_clip,
            "dim": lstm.dim,
            "n_layers": lstm.num_layers,
            "proj_clip": lstm.projection_clip,
            "projection_dim": lstm.projection_dim,
            "use_skip_connections": lstm.use_skip_connections,
        },
    }
    if config.char_cnn is not None:
        options["char_cnn"] = {
            "activation": config.char_cnn.activation,
            "embedding": {"dim": config.char_cnn.embedding_dim},
            "filters": [list(pair) for pair in config.char_cnn.filters],
            "max_characters_per_token": config.char_cnn.max_characters,
            "n_characters": 262,
            "n_highway": config.char_cnn.num_highway,
        }
    if card:
        options["elmokit"] = {"card": card}
    return options


def options_of_shapes(stored: Mapping[str, StoredTensor], where: Path) -> dict[str, Any]:
    """The options of weights that came without: sizes from their shapes, the rest as published.

    Every English biLM has relu, clips at 3, skip connections and 50 characters per token; the card
    says that they were assumed.
    """

    def shapes(name: str, num_dims: int) -> Iterator[tuple[int, ...]]:
        number = 0
        while (tensor := stored.get(name.format(number))) is not None:
            if len(tensor.shape) != num_dims:
                raise InputError(
                    f"{where}: {name.format(number)} has shape {tensor.shape}; expected {num_dims} "
                    f"dimensions"
                )
            yield tensor.shape
            number += 1

    convolutions = list(shapes("CNN/W_cnn_{}", 4))  # (1, width, E, num)
    cells = list(shapes(full_cell_name(0, 0).replace("Cell0", "Cell{}") + "/W_0", 2))  # (2P, 4H)
    if not convolutions or not cells:
        raise InputError(
            f"{where}: lacks CNN/W_cnn_0 or the first LSTM; give the options.json of these weights"
        )
    return {
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": convolutions[0][2]},
            "filters": [[width, number] for _, width, _, number in convolutions],
            "max_characters_per_token": 50,
            "n_highway": len(list(shapes("CNN_high_{}/W_carry", 2))),
        },
        "lstm": {
            "cell_clip": 3,
            "dim": cells[0][1] // 4,
            "n_layers": len(cells),
            "proj_clip": 3,
            "projection_dim": cells[0][0] // 2,
            "use_skip_connections": True,
        },
        "elmokit": {"card": {"assumed": "relu, clips at 3, skip connections, 50 characters"}},
    }


def card_of_options(options: dict[str, Any]) -> dict[str, str]:
    """What the options say about training, and the card that elmokit put there."""
    card = {name: str(options[name]) for name in _TRAINING_FACTS if name in options}
    ours = options.get("elmokit")
    if isinstance(ours, dict) and isinstance(ours.get("card"), dict):
        card |= {str(key): str(value) for key, value in ours["card"].items()}
    return card


def _required(table: dict[str, Any], name: str, kind: Any, where: Path, prefix: str) -> Any:
    value = _get(table, name, kind, where, prefix)
    if value is None:
        raise InputError(f"{where}: {prefix}{name} is missing; use the options of the weights")
    return value


def _get(table: dict[str, Any], name: str, kind: Any, where: Path, prefix: str) -> Any:
    """A value of the right kind, or None where it is missing or null."""
    value = table.get(name)
    if value is None:
        return None
    if kind is float and type(value) is int and abs(value) < 10**300:  # beyond, no float holds it
        return float(value)
    if kind is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not kind:
        raise InputError(f"{where}: {prefix}{name} must be {kind.__name__}, got {value!r}")
    return value
