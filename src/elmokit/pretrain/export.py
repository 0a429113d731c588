"""A RUN -> A MODEL: writes the weights of a checkpoint as a model that others can load."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from elmokit.config import ModelConfig
from elmokit.embed.embedder import Embedder
from elmokit.embed.warm_start import WARM_UP_SENTENCES, settle
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords, Softmax
from elmokit.pretrain.config import with_word_table
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.run_folder import (
    Checkpoints,
    load_weights,
    read_checkpoint,
    read_run,
)
from elmokit.text.token_ids import TokenIndexer, Utf8Characters, word_table_ids
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import StorageType

SETTLED_BY = 30
"""Number of held-out sentences whose mean state is stored as the settled state."""

Which = Literal["best", "latest"]
Format = Literal["native", "bilm-tf"]


def as_format(name: str) -> Format:
    """The format of that name."""
    if name == "native":
        return "native"
    if name == "bilm-tf":
        return "bilm-tf"
    raise InputError(f"--format {name}: choose native or bilm-tf")


def read_trained(run: Path, which: Which = "best") -> PretrainedModel:
    """The model of a run's best (by held-out perplexity) or latest checkpoint."""
    recipe, data = read_run(run)
    checkpoints = Checkpoints(run, keep=1)
    path = (checkpoints.best() if which == "best" else None) or checkpoints.latest()
    if path is None:
        raise InputError(f"{run}: this run has no checkpoint yet; let it train a little longer")
    content = read_checkpoint(path)
    corpus = Corpus.open(data)
    vocabulary = corpus.vocabulary
    bilm = BiLm(with_word_table(recipe.model, len(vocabulary)))
    softmax = Softmax(len(vocabulary), recipe.model.lstm.projection_dim)
    load_weights(path, content.get("average", content), bilm, softmax)
    tokens = content["step"] * recipe.train.batch_size * recipe.train.window
    model = PretrainedModel(
        bilm,
        indexer_of(bilm.config, vocabulary),
        format="native",
        source=str(run),
        output_words=OutputWords(softmax, vocabulary),
        card={"trained_by": "elmokit", "tokens_seen": str(tokens)},
    )
    settle_on(model, corpus)
    return model


def settle_on(model: PretrainedModel, corpus: Corpus) -> None:
    """Give ``model`` the settled state that held-out sentences lead to, if there are enough."""
    sentences = first_sentences(corpus, SETTLED_BY)
    if len(sentences) > WARM_UP_SENTENCES:
        model.settled = settle(Embedder(model), sentences)


def first_sentences(corpus: Corpus, count: int) -> list[list[str]]:
    """The first ``count`` held-out sentences."""
    return list(islice(corpus.sentences(corpus.heldout), count))


def export(
    run: Path,
    out: Path,
    format: Format = "native",
    which: Which = "best",
    dtype: StorageType = "float32",
    card: Sequence[str] = (),
) -> PretrainedModel:
    """Write a run's model in a format that others can load.

    Args:
        run: The folder of the run.
        out: The folder for the model.
        format: ``native`` (safetensors), or ``bilm-tf``: HDF5 with options.json, vocabulary and
            softmax, as the published models are.
        which: The checkpoint with the lowest held-out perplexity, or the latest.
        dtype: How native weights are stored.
        card: Facts to store with the model, each as NAME=TEXT.
    """
    if format == "bilm-tf" and dtype != "float32":
        raise InputError("--float16: only the native format stores half precision")
    model = read_trained(run, which)
    for fact in card:
        name, separator, text = fact.partition("=")
        if not separator or not name:
            raise InputError(f"--card {fact}: write it as NAME=TEXT")
        model.card[name] = text
    if format == "native":
        write_native(model, out, dtype)
    else:
        write_bilm_tf(model, out)
    return model


def indexer_of(config: ModelConfig, vocabulary: Vocabulary) -> TokenIndexer:
    """The indexer of a model that was trained with elmokit."""
    characters = Utf8Characters(config.char_cnn.max_characters) if config.char_cnn else None
    if config.words is None:
        return TokenIndexer(characters)
    word_ids = word_table_ids(vocabulary)
    return TokenIndexer(characters, word_ids, word_ids[vocabulary.words[vocabulary.unknown]])
