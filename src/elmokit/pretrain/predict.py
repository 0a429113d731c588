"""The biLM as a language model: predicts the word in a blank from the words around it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.embed.load import AnyModel
from elmokit.errors import InputError
from elmokit.pretrain.surprisal.contexts import ContextReader
from elmokit.text.tokenize import tokenize
from elmokit.text.vocabulary import MARKERS

BLANK = "___"


class Guess(NamedTuple):
    """A word, and the natural logarithm of its probability."""

    word: str
    log_probability: float


class Predictions(NamedTuple):
    """The best words for a blank, from the words before it, after it, and both."""

    left: list[str]
    right: list[str]
    forward: list[Guess]
    backward: list[Guess]
    combined: list[Guess]


def predict(model: AnyModel, text: str | Sequence[str], top: int = 10) -> Predictions:
    """Return the most likely words for the blank ``___`` in ``text``.

    Args:
        model: A loaded model, or its name or path; it needs a softmax.
        text: A sentence, or its tokens; ``___`` marks the missing word.
        top: How many words to return.

    ``combined`` is the renormalised geometric mean of the two directions' probabilities, so that a
    word's own frequency counts once. (Dividing their product by a Zipf prior, according to Bayes'
    rule, ranked rare words too high.) The markers and ``<UNK>`` are left out of the lists.
    """
    reader = ContextReader(model, "predict words")
    left, right = _around_blank(text)
    contexts = reader.read([[*left, BLANK, *right]])  # neither direction reads the blank itself
    states = torch.stack([contexts.forward[0, len(left)], contexts.backward[0, len(left)]])
    softmax, vocabulary = reader.output_words
    with torch.no_grad():
        scores = softmax(states).log_softmax(dim=1).cpu()  # (2, V)
    both = scores.mean(dim=0).log_softmax(dim=0)
    words = vocabulary.words
    is_answer = torch.tensor([word not in MARKERS for word in words])

    def best(values: Tensor) -> list[Guess]:
        found = values.masked_fill(~is_answer, -torch.inf).topk(min(top, int(is_answer.sum())))
        return [
            Guess(words[number], value)
            for value, number in zip(found.values.tolist(), found.indices.tolist(), strict=True)
        ]

    return Predictions(left, right, best(scores[0]), best(scores[1]), best(both))


def _around_blank(text: str | Sequence[str]) -> tuple[list[str], list[str]]:
    if not isinstance(text, str):
        tokens = list(text)
        _require_one_blank(tokens.count(BLANK), " ".join(tokens))
        place = tokens.index(BLANK)
        return tokens[:place], tokens[place + 1 :]
    _require_one_blank(text.count(BLANK), text)
    left, right = ([token.text for token in tokenize(side)] for side in text.split(BLANK))
    return left, right


def _require_one_blank(found: int, text: str) -> None:
    if found == 0:
        raise InputError(f"there is no blank in {text!r}; write {BLANK} in place of the word")
    if found > 1:
        raise InputError(f"there are {found} blanks {BLANK} in {text!r}; write only one")
