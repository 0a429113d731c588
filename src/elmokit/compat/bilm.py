"""bilm-tf's names, without TensorFlow: ids in, tensors out, and no graph.

batcher = Batcher(vocab_file, 50)
bilm = BidirectionalLanguageModel(options_file, weight_file)
elmo = weight_layers("input", bilm(batcher.batch_sentences(sentences)), l2_coef=0.001)
elmo["weighted_op"], elmo["regularization_op"]
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import h5py
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.embed.files.inputs import read_sentences
from elmokit.embed.files.to_file import Selection, embed_to_file
from elmokit.embed.files.writers import Layout
from elmokit.embed.word_cache import WordCache
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.model.packing import batch_character_ids, batch_word_ids
from elmokit.model.scalar_mix import ScalarMix
from elmokit.text.sources import read_lines
from elmokit.text.token_ids import Utf8Characters, word_table_rows
from elmokit.text.vocabulary import BEGIN_OF_SENTENCE, END_OF_SENTENCE, UNKNOWN
from elmokit.weights.folders import require_space
from elmokit.weights.hdf5 import find_dataset, open_hdf5, read_tensor
from elmokit.weights.load import load_pretrained

File = str | Path
Ids = npt.NDArray[np.int64]


class Batcher:
    """Sentences -> (B, T + 2, characters) ids, with sentence markers; 0 for padding."""

    def __init__(self, lm_vocab_file: File | None, max_token_length: int) -> None:
        """``lm_vocab_file`` is accepted but not read: characters need no vocabulary."""
        self._characters = Utf8Characters(max_token_length)

    def batch_sentences(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """Return the character ids of a batch of tokenised sentences."""
        shape = len(sentences), _longest(sentences) + 2, self._characters.max_characters
        ids = np.zeros(shape, dtype=np.int64)
        for row, sentence in enumerate(sentences):
            wrapped = [BEGIN_OF_SENTENCE, *sentence, END_OF_SENTENCE]
            ids[row, : len(wrapped)] = self._characters.encode(wrapped)
        return ids


class TokenBatcher:
    """Sentences -> (B, T + 2) word ids, counted from 1; 0 for padding."""

    def __init__(self, lm_vocab_file: File) -> None:
        self._path = Path(lm_vocab_file)
        self._id_of = {word: number for number, word in enumerate(_words(self._path))}

    def batch_sentences(self, sentences: Sequence[Sequence[str]]) -> Ids:
        """Return the word ids of a batch of tokenised sentences."""
        ids = np.zeros((len(sentences), _longest(sentences) + 2), dtype=np.int64)
        for row, sentence in enumerate(sentences):
            wrapped = [BEGIN_OF_SENTENCE, *sentence, END_OF_SENTENCE]
            numbers = np.array([self._id(token) for token in wrapped], dtype=np.int64)
            ids[row, : len(wrapped)] = word_table_rows(numbers)
        return ids

    def _id(self, token: str) -> int:
        number = self._id_of.get(token, self._id_of.get(UNKNOWN))
        if number is None:
            raise InputError(
                f"{self._path}: the vocabulary has neither {token!r} nor {UNKNOWN}; add one of them"
            )
        return number


class BilmOps(TypedDict):
    """What ``BidirectionalLanguageModel`` returns, under bilm-tf's keys."""

    lm_embeddings: Tensor  # (B, L + 1, T, D), without the markers
    lengths: Tensor  # (B,)
    token_embeddings: Tensor  # (B, T + 2, P)
    mask: Tensor  # (B, T)


