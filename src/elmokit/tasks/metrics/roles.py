"""Role F1 as the shared tasks' srl-eval counts it.

An argument is a label and its pieces: ``C-X`` continues the latest argument labelled X (without
one it stands for an X of its own), ``R-X`` is a label like any other. An argument is right when
its label and all its pieces are. The predicate's own span (V, with its continuations) is left out.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

PREDICATE = "V"
CONTINUATION = "C-"


class Span(NamedTuple):
    """Tokens ``first`` to ``last``, both included."""

    label: str
    first: int
    last: int


class Argument(NamedTuple):
    """A labelled argument of a predicate."""

    label: str
    pieces: tuple[tuple[int, int], ...]
    """(first, last) token of each piece; more than one where the argument is discontinuous."""


class RoleScore(NamedTuple):
    """Between 0 and 1."""

    precision: float
    recall: float
    f1: float


def spans_of(tags: Sequence[str]) -> list[Span]:
    """BIO tags -> labelled spans.

    >>> spans_of(["B-A0", "I-A0", "O", "B-V"])
    [Span(label='A0', first=0, last=1), Span(label='V', first=3, last=3)]
    """
    spans: list[Span] = []
    for place, tag in enumerate(tags):
        if tag == "O":
            continue
        kind, label = tag.split("-", 1)
        follows = spans and spans[-1].last == place - 1 and spans[-1].label == label
        if kind == "I" and follows:
            spans[-1] = spans[-1]._replace(last=place)
        else:  # a span that starts with I cannot come out of the constrained Viterbi
            spans.append(Span(label, place, place))
    return spans


def arguments_of(tags: Sequence[str]) -> list[Argument]:
    """BIO tags -> the arguments that are scored: continuations joined, the predicate left out."""
    found: list[tuple[str, list[tuple[int, int]]]] = []
    for span in spans_of(tags):
        piece = (span.first, span.last)
        label = span.label.removeprefix(CONTINUATION)
        earlier = [pieces for other, pieces in found if other == label]
        if span.label.startswith(CONTINUATION) and earlier:
            earlier[-1].append(piece)
        else:
            found.append((label, [piece]))
    return [Argument(label, tuple(pieces)) for label, pieces in found if label != PREDICATE]


def score_roles(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]]) -> RoleScore:
    """Micro-averaged over all predicates; both give BIO tags, one sequence per predicate."""
    num_right = num_gold = num_predicted = 0
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        wanted, found = set(arguments_of(gold_tags)), set(arguments_of(predicted_tags))
        num_right += len(wanted & found)
        num_gold += len(wanted)
        num_predicted += len(found)
    precision = num_right / num_predicted if num_predicted else 0.0
    recall = num_right / num_gold if num_gold else 0.0
    total = num_gold + num_predicted
    return RoleScore(precision, recall, 2 * num_right / total if total else 0.0)
