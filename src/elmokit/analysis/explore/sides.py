"""Two explorations side by side: two models on one corpus, or one model on two corpora."""

from collections.abc import Sequence

import numpy as np

from elmokit.analysis.encoders.encoder import Floats, unit
from elmokit.analysis.explore.corpus import ExploredCorpus
from elmokit.analysis.explore.exploration import ExplorerData, Projection, WordComparison
from elmokit.analysis.explore.explorer import Explorer
from elmokit.analysis.explore.projection import align, best_rotation, plane, to_projection
from elmokit.analysis.words.occurrences import cosine
from elmokit.embed.sentences import Sentence
from elmokit.errors import InputError


def explore_sides(
    first: Explorer,
    second: Explorer,
    words: Sequence[str],
    sentences: Sequence[Sentence] = (),
    quiet: bool = True,
) -> ExplorerData:
    """Both explorations, in planes that can be compared where possible.

    The first holds everything that a page shows, the second only the words.

    One model on two corpora: the occurrences of a word in both are projected to one plane.
    Two models on one corpus: the second plane is aligned with the first, point by point. Otherwise
    the planes are unrelated.
    """
    is_one_model = first.encoder.fingerprint == second.encoder.fingerprint
    is_one_corpus = first.corpus is second.corpus
    planes: tuple[dict[str, list[Projection]], dict[str, list[Projection]]] = {}, {}
    comparisons = []
    for word in words:
        if not (first.corpus.find(word) and second.corpus.find(word)):
            continue
        one, other = first.occurrences(word).vectors, second.occurrences(word).vectors
        if is_one_model and not is_one_corpus:
            planes[0][word], planes[1][word] = _together(one, other)
            comparisons.append(WordComparison(word, "corpora", _mean_cosines(one, other)))
        elif is_one_corpus:
            planes[0][word], planes[1][word] = _towards(one, other)
            comparisons.append(WordComparison(word, "models", _agreement(one, other)))
    ours, theirs = _there(first.corpus, words), _there(second.corpus, words)
    return ExplorerData(
        (
            first.explore(ours, sentences, projections=planes[0], quiet=quiet),
            second.explore(
                theirs, projections=planes[1], occurrences_with_neighbours=0, quiet=quiet
            ),
        ),
        tuple(comparisons),
    )


def _there(corpus: ExploredCorpus, words: Sequence[str]) -> list[str]:
    found = [word for word in words if corpus.find(word)]
    if words and not found:
        raise InputError(
            f"none of {', '.join(words)} is a token of {corpus.name}; name words that occur in it"
        )
    return found


def _together(one: Floats, other: Floats) -> tuple[list[Projection], list[Projection]]:
    """Principal components of the occurrences in both corpora."""
    both = np.concatenate([one, other])
    planes = [plane(both[:, layer]) for layer in range(both.shape[1])]
    points = align([found for found, _ in planes])
    shares = [share for _, share in planes]
    return (
        [to_projection(p[: len(one)], s) for p, s in zip(points, shares, strict=True)],
        [to_projection(p[len(one) :], s) for p, s in zip(points, shares, strict=True)],
    )


def _towards(one: Floats, other: Floats) -> tuple[list[Projection], list[Projection]]:
    """Each model in its own plane; the second top layer is aligned with the first."""
    ours, theirs = (
        [plane(given[:, layer]) for layer in range(given.shape[1])] for given in (one, other)
    )
    placed = align([points for points, _ in ours])
    top = theirs[-1][0] @ best_rotation(theirs[-1][0], placed[-1])
    turned = align([*(points for points, _ in theirs[:-1]), top])
    return (
        [to_projection(p, share) for p, (_, share) in zip(placed, ours, strict=True)],
        [to_projection(p, share) for p, (_, share) in zip(turned, theirs, strict=True)],
    )


def _mean_cosines(one: Floats, other: Floats) -> tuple[float | None, ...]:
    """The cosine between the mean vectors, at each layer."""
    values = cosine(one.mean(axis=0), other.mean(axis=0))
    return tuple(round(float(value), 4) for value in values)


def _agreement(one: Floats, other: Floats) -> tuple[float | None, ...]:
    """Correlation of the cosines of all pairs of occurrences, at the layers that both models have.

    None if a layer gives all occurrences the same vector, or if there are fewer than three.
    """
    if one.shape[1] != other.shape[1]:
        return tuple([None] * one.shape[1])
    pairs = np.triu_indices(len(one), k=1)
    found: list[float | None] = []
    for layer in range(one.shape[1]):
        ours, theirs = (
            (rows @ rows.T)[pairs] for rows in (unit(one[:, layer]), unit(other[:, layer]))
        )
        is_flat = len(ours) < 3 or min(np.ptp(ours), np.ptp(theirs)) < 1e-5
        found.append(None if is_flat else round(float(np.corrcoef(ours, theirs)[0, 1]), 4))
    return tuple(found)
