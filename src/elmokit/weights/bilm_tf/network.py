"""TENSORS BY BILM-TF'S NAMES + OPTIONS -> MODEL, from whatever file they come."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords
from elmokit.text.token_ids import TokenIndexer, Utf8Characters, word_table_rows, word_table_size
from elmokit.text.vocabulary import Vocabulary, read_vocabulary
from elmokit.weights.bilm_tf.names import Place, lone_cell_name, places
from elmokit.weights.bilm_tf.options import config_of_options
from elmokit.weights.tensors import StoredTensor, build_bilm, build_softmax, meta_bilm

Stored = Mapping[str, StoredTensor]


def read_network(
    stored: Stored,
    settings: dict[str, Any],
    weights: Path,
    options: Path,
    is_word_model: bool | None = None,
) -> BiLm:
    """The biLM of ``stored``, which come from the file ``weights``.

    ``settings`` are those of the file ``options``. ``is_word_model`` overrides what the names show.
    """
    names = stored.keys()
    if is_word_model is None:
        is_word_model = "embedding" in names and "char_embed" not in names
    config = config_of_options(
        settings,
        options,
        datasets=names,
        num_character_rows=_num_character_rows(stored.get("char_embed")),
        num_word_rows=_num_word_rows(stored.get("embedding"), weights) if is_word_model else None,
    )
    lone = config.lstm.num_layers == 1 and f"{lone_cell_name(0, 0)}/W_0" in names
    wanted = places(config, lone_cell_name if lone else None)
    _require_nothing_left(names, wanted, config, weights, options)
    return build_bilm(config, _read_places(stored, wanted, config, weights, options), weights)


def read_output_words(
    stored: Stored, vocabulary: Path, config: ModelConfig, path: Path
) -> OutputWords | None:
    """The softmax among ``stored``, which come from ``path``; None if there is none."""
    if "softmax/W" not in stored:
        return None
    if "softmax/b" not in stored:
        raise InputError(f"{path}: holds softmax/W without softmax/b; download it again")
    weight, bias = (stored[f"softmax/{part}"].read() for part in ("W", "b"))
    width = config.lstm.projection_dim
    if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
        raise InputError(
            f"{path}: softmax/W {tuple(weight.shape)} and softmax/b {tuple(bias.shape)} "
            f"do not fit a projection of {width}; give the softmax of this model"
        )
    words = _words_of(vocabulary, len(weight), f"the softmax of {path}")
    return OutputWords(build_softmax(weight, bias, path), words)


def indexer_of(config: ModelConfig, vocabulary: Path | None, weights: Path) -> TokenIndexer:
    """How tokens become the ids of the model in the file ``weights``."""
    if config.words is None:
        assert config.char_cnn is not None
        return TokenIndexer(Utf8Characters(config.char_cnn.max_characters))
    num_words = config.words.num_words - word_table_size(0)
    if vocabulary is None:
        raise InputError(
            f"{weights}: a word-id model needs the words of its {num_words:,} rows; "
            f"put vocab.txt beside it"
        )
    words = _words_of(vocabulary, num_words, f"the embedding of {weights}")
    rows = word_table_rows(np.arange(len(words))).tolist()
    word_ids = dict(zip(words.words, rows, strict=True))
    return TokenIndexer(word_ids=word_ids, unknown_word=rows[words.unknown])


def _num_character_rows(table: StoredTensor | None) -> int | None:
    if table is None:
        return None
    if len(table.shape) != 2 or table.shape[0] < 261:
        raise InputError(f"{table.path}: char_embed must be (261, dim), got {table.shape}")
    return int(table.shape[0])


def _num_word_rows(table: StoredTensor | None, weights: Path) -> int:
    if table is None or len(table.shape) != 2:
        path = weights if table is None else table.path
        raise InputError(f"{path}: a word-id model needs a dataset `embedding` (words, dim)")
    return word_table_size(int(table.shape[0]))


def _require_nothing_left(
    names: Collection[str], wanted: list[Place], config: ModelConfig, weights: Path, options: Path
) -> None:
    """A layer or highway that the options do not mention would silently be lost."""
    asked = {place.dataset for place in wanted}
    prefixes = ("RNN_",) if config.char_cnn is None else ("RNN_", "CNN", "char_embed")
    for name in sorted(names):
        if name.startswith(prefixes) and name not in asked:
            raise InputError(
                f"{weights}: holds {name}, which {options.name} does not mention "
                f"(lstm.n_layers {config.lstm.num_layers}, char_cnn.n_highway "
                f"{config.char_cnn.num_highway if config.char_cnn else 'none'}); "
                f"give the options that came with these weights"
            )


def _read_places(
    stored: Stored, wanted: list[Place], config: ModelConfig, weights: Path, options: Path
) -> dict[str, Tensor]:
    expected = meta_bilm(config).state_dict()
    tensors: dict[str, Tensor] = {}
    for place in wanted:
        shape = tuple(place.turn.to_file(*(expected[name] for name in place.parameters)).shape)
        found = _read_shape(stored, place.dataset, shape, weights, options)
        parts = place.turn.to_ours(found)
        tensors |= zip(place.parameters, (part.contiguous() for part in parts), strict=True)
    return tensors


def _read_shape(
    stored: Stored, name: str, shape: tuple[int, ...], weights: Path, options: Path
) -> Tensor:
    tensor = stored.get(name)
    if tensor is None:
        raise InputError(
            f"{weights}: lacks {name}, which {options.name} asks for; "
            f"give the weights and the options of one model"
        )
    if tensor.shape != shape:
        raise InputError(
            f"{tensor.path}: {name} has shape {tensor.shape}, but {options.name} asks for {shape}; "
            f"give the weights and the options of one model"
        )
    return tensor.read()


def _words_of(path: Path, num_rows: int, what: str) -> Vocabulary:
    try:
        words = read_vocabulary(path)
    except InputError as error:
        raise InputError(
            f"{error}; {what} needs all of <S>, </S> and <UNK> to be among its words"
        ) from None
    if len(words) != num_rows:
        raise InputError(
            f"{path}: {len(words):,} words, but {what} has {num_rows:,} rows; "
            f"give the vocabulary it was trained with"
        )
    return words
