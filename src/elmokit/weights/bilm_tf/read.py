"""HDF5 weights with options.json -> a model: bilm-tf, AllenNLP, NLPL and SeqVec."""

from contextlib import ExitStack
from pathlib import Path

from elmokit.errors import InputError
from elmokit.recipe import read_json
from elmokit.weights.bilm_tf.network import indexer_of, read_network, read_output_words
from elmokit.weights.bilm_tf.options import card_of_options
from elmokit.weights.hdf5 import open_hdf5, stored_tensors
from elmokit.weights.names import ModelFiles
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import read_state


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
    with ExitStack() as files:
        stored = stored_tensors(files.enter_context(open_hdf5(weights)), weights)
        if embedding is not None:
            table = stored_tensors(files.enter_context(open_hdf5(embedding)), embedding)
            stored = {name: tensor for name, tensor in stored.items() if name != "embedding"}
            stored |= {name: tensor for name, tensor in table.items() if name == "embedding"}
        is_word_model = True if embedding is not None else None
        bilm = read_network(stored, settings, weights, options, is_word_model)
    has_softmax = softmax is not None or (vocabulary is not None and "softmax/W" in stored)
    output_words = None
    if need_softmax and vocabulary is not None:
        path = softmax or weights
        with open_hdf5(path) as file:
            stored = stored_tensors(file, path)
            output_words = read_output_words(stored, vocabulary, bilm.config, path)
    if need_softmax and softmax is not None and vocabulary is None:
        raise InputError(f"{softmax}: a softmax needs its words; put vocab.txt beside it")
    return PretrainedModel(
        bilm=bilm,
        indexer=indexer_of(bilm.config, vocabulary, weights),
        format="bilm-tf",
        source=str(weights),
        settled=read_state(weights.parent, bilm.config),
        output_words=output_words,
        card=card_of_options(settings),
        unread_softmax=None if need_softmax or not has_softmax else ModelFiles(weights, options),
    )
