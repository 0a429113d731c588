"""HDF5 weights with options.json -> a model: bilm-tf, AllenNLP, NLPL and SeqVec."""

from collections.abc import Collection, Mapping
from pathlib import Path

import h5py
import numpy as np
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.model.softmax import OutputWords
from elmokit.text.characters import Utf8Characters
from elmokit.text.token_ids import TokenIndexer, word_table_rows, word_table_size
from elmokit.text.vocabulary import Vocabulary, read_vocabulary
from elmokit.weights.bilm_tf.names import Place, lone_cell_name, places
from elmokit.weights.bilm_tf.options import (
    card_of_options,
    config_of_options,
)
from elmokit.weights.build import build_bilm, build_softmax, meta_bilm
from elmokit.weights.folders import read_json
from elmokit.weights.hdf5 import find_dataset, find_datasets, open_hdf5, read_tensor
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.state_file import read_state


def read_bilm_tf(
    weights: Path,
    options: Path,
    *,
    vocabulary: Path | None = None,
    softmax: Path | None = None,
    embedding: Path | None = None,
    need_softmax: bool = True,
) -> PretrainedModel:
    """``embedding`` (a separate file) makes it a word-id model, whatever the options say.

    ``vocabulary`` names the rows of ``embedding`` and of the softmax, which may also be in
    ``weights``; without it there is no softmax.
    """
    settings = read_json(options)
    with open_hdf5(weights) as file:
        datasets = find_datasets(file, weights)
        names = datasets.keys()
        own_words = "embedding" in names and "char_embed" not in names
        words_path = embedding if embedding is not None else (weights if own_words else None)
        config = config_of_options(
            settings,
            options,
            datasets=names,
            num_character_rows=_num_character_rows(datasets.get("char_embed"), weights),
            num_word_rows=None if words_path is None else word_table_size(_num_words(words_path)),
        )
        lone = config.lstm.num_layers == 1 and f"{lone_cell_name(0, 0)}/W_0" in names
        wanted = places(config, lone_cell_name if lone else None)
        _require_nothing_left(names, wanted, config, weights, options)
        tensors = _read_places(datasets, wanted, config, weights, options, embedding)
    output_words = None
    if need_softmax and vocabulary is not None:
        output_words = _read_output_words(softmax or weights, vocabulary, config)
    if need_softmax and softmax is not None and vocabulary is None:
        raise InputError(f"{softmax}: a softmax needs its words; put vocab.txt beside it")
    return PretrainedModel(
        bilm=build_bilm(config, tensors, weights),
        indexer=_indexer(config, vocabulary, weights),
        format="bilm-tf",
        source=str(weights),
        settled=read_state(weights.parent, config),
        output_words=output_words,
        card=card_of_options(settings),
    )


def _num_character_rows(table: h5py.Dataset | None, path: Path) -> int | None:
    if table is None:
        return None
    if table.ndim != 2 or table.shape[0] < 261:
        raise InputError(f"{path}: char_embed must be (261, dim), got {table.shape}")
    return int(table.shape[0])


def _num_words(path: Path) -> int:
    with open_hdf5(path) as file:
        table = find_dataset(file, "embedding", path)
        if table is None or table.ndim != 2:
            raise InputError(f"{path}: a word-id model needs a dataset `embedding` (words, dim)")
        return int(table.shape[0])


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
    datasets: Mapping[str, h5py.Dataset],
    wanted: list[Place],
    config: ModelConfig,
    weights: Path,
    options: Path,
    embedding: Path | None,
) -> dict[str, Tensor]:
    expected = meta_bilm(config).state_dict()
    tensors: dict[str, Tensor] = {}
    for place in wanted:
        shape = tuple(place.turn.to_file(*(expected[name] for name in place.parameters)).shape)
        if place.dataset == "embedding" and embedding is not None:
            with open_hdf5(embedding) as file:
                words = find_datasets(file, embedding)
                found = _read_shape(words, place.dataset, shape, embedding, options)
        else:
            found = _read_shape(datasets, place.dataset, shape, weights, options)
        parts = place.turn.to_ours(found)
        tensors |= zip(place.parameters, (part.contiguous() for part in parts), strict=True)
    return tensors


def _read_shape(
    datasets: Mapping[str, h5py.Dataset],
    name: str,
    shape: tuple[int, ...],
    path: Path,
    options: Path,
) -> Tensor:
    dataset = datasets.get(name)
    if dataset is None:
        raise InputError(
            f"{path}: lacks {name}, which {options.name} asks for; "
            f"give the weights and the options of one model"
        )
    if dataset.shape != shape:
        raise InputError(
            f"{path}: {name} has shape {dataset.shape}, but {options.name} asks for {shape}; "
            f"give the weights and the options of one model"
        )
    return read_tensor(dataset, name, path)


def _indexer(config: ModelConfig, vocabulary: Path | None, weights: Path) -> TokenIndexer:
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


def _read_output_words(path: Path, vocabulary: Path, config: ModelConfig) -> OutputWords | None:
    with open_hdf5(path) as file:
        weights, biases = (find_dataset(file, f"softmax/{part}", path) for part in ("W", "b"))
        if weights is None:
            return None
        if biases is None:
            raise InputError(f"{path}: holds softmax/W without softmax/b; download it again")
        weight = read_tensor(weights, "softmax/W", path)
        bias = read_tensor(biases, "softmax/b", path)
    width = config.lstm.projection_dim
    if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
        raise InputError(
            f"{path}: softmax/W {tuple(weight.shape)} and softmax/b {tuple(bias.shape)} "
            f"do not fit a projection of {width}; give the softmax of this model"
        )
    words = _words_of(vocabulary, len(weight), f"the softmax of {path}")
    return OutputWords(build_softmax(weight, bias, path), words)


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
