"""THE WEIGHTS A RUN STARTS WITH: random, from static vectors, or from another model."""

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords, Softmax
from elmokit.pretrain.config import Recipe, with_word_table
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.auxiliary_losses import ContextLoss, MeaningLoss
from elmokit.pretrain.training.vector_fit import (
    KnownWords,
    fit_to_goals,
    least_squares,
    teach_vectors,
)
from elmokit.pretrain.training.widening import (
    has_more_filters,
    widen_cells,
    widen_characters,
)
from elmokit.pretrain.training.windows import BEGIN, END, UNKNOWN
from elmokit.recipe import to_plain
from elmokit.text.static_vectors import StaticVectors, read_static_vectors
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.load import load_pretrained

_TOKEN_RMS = 0.3
"""Root mean square of the values that the token encoder is fitted to."""
_WORDS_TO_FIT = 5000
"""The most frequent words are enough to start the linear map of the meaning loss."""


def first_weights(recipe: Recipe, corpus: Corpus) -> tuple[BiLm, Softmax]:
    """The biLM and softmax that ``train.start_from`` and ``train.vectors`` of a recipe ask for."""
    train = recipe.train
    vectors = read_static_vectors(Path(train.vectors)) if train.vectors else None
    if train.start_from:
        return model_start(recipe, corpus, vectors)
    bilm, softmax = random_start(recipe, corpus)
    if vectors is not None:
        begin_with_vectors(bilm, softmax, corpus, vectors, train.vectors_steps)
    return bilm, softmax


def random_start(recipe: Recipe, corpus: Corpus) -> tuple[BiLm, Softmax]:
    """Random weights, from torch's generator; the softmax bias is each word's log frequency."""
    bilm = BiLm(with_word_table(recipe.model, corpus.num_words))
    softmax = Softmax(corpus.num_words, recipe.model.lstm.projection_dim)
    with torch.no_grad():
        softmax.bias.copy_(log_frequencies(corpus))
    return bilm, softmax


def log_frequencies(corpus: Corpus) -> Tensor:
    """(V,) log of each target's share of the predictions, times V: 0 if all are as frequent."""
    num_words = corpus.num_words
    counts = torch.tensor(corpus.lexicon.counts[:num_words], dtype=torch.float64)
    counts[[BEGIN, END]] = corpus.train.num_sentences / 2  # one closes each direction's sentence
    counts[UNKNOWN] += float(corpus.lexicon.counts[num_words:].sum())
    counts.clamp_(min=1.0)
    return (counts.log() - counts.sum().log() + math.log(num_words)).float()


def first_context_loss(recipe: Recipe, corpus: Corpus) -> ContextLoss | None:
    """What ``train.context`` asks for; its words are known by ``train.vectors``, if given."""
    train, width = recipe.train, recipe.model.lstm.projection_dim
    if not train.context:
        return None
    if not train.vectors:
        return ContextLoss(width, train.context)
    known, chosen = vectors_of_words(corpus, read_static_vectors(Path(train.vectors)))
    return ContextLoss(width, train.context, _in_vocabulary(corpus, known, chosen))


def first_meaning_loss(recipe: Recipe, corpus: Corpus, bilm: BiLm) -> MeaningLoss | None:
    """What ``train.meaning`` asks for; its linear map fits the token vectors of frequent words."""
    train = recipe.train
    if not train.meaning:
        return None
    known, chosen = vectors_of_words(corpus, read_static_vectors(Path(train.vectors)))
    vectors = _in_vocabulary(corpus, known, chosen)
    loss = MeaningLoss(recipe.model.lstm.projection_dim, train.meaning, vectors)
    words = KnownWords.of(bilm, corpus, known[:_WORDS_TO_FIT])
    shares = (words.often / words.often.sum())[:, None]
    loss.begin_with(
        least_squares(words.encode(bilm.encoder), vectors[known[:_WORDS_TO_FIT]], shares)
    )
    return loss


def begin_with_vectors(
    bilm: BiLm, softmax: Softmax, corpus: Corpus, vectors: StaticVectors, num_steps: int
) -> int:
    """Initialise softmax and token encoder from static vectors, such as GloVe.

    The softmax rows of words with a vector are initialised with it, and the token encoder is fitted
    to predict it from the word's characters. For both, the vectors are mapped to the biLM's width
    by the same random rotation, so that no coordinate is favoured.

    Returns how many words of the vocabulary have a vector.
    """
    known, chosen = vectors_of_words(corpus, vectors)
    turned = _standardised(chosen) @ _rotation(vectors.dim, softmax.weight.shape[1])  # (K, P)
    with torch.no_grad():
        softmax.weight[known] = turned / turned.norm(dim=1).mean()
    goals = turned * (_TOKEN_RMS / turned.pow(2).mean().sqrt())
    fit_to_goals(bilm.encoder, KnownWords.of(bilm, corpus, known), goals, num_steps)
    return len(known)


