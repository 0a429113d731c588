"""SQuAD 1.1's own measures: exact match and token F1 after its normalisation."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class AnswerScore(NamedTuple):
    """Between 0 and 1."""

    exact_match: float
    f1: float


def normalise_answer(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles, single spaces.

    >>> normalise_answer("The  U.S. Army!")
    'us army'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def score_answer(prediction: str, answers: Sequence[str]) -> AnswerScore:
    """The best match with any of the reference answers; 0 or 1, and between 0 and 1."""
    if not answers:
        raise ValueError("a question needs at least one reference answer to be scored")
    scores = [_score_pair(prediction, answer) for answer in answers]
    return AnswerScore(
        max(score.exact_match for score in scores), max(score.f1 for score in scores)
    )


def score_answers(predictions: Iterable[str], answers: Iterable[Sequence[str]]) -> AnswerScore:
    """Means over questions, between 0 and 1."""
    scores = [score_answer(*pair) for pair in zip(predictions, answers, strict=True)]
    if not scores:
        return AnswerScore(0.0, 0.0)
    exact = sum(score.exact_match for score in scores) / len(scores)
    return AnswerScore(exact, sum(score.f1 for score in scores) / len(scores))


def _score_pair(prediction: str, answer: str) -> AnswerScore:
    found, wanted = normalise_answer(prediction), normalise_answer(answer)
    exact_match = float(found == wanted)
    found_tokens, wanted_tokens = found.split(), wanted.split()
    num_common = sum((Counter(found_tokens) & Counter(wanted_tokens)).values())
    if num_common == 0:  # the official script gives 0 even to two empty strings
        return AnswerScore(exact_match, 0.0)
    return AnswerScore(exact_match, 2 * num_common / (len(found_tokens) + len(wanted_tokens)))