class BidirectionalLanguageModel:
    """bilm-tf's biLM, computed when it is called with ids; every sentence starts from zeros."""

    def __init__(
        self,
        options_file: File,
        weight_file: File,
        use_character_inputs: bool = True,
        embedding_weight_file: File | None = None,
        max_batch_size: int = 128,
    ) -> None:
        """``max_batch_size`` is accepted but has no effect: a batch may have any size."""
        if not use_character_inputs and embedding_weight_file is None:
            raise InputError("use_character_inputs=False needs an embedding_weight_file")
        pretrained = load_pretrained(weight_file, options=options_file, need_softmax=False)
        self._bilm, self._indexer = pretrained.bilm, pretrained.indexer
        self._vectors = None
        if not use_character_inputs and embedding_weight_file is not None:
            path = Path(embedding_weight_file)
            with open_hdf5(path) as file:
                dataset = find_dataset(file, "embedding", path)
                if dataset is None:
                    raise InputError(
                        f"{path}: has no dataset `embedding`; write one with dump_token_embeddings"
                    )
                vectors = read_tensor(dataset, "embedding", path)
            self._vectors = torch.cat([vectors.new_zeros(1, vectors.shape[1]), vectors])

    @torch.no_grad()
    def __call__(self, ids: Ids | Tensor) -> BilmOps:
        """Compute the layers of a batch; ``ids`` come from ``Batcher`` or ``TokenBatcher``."""
        given = torch.as_tensor(ids).long().to(self._bilm.device)
        if self._vectors is None:
            batch = batch_character_ids(given, self._indexer)
            table = self._bilm.encoder(batch.ids)
        else:
            batch = batch_word_ids(given, marker_ids=(0, 0))  # the ids hold their own markers
            assert batch.ids.words is not None
            table = self._vectors[batch.ids.words]
        state = self._bilm.zero_state(len(given))
        layers = self._bilm(table, batch.rows, batch.lengths.tolist(), state).layers
        lengths = batch.lengths.to(table.device) - 2
        mask = torch.arange(given.shape[1] - 2, device=table.device) < lengths[:, None]
        return BilmOps(
            lm_embeddings=layers[:, :, 1:-1] * mask[:, None, :, None],
            lengths=lengths,
            token_embeddings=layers[:, 0, :, : table.shape[1]],
            mask=mask,
        )


class WeightedLayers(TypedDict):
    """What ``weight_layers`` returns: bilm-tf's two keys and the module that was trained."""

    weighted_op: Tensor  # (B, T, D)
    regularization_op: Tensor
    mix: ScalarMix  # whose parameters the task trains


def weight_layers(
    name: str,
    bilm_ops: BilmOps,
    l2_coef: float | None = None,
    use_top_only: bool = False,
    do_layer_norm: bool = False,
    mix: ScalarMix | None = None,
) -> WeightedLayers:
    """Mix the layers with trainable weights and gamma.

    TensorFlow shared the weights of one ``name`` through a variable scope; here, pass the ``mix``
    of an earlier result. Layer norm is per token, never over the batch.
    """
    layers = bilm_ops["lm_embeddings"]
    used = layers[:, -1:] if use_top_only else layers
    if mix is None:
        mix = ScalarMix(used.shape[1], layer_norm=do_layer_norm and not use_top_only)
        mix.to(layers.device)
    penalty = mix.penalty() * (0.0 if use_top_only or l2_coef is None else l2_coef)
    weighted = mix(used) * bilm_ops["mask"][:, :, None]
    return WeightedLayers(weighted_op=weighted, regularization_op=penalty, mix=mix)


def dump_token_embeddings(
    vocab_file: File, options_file: File, weight_file: File, outfile: File
) -> None:
    """Write HDF5 with ``embedding`` (V, P): the context-independent vectors of a file's words."""
    pretrained = load_pretrained(weight_file, options=options_file, need_softmax=False)
    words = _words(Path(vocab_file))
    vectors = WordCache(pretrained.bilm.encoder, pretrained.indexer).vectors(words)
    with replacing_file(Path(outfile)) as aside:
        require_space(aside, vectors.nbytes)  # HDF5 crashes on a full disk
        with h5py.File(aside, "w") as file:
            file.create_dataset("embedding", data=vectors.cpu().numpy(), dtype="float32")


def dump_bilm_embeddings(
    vocab_file: File | None,
    dataset_file: File,
    options_file: File,
    weight_file: File,
    outfile: File,
) -> None:
    """Write HDF5 with all layers (L + 1, T, D) of each line of a tokenised file: keys 0, 1, ..."""
    pretrained = load_pretrained(weight_file, options=options_file, need_softmax=False)
    embed_to_file(
        Embedder(pretrained),
        read_sentences([str(dataset_file)], pretokenized=True),
        Path(outfile),
        Selection(mix=None),
        layout=Layout(keep_sentences=False),
        kind=".hdf5",
    )


def _longest(sentences: Sequence[Sequence[str]]) -> int:
    return max(map(len, sentences), default=0)


def _words(path: Path) -> list[str]:
    """Any list of words, one per line; ``<UNK>`` is not required."""
    words = [line.strip() for _, line in read_lines(path)]
    while words and not words[-1]:
        words.pop()
    return words
