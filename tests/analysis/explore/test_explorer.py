"""The document that the page reads: whole, plain, and true."""

import json

import numpy as np
import pytest
from tiny_explorer import HOSTILE, SENTENCES, tiny_corpus_of_banks, tiny_data, tiny_explorer
from tiny_lm import tiny_lm
from toy_encoder import ToyEncoder

from elmokit.analysis.explore.corpus import CorpusSentence, ExploredCorpus
from elmokit.analysis.explore.explorer import Explorer
from elmokit.analysis.explore.sides import explore_sides
from elmokit.analysis.words.occurrences import Occurrence, cosine
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.pretrain.predict import predict
from elmokit.pretrain.surprisal.measure import surprisal


def test_the_document_is_plain_json() -> None:
    value = tiny_data().to_json_value()
    again = json.loads(json.dumps(value, allow_nan=False))
    assert again == value
    assert again["format"] == "elmokit-exploration" and again["version"] == 1
    assert len(again["explorations"]) == 2


def test_every_use_is_the_word_in_its_sentence() -> None:
    found = tiny_explorer().explore(["bank"])
    (uses,) = found.words
    assert len(uses.uses) == uses.num_found == 23
    for use in uses.uses:
        assert found.sentences[use.sentence].tokens[use.place].casefold() == "bank"
    assert [len(layer.points) for layer in uses.layers] == [23, 23, 23]
    kinds = [labels.kind for labels in uses.labels]
    assert kinds == ["sense", "cluster", "document", "date"]
    assert all(len(labels.of_use) == 23 for labels in uses.labels)


def test_expectations_are_those_of_predict_and_surprisal() -> None:
    found = tiny_explorer().explore([], [SENTENCES[0]])
    tokens = SENTENCES[0].split()
    (sentence,) = found.expectations
    (bits,) = surprisal(tiny_lm(), [tokens])
    for place, here in enumerate(sentence.tokens):
        blank = [*tokens[:place], "___", *tokens[place + 1 :]]
        guesses = predict(tiny_lm(), blank, top=8)
        for ours, theirs in (
            (here.forward, guesses.forward),
            (here.backward, guesses.backward),
            (here.both, guesses.combined),
        ):
            assert [one.word for one in ours] == [one.word for one in theirs]
            np.testing.assert_allclose(
                [one.probability for one in ours],
                np.exp([one.log_probability for one in theirs]),
                atol=2e-5,
            )
        ways = (bits.forward, bits.backward, bits.combined)
        np.testing.assert_allclose(
            np.array(here.bits, dtype=float), [way.bits[place] for way in ways], atol=0.01
        )


def test_a_word_outside_the_vocabulary_has_no_surprisal() -> None:
    found = tiny_explorer().explore([], ["the zebra sat ."])
    assert found.expectations[0].tokens[1].bits == (None, None, None)


def test_similarities_are_cosines_of_all_pairs() -> None:
    found = tiny_explorer().explore([], SENTENCES)
    assert [(s.first, s.second) for s in found.similarities] == [(0, 0), (0, 1), (1, 1)]
    one, other = Embedder(tiny_lm()).layers([text.split() for text in SENTENCES])
    for layer, rows in enumerate(found.similarities[1].layers):
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                expected = float(cosine(one[layer, i], other[layer, j]))
                assert value == pytest.approx(expected, abs=1e-3)


def test_neighbours_are_the_nearest_of_all_other_sentences() -> None:
    tokens = ["a", "b"]
    corpus = ExploredCorpus("t", [CorpusSentence(list(pair)) for pair in ("ab", "ac", "db", "ab")])
    angle = {"a": 0.0, "b": 1.0, "c": 1.2, "d": 0.1}
    encoder = ToyEncoder(
        lambda layer, sentence, place: [
            np.cos(angle[sentence[place]] + layer * place),
            np.sin(angle[sentence[place]] + layer * place),
        ],
        num_layers=2,
    )
    found = Explorer(encoder, corpus).explore(near=[Occurrence(tokens, 1)])  # type: ignore[arg-type]
    (near,) = found.neighbours
    assert near.layers[0] is None  # the token layer sees the word alone
    assert near.layers[1] is not None
    words = [found.sentences[one.sentence].tokens[one.place] for one in near.layers[1]]
    assert words == ["b", "c", "d", "a"]  # and not the sentence itself
    assert near.static is not None
    assert [one.word for one in near.static] == ["c", "d", "a"]


def test_at_most_so_many_uses_are_shown_and_the_document_says_so() -> None:
    found = tiny_explorer(max_occurrences=6, seed=0).explore(["bank"])
    assert len(found.words[0].uses) == 6 and found.words[0].num_found == 23
    assert found.corpus.most_uses == 6


def test_two_models_see_the_same_uses_and_their_planes_are_turned_together() -> None:
    data = tiny_data()
    ours, theirs = (exploration.words[0] for exploration in data.explorations)
    assert len(ours.uses) == len(theirs.uses)
    assert {one.kind for one in data.comparisons} == {"models"}
    one, other = (np.array(words.layers[-1].points) for words in (ours, theirs))
    cross = one.T @ other  # symmetric and positive: no turn brings them closer
    np.testing.assert_allclose(cross, cross.T, atol=0.01)
    assert np.linalg.eigvalsh(cross).min() > -0.01


def test_a_model_agrees_with_itself() -> None:
    corpus = tiny_corpus_of_banks()
    data = explore_sides(tiny_explorer(corpus), tiny_explorer(corpus), ["bank"])
    assert data.comparisons[0].layers[1:] == (1.0, 1.0)


def test_two_corpora_share_one_plane() -> None:
    whole = tiny_corpus_of_banks()
    parts = [ExploredCorpus("a", whole.sentences[:12]), ExploredCorpus("b", whole.sentences[12:22])]
    data = explore_sides(tiny_explorer(parts[0]), tiny_explorer(parts[1]), ["bank", "dog"])
    ours, theirs = (exploration.words[0] for exploration in data.explorations)
    assert ours.layers[2].variance == theirs.layers[2].variance
    points = np.array([*ours.layers[2].points, *theirs.layers[2].points])
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=1e-3)  # the centre of both together
    assert [(one.word, one.kind) for one in data.comparisons] == [("bank", "corpora")]
    assert [words.word for words in data.explorations[0].words] == ["bank"]  # no dog there


def test_what_cannot_be_shown_is_refused() -> None:
    explorer = tiny_explorer()
    with pytest.raises(InputError, match="'zebra' is not a token of a small text"):
        explorer.explore(["zebra"])
    with pytest.raises(InputError, match="101 tokens is too long"):
        explorer.explore([], ["a " * 101])
    with pytest.raises(InputError, match="has no tokens"):
        explorer.explore([], [" "])
    with pytest.raises(InputError, match="max_occurrences must be at least 2"):
        tiny_explorer(max_occurrences=1)
    assert HOSTILE in explorer.explore(["bank"]).sentences[-1].tokens