def vectors_of_words(corpus: Corpus, vectors: StaticVectors) -> tuple[Tensor, Tensor]:
    """The ids (K,) of the words that have a vector, and their vectors (K, E)."""
    rows = [vectors.row(word) for word in corpus.vocabulary.words]
    known = torch.tensor([number for number, row in enumerate(rows) if row is not None])
    if len(known) == 0:
        raise InputError(
            f"{vectors.source}: has no vector for any word of {corpus.path}; give other vectors"
        )
    return known, torch.from_numpy(vectors.vectors[[row for row in rows if row is not None]])


def _in_vocabulary(corpus: Corpus, known: Tensor, chosen: Tensor) -> Tensor:
    """(V, E): the standardised vectors of the words ``known``; zeros for all others."""
    vectors = torch.zeros(corpus.num_words, chosen.shape[1])
    vectors[known] = _standardised(chosen)
    return vectors


def _standardised(vectors: Tensor) -> Tensor:
    centred = vectors - vectors.mean(dim=0)
    return centred / centred.std()


def _rotation(width_from: int, width_to: int) -> Tensor:
    """(from, to): orthonormal rows, or columns if it narrows; random, from torch's generator."""
    tall = torch.randn(max(width_from, width_to), min(width_from, width_to))
    orthonormal: Tensor = torch.linalg.qr(tall).Q
    return orthonormal if width_from > width_to else orthonormal.t()


def model_start(
    recipe: Recipe, corpus: Corpus, vectors: StaticVectors | None = None
) -> tuple[BiLm, Softmax]:
    """The biLM and the softmax of the model ``train.start_from``, which has the recipe's sizes.

    A model with fewer cells or fewer character filters is widened. With ``vectors``, words that
    the model's softmax lacks get a row made from their vectors, and new filters learn them.
    """
    path = recipe.train.start_from
    model = load_pretrained(path)
    wanted = with_word_table(recipe.model, corpus.num_words)
    bilm = model.bilm
    if wanted.lstm.has_projection and wanted.lstm.dim % bilm.config.lstm.dim == 0:
        bilm = widen_cells(bilm, wanted.lstm.dim)
    cnn, has_new_filters = wanted.char_cnn, False
    if cnn is not None and has_more_filters(cnn, bilm.config.char_cnn):
        bilm, has_new_filters = widen_characters(bilm, cnn), True
    if bilm.config != wanted:
        differing = [
            name for name, value in to_plain(wanted).items() if to_plain(bilm.config)[name] != value
        ]
        raise InputError(
            f"{path}: differs from the recipe in {', '.join(differing)}; give the recipe its sizes"
        )
    softmax, num_new = carry_over(model.output_words, corpus.vocabulary, bilm)
    if num_new and (vectors is None or model.output_words is None):
        raise InputError(
            f"{path}: has no softmax row for {num_new:,} words of {corpus.path}; prepare the text "
            f"with its vocabulary (--vocabulary), or use  elmokit finetune, which fits new rows"
        )
    if num_new and vectors is not None and model.output_words is not None:
        is_new = [word not in model.output_words.vocabulary for word in corpus.vocabulary.words]
        rows_from_vectors(softmax, torch.tensor(is_new), corpus, vectors)
    if has_new_filters and vectors is not None:
        known, chosen = vectors_of_words(corpus, vectors)
        words = KnownWords.of(bilm, corpus, known)
        teach_vectors(bilm, words, _standardised(chosen), recipe.train.vectors_steps)
    return bilm, softmax


@torch.no_grad()
def rows_from_vectors(
    softmax: Softmax, is_new: Tensor, corpus: Corpus, vectors: StaticVectors
) -> None:
    """Fill the rows ``is_new`` by the linear map that fits the other rows to their vectors."""
    words = corpus.vocabulary.words
    rows = np.array([-1 if row is None else row for row in map(vectors.row, words)])
    has_vector = rows >= 0
    array = np.zeros((len(words), vectors.dim + 1), dtype=np.float32)  # no vector: all zeros
    array[has_vector, :-1] = vectors.vectors[rows[has_vector]]
    array[has_vector, -1] = 1.0
    features = torch.from_numpy(array)
    known = ~is_new & torch.from_numpy(has_vector)
    fitted = torch.linalg.lstsq(features[known], softmax.weight[known], driver="gelsd").solution
    softmax.weight[is_new] = features[is_new] @ fitted
    frequencies = log_frequencies(corpus)
    offset = (softmax.bias - frequencies)[~is_new].mean()
    softmax.bias[is_new] = frequencies[is_new] + offset


def carry_over(old: OutputWords | None, vocabulary: Vocabulary, bilm: BiLm) -> tuple[Softmax, int]:
    """A softmax over ``vocabulary`` with the rows of ``old``; and how many words ``old`` lacks."""
    softmax = Softmax(len(vocabulary), bilm.config.lstm.projection_dim)
    known = [
        number for number, word in enumerate(vocabulary.words) if old and word in old.vocabulary
    ]
    if old is not None and known:
        rows = torch.tensor([old.vocabulary.id_of(vocabulary.words[number]) for number in known])
        with torch.no_grad():
            softmax.weight[known] = old.softmax.weight[rows]
            softmax.bias[known] = old.softmax.bias[rows]
    return softmax, len(vocabulary) - len(known)
