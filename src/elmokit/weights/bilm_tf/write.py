"""A model -> HDF5 weights with options.json, as bilm-tf and AllenNLP write them."""

from pathlib import Path

import h5py
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.text.token_ids import TokenIndexer, word_table_size
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.bilm_tf.names import places
from elmokit.weights.bilm_tf.options import options_of_config
from elmokit.weights.folders import require_space, writing_model
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import write_state


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
            write_state(model.settled, aside)


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
