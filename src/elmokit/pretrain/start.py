"""Where a run's weights begin: at random, with static vectors, or with those of a model."""

import math
from pathlib import Path

import torch

from elmokit.config import to_dict
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.softmax import OutputWords, Softmax
from elmokit.pretrain.corpus import Corpus
from elmokit.pretrain.recipe import Recipe, with_word_table
from elmokit.pretrain.static_start import begin_with_vectors
from elmokit.pretrain.windows import BEGIN, END, UNKNOWN
from elmokit.text.static_vectors import read_static_vectors
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.load import load_pretrained


def first_weights(recipe: Recipe, corpus: Corpus) -> tuple[BiLm, Softmax]:
    """As ``train.start_from`` and ``train.vectors`` say."""
    train = recipe.train
    if train.start_from:
        return model_start(recipe, corpus)
    bilm, softmax = random_start(recipe, corpus)
    if train.vectors:
        vectors = read_static_vectors(Path(train.vectors))
        begin_with_vectors(bilm, softmax, corpus, vectors, train.vectors_steps)
    return bilm, softmax


def random_start(recipe: Recipe, corpus: Corpus) -> tuple[BiLm, Softmax]:
    """Drawn from torch's generator; the softmax begins with how often each word occurs."""
    num_words = len(corpus.vocabulary)
    bilm = BiLm(with_word_table(recipe.model, num_words))
    softmax = Softmax(num_words, recipe.model.lstm.projection_dim)
    with torch.no_grad():
        softmax.bias.copy_(log_frequencies(corpus))
    return bilm, softmax


def log_frequencies(corpus: Corpus) -> torch.Tensor:
    """(V,) log of each target's share of the predictions, times V: 0 if all were alike."""
    num_words = len(corpus.vocabulary)
    counts = torch.tensor(corpus.lexicon.counts[:num_words], dtype=torch.float64)
    counts[[BEGIN, END]] = corpus.train.num_sentences / 2  # one closes each direction's sentence
    counts[UNKNOWN] += float(corpus.lexicon.counts[num_words:].sum())
    counts.clamp_(min=1.0)
    return (counts.log() - counts.sum().log() + math.log(num_words)).float()


def model_start(recipe: Recipe, corpus: Corpus) -> tuple[BiLm, Softmax]:
    """The biLM and the softmax of a model of the recipe's sizes, a row for every target."""
    path = recipe.train.start_from
    model = load_pretrained(path)
    wanted = with_word_table(recipe.model, len(corpus.vocabulary))
    if model.config != wanted:
        differing = [
            name for name, value in to_dict(wanted).items() if to_dict(model.config)[name] != value
        ]
        raise InputError(
            f"{path}: differs from the recipe in {', '.join(differing)}; give the recipe its sizes"
        )
    softmax, num_new = carry_over(model.output_words, corpus.vocabulary, model.bilm)
    if num_new:
        raise InputError(
            f"{path}: has no softmax row for {num_new:,} words of {corpus.path}; prepare the text "
            f"with its vocabulary (--vocabulary), or use  elmokit finetune, which fits new rows"
        )
    return model.bilm, softmax


def carry_over(old: OutputWords | None, vocabulary: Vocabulary, bilm: BiLm) -> tuple[Softmax, int]:
    """A softmax over ``vocabulary`` with the rows there are; and how many are lacking."""
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
