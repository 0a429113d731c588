"""Occurrences of a word: which are shown, and how they are labelled."""

import numpy as np
import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.explore.corpus import CorpusSentence, ExploredCorpus
from elmokit.analysis.explore.exploration import Labels
from elmokit.analysis.explore.occurrences import mean_similarity, sample_occurrences
from elmokit.errors import InputError

ENCODER = ToyEncoder(lambda layer, sentence, place: [layer + 1.0, len(sentence), place], 2)


def corpus_of(
    number: int, sensed: tuple[int, ...] = (), years: tuple[int, ...] = ()
) -> ExploredCorpus:
    sentences = [
        CorpusSentence(
            ["x"] * (n % 5) + ["bank"],
            f"{years[n]}.txt" if years else "",
            {n % 5: "money"} if n in sensed else {},
        )
        for n in range(number)
    ]
    return ExploredCorpus("a text", sentences)


def test_the_sample_depends_on_the_seed_alone() -> None:
    corpus = corpus_of(50)
    one, again, other = (
        sample_occurrences(ENCODER, corpus, "bank", 10, seed) for seed in (1, 1, 2)
    )
    assert one.places == again.places != other.places
    assert one.num_found == 50 and len(one.places) == 10
    assert one.places == sorted(one.places)
    assert one.vectors.shape == (10, 2, 3)


def test_uses_with_a_known_sense_are_kept_first() -> None:
    found = sample_occurrences(ENCODER, corpus_of(50, sensed=(7, 31)), "bank", 5, 1)
    assert {(7, 2), (31, 1)} <= set(found.places)
    (labels,) = found.labels
    assert labels.kind == "sense" and sorted(labels.of_use) == [-1, -1, -1, 0, 0]


def test_vectors_belong_to_their_uses() -> None:
    found = sample_occurrences(ENCODER, corpus_of(8), "bank", 100, 1)
    assert [int(v[1]) for v in found.vectors[:, 0]] == [n % 5 + 1 for n in range(8)]


def test_many_years_become_periods_of_equal_length_in_order() -> None:
    years = tuple(range(1900, 2000, 5))
    labels = sample_occurrences(ENCODER, corpus_of(20, years=years), "bank", 100, 1).labels
    dates = next(one for one in labels if one.kind == "date")
    assert dates.names == ("1900-1919", "1920-1939", "1940-1959", "1960-1979", "1980-1999")
    assert dates.of_use == tuple(n // 4 for n in range(20))


def test_a_word_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="'river' is not a token of a text"):
        sample_occurrences(ENCODER, corpus_of(3), "river", 10, 1)


def test_mean_similarity_equals_a_slow_twin() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(6, 2, 4)).astype(np.float32)
    labels = Labels("sense", ("a", "b"), (0, 0, 1, 1, 1, -1))
    found = mean_similarity(vectors, labels)
    for layer in range(2):
        cosines: dict[str, list[float]] = {"all": [], "same": [], "apart": []}
        for i in range(6):
            for j in range(i):
                one, other = vectors[i, layer], vectors[j, layer]
                value = float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
                cosines["all"].append(value)
                if labels.of_use[i] >= 0 and labels.of_use[j] >= 0:
                    is_same = labels.of_use[i] == labels.of_use[j]
                    cosines["same" if is_same else "apart"].append(value)
        np.testing.assert_allclose(found[layer], [np.mean(v) for v in cosines.values()], atol=1e-3)
