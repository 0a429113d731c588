"""bilm-tf / AllenNLP: HDF5 weights with options.json, read and written (NLPL and SeqVec too)."""

from collections.abc import Collection
from pathlib import Path

import h5py
import numpy as np
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.softmax import OutputWords
from elmokit.text.characters import Utf8Characters
from elmokit.text.token_ids import TokenIndexer, word_table_rows, word_table_size
from elmokit.text.vocabulary import Vocabulary, read_vocabulary
from elmokit.weights.bilm_tf_names import Place, lone_cell_name, places
from elmokit.weights.bilm_tf_options import (
    card_of_options,
    config_of_options,
    options_of_config,
)
from elmokit.weights.build import build_bilm, build_softmax, meta_bilm
from elmokit.weights.folders import read_json, require_space, writing_model
from elmokit.weights.hdf5 import dataset_names, open_hdf5, read_tensor
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.settled import read_settled, write_settled


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

    ``vocabulary`` names the rows of ``embedding`` and of the softmax, which may also stand in
    ``weights``; without it there is no softmax.
    """
    settings = read_json(options)
    with open_hdf5(weights) as file:
        names = set(dataset_names(file))
        own_words = "embedding" in names and "char_embed" not in names
        words_path = embedding if embedding is not None else (weights if own_words else None)
        config = config_of_options(
            settings,
            options,
            datasets=names,
            num_character_rows=_num_character_rows(file, weights),
            num_word_rows=None if words_path is None else word_table_size(_num_words(words_path)),
        )
        lone = config.lstm.num_layers == 1 and f"{lone_cell_name(0, 0)}/W_0" in names
        wanted = places(config, lone_cell_name if lone else None)
        _require_nothing_left(names, wanted, config, weights, options)
        tensors = _read_places(file, wanted, config, weights, options, embedding)
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
        settled=read_settled(weights.parent, config),
        output_words=output_words,
        card=card_of_options(settings),
    )


def _num_character_rows(file: h5py.File, path: Path) -> int | None:
    table = file.get("char_embed")
    if table is None:
        return None
    if not isinstance(table, h5py.Dataset) or table.ndim != 2 or table.shape[0] < 261:
        raise InputError(
            f"{path}: char_embed must be (261, dim), got {getattr(table, 'shape', ())}"
        )
    return int(table.shape[0])


def _num_words(path: Path) -> int:
    with open_hdf5(path) as file:
        table = file.get("embedding")
        if not isinstance(table, h5py.Dataset) or table.ndim != 2:
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
    file: h5py.File,
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
            with open_hdf5(embedding) as words:
                found = _read_shape(words, place.dataset, shape, embedding, options)
        else:
            found = _read_shape(file, place.dataset, shape, weights, options)
        parts = place.turn.to_ours(found)
        tensors |= zip(place.parameters, (part.contiguous() for part in parts), strict=True)
    return tensors


def _read_shape(
    file: h5py.File, name: str, shape: tuple[int, ...], path: Path, options: Path
) -> Tensor:
    dataset = file.get(name)
    if not isinstance(dataset, h5py.Dataset):
        raise InputError(
            f"{path}: lacks {name}, which {options.name} asks for; "
            f"give the weights and the options of one model"
        )
    if dataset.shape != shape:
        raise InputError(
            f"{path}: {name} has shape {dataset.shape}, but {options.name} asks for {shape}; "
            f"give the weights and the options of one model"
        )
    return read_tensor(file, name, path)


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
        if "softmax/W" not in file:
            return None
        if "softmax/b" not in file:
            raise InputError(f"{path}: holds softmax/W without softmax/b; download it again")
        weight = read_tensor(file, "softmax/W", path)
        bias = read_tensor(file, "softmax/b", path)
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


def write_bilm_tf(model: PretrainedModel, folder: Path) -> None:
    """Write weights.hdf5 and options.json (softmax.hdf5, vocab.txt) as bilm-tf and AllenNLP do."""
    config = model.config
    _require_writable(config)
    with writing_model(folder) as aside:
        write_json(aside / "options.json", options_of_config(config, model.card))
        tensors = model.bilm.state_dict()
        datasets = {
            place.dataset: place.turn.to_file(*(tensors[name] for name in place.parameters))
            for place in places(config)
        }
        _write_hdf5(aside / "weights.hdf5", datasets)
        if model.output_words is not None:
            softmax = model.output_words.softmax
            _write_hdf5(
                aside / "softmax.hdf5", {"softmax/W": softmax.weight, "softmax/b": softmax.bias}
            )
            model.output_words.vocabulary.save(aside / "vocab.txt")
        elif config.words is not None:
            _row_names(model.indexer, config.words.num_words).save(aside / "vocab.txt")
        if model.settled is not None:
            write_settled(model.settled, aside)


def _require_writable(config: ModelConfig) -> None:
    reason = None
    if config.characters != "utf8" or (config.words is not None and config.char_cnn is not None):
        reason = "characters as UTF-8 bytes or words, not Unicode characters beside words"
    elif config.words is not None and config.has_token_projection:
        reason = "word vectors as wide as the LSTM's output"
    elif config.lstm.forget_bias != 1.0:
        reason = f"a forget bias of 1, not {config.lstm.forget_bias}"
    if reason is not None:
        raise InputError(f"bilm-tf files hold {reason}; write this model in the native format")


def _row_names(indexer: TokenIndexer, num_rows: int) -> Vocabulary:
    """The words by row; a row that a later duplicate took over keeps a name of its own."""
    names = [f"<row {row}>" for row in range(num_rows)]
    for word, row in (indexer.word_ids or {}).items():
        names[row] = word
    return Vocabulary(names[word_table_size(0) :], "the model's words")


def _write_hdf5(path: Path, datasets: dict[str, Tensor]) -> None:
    # Out of space, the HDF5 library cannot even close its file, and crashes: ask before.
    require_space(path, sum(4 * tensor.numel() for tensor in datasets.values()))
    with h5py.File(path, "w") as file:
        for name, tensor in datasets.items():
            file[name] = tensor.detach().cpu().float().contiguous().numpy()
