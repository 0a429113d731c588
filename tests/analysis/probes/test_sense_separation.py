"""Sense separation on sentences whose answer is known."""

from itertools import product

import numpy as np
import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.probes.sense_data import Document, SemCor, SenseInstance, SenseSentence
from elmokit.analysis.probes.sense_separation import (
    SeparationResult,
    bootstrap_interval,
    draw_sample,
    sense_separation,
    separation_picture,
    separation_table,
)
from elmokit.errors import InputError
from elmokit.recipe import from_plain, to_plain

SPORT, THEATRE = "play%1:04:00::", "play%1:10:01::"


def sentence(before: str, key: str, after: str, tag: str) -> SenseSentence:
    """``before play after``; the tag is that of the word after it."""
    instance = SenseInstance("play", "NOUN", (key,), 1, 2)
    return SenseSentence([before, "play", after], [instance], ["NN", "NN", tag])


def plays() -> list[Document]:
    """Four documents, each with both senses followed by a verb and by a preposition."""
    return [
        [
            sentence(before, key, after, tag)
            for (before, key), (after, tag) in product(
                (("ball", SPORT), ("broadway", THEATRE)), (("ends", "VB"), ("of", "IN"))
            )
        ]
        for _ in range(4)
    ]


def vector(layer: int, tokens: list[str], place: int) -> list[float]:
    """Layer 0 knows the word alone, layer 1 the sense (the word before), layer 2 what follows."""
    if layer == 0 or tokens[place] != "play":
        return [1.0, 0.0, 0.0]
    if layer == 1:
        return [0.0, float(tokens[0] == "ball"), float(tokens[0] == "broadway")]
    return [0.0, float(tokens[2] == "ends"), float(tokens[2] == "of")]


ENCODER = ToyEncoder(vector, 3)


def separation(**options: int) -> SeparationResult:
    return sense_separation([ENCODER], SemCor(plays(), 0, 0), quiet=True, **options)


def test_layers_are_scored_by_what_they_know() -> None:
    word, sense, following = separation(per_sense=8).rows[:3]
    assert word.score == 50  # all equal: half right
    assert sense.score == 100
    assert (sense.tags_help, sense.tags_mislead) == (100, 100)
    assert following.score == 50  # what follows is independent of the sense here
    assert (following.tags_help, following.tags_mislead) == (100, 0)
    assert sense.interval == (100, 100)


def test_comparisons_are_counted_and_none_is_within_a_document() -> None:
    result = separation(per_sense=8)
    # 16 occurrences, each with 6 of its sense and 6 of the other sense in other documents.
    assert result.num_triples == 16 * 6 * 6
    # b shares the tag that c lacks for half of the b and half of the c, and the reverse.
    assert result.num_tags_help == result.num_tags_mislead == 16 * 3 * 3
    assert (result.num_nouns, result.num_verbs, result.num_distant) == (1, 0, 1)
    assert result.num_occurrences == 16


def test_sentence_mean_is_a_way_of_its_own() -> None:
    result = separation(per_sense=8)
    assert [row.encoder for row in result.rows[::3]] == [
        "toy", "toy, plus sentence mean", "toy, sentence mean",
    ]  # fmt: skip
    # The means of layer 1 still hold the sense, as one of three vectors does.
    assert result.rows[7].score == 100
    assert result.rows[4].score == 100
    assert result.rows[6].score == 50


def test_sample_is_fixed_by_the_seed_and_by_the_lemma_alone() -> None:
    documents = plays()
    first = draw_sample(documents, 4)
    assert draw_sample(documents, 4) == first
    assert draw_sample(documents, 4, seed=1) != first
    others = [
        SenseSentence(
            ["zebras", "run"], [SenseInstance("run", "VERB", (f"run%2:38:0{n}::",), 1, 2)]
        )
        for n in (0, 1)
    ]
    both = draw_sample([*documents, others * 4], 4)
    assert both["play (noun)"] == first["play (noun)"]
    assert list(both) == ["play (noun)", "run (verb)"]
    assert not both["run (verb)"].is_noun
    assert not both["run (verb)"].is_distant  # both in file 38


def test_only_single_tokens_of_one_sense_are_drawn() -> None:
    several = SenseInstance("play", "NOUN", (SPORT, THEATRE), 0, 1)
    long = SenseInstance("play", "NOUN", (SPORT,), 0, 2)
    adjective = SenseInstance("play", "ADJ", (SPORT,), 0, 1)
    documents = [[SenseSentence(["play", "it"], [several, long, adjective])] * 9]
    assert draw_sample(documents, 2) == {}


def test_too_few_occurrences_are_refused_with_the_cure() -> None:
    with pytest.raises(InputError, match="no noun or verb with two senses of 9 occurrences"):
        separation(per_sense=9)
    with pytest.raises(InputError, match="at least 2, got 1"):
        separation(per_sense=1)
    within = SemCor([[each for document in plays() for each in document]], 0, 0)
    with pytest.raises(InputError, match="in several documents"):
        sense_separation([ENCODER], within, quiet=True)


def test_result_is_stored_shown_and_drawn() -> None:
    result = separation(per_sense=8)
    assert from_plain(SeparationResult, to_plain(result), "stored") == result
    table = separation_table(result)
    assert table.rows[1][:3] == ("toy, layer 1", "100.0", "100.0 to 100.0")
    assert "576 comparisons, none within a document" in table.note
    assert "chance 50" in separation_picture(result).alt


def test_bootstrap_interval_is_that_of_the_normal_distribution_for_many_values() -> None:
    values = np.random.default_rng(1).normal(60, 10, size=400)
    low, high = bootstrap_interval(values)
    error = values.std() / 20
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15)
