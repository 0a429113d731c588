"""Precision, recall and F1 of whole entities: right only if start, end and label all are."""

from collections import Counter
from collections.abc import Sequence

from elmokit.tasks.data.entities import Entity
from elmokit.tasks.task import Scores


def entity_f1(gold: Sequence[Sequence[Entity]], predicted: Sequence[Sequence[Entity]]) -> Scores:
    """Over all sentences, as conlleval: one F1 for everything, and one per label."""
    right: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for in_gold, in_predicted in zip(gold, predicted, strict=True):
        wanted.update(entity.label for entity in set(in_gold))
        given.update(entity.label for entity in set(in_predicted))
        right.update(entity.label for entity in set(in_gold) & set(in_predicted))
    precision, recall, f1 = _scores(right.total(), given.total(), wanted.total())
    every = {"F1": f1, "precision": precision, "recall": recall}
    for label in sorted(wanted | given):
        every[f"F1 {label}"] = _scores(right[label], given[label], wanted[label])[2]
    return Scores(f1, every)


def _scores(right: int, given: int, wanted: int) -> tuple[float, float, float]:
    """Percent; a file without entities, rightly left empty, scores 0 as in conlleval."""
    precision = 100.0 * right / given if given else 0.0
    recall = 100.0 * right / wanted if wanted else 0.0
    f1 = 200.0 * right / (given + wanted) if given + wanted else 0.0
    return precision, recall, f1
