"""What could stand in the place of a word, by its context and with the word as evidence."""

import math
from pathlib import Path

import pytest
import torch
from tiny_lm import tiny_lm

from elmokit.errors import InputError
from elmokit.pretrain import substitutes as module
from elmokit.pretrain.predict import predict
from elmokit.pretrain.substitutes import SubstituteReader, substitutes
from elmokit.weights.native import write_native

SENTENCE = ["the", "cat", "sat", "on", "a", "mat"]


def test_the_context_alone_gives_the_order_of_predict() -> None:
    model = tiny_lm()
    found = substitutes(model, SENTENCE, 1, top=100)
    guesses = predict(model, ["the", "___", "sat", "on", "a", "mat"], top=100).combined
    assert [g.word for g in found.by_context] == [g.word for g in guesses if g.word != "cat"]
    own = next(g.log_probability for g in guesses if g.word == "cat")
    assert found.own_log_probability == pytest.approx(own, abs=1e-4)


def test_probabilities_of_all_substitutes_add_up_to_one() -> None:
    found = substitutes(tiny_lm(), SENTENCE, 1, top=100)
    for guesses in (found.by_context, found.with_word):
        assert sum(math.exp(g.log_probability) for g in guesses) == pytest.approx(1, rel=1e-4)


def test_evidence_lifts_the_words_that_resemble_the_word() -> None:
    model = tiny_lm()
    softmax, vocabulary = model.output_words
    with torch.no_grad():
        softmax.weight[vocabulary.id_of("river")] = softmax.weight[vocabulary.id_of("cat")]
    found = substitutes(model, SENTENCE, 1, top=100)
    context, both = (dict(guesses) for guesses in (found.by_context, found.with_word))
    gains = {word: both[word] - context[word] for word in context}
    assert max(gains, key=gains.get) == "river"
    rows = softmax.weight.detach() - softmax.weight.detach().mean(dim=0)
    cosine = torch.nn.functional.cosine_similarity
    cat = rows[vocabulary.id_of("cat")]
    for word in ("dog", "mat"):
        expected = module.EVIDENCE * float(cosine(rows[vocabulary.id_of(word)], cat, dim=0) - 1)
        assert gains[word] - gains["river"] == pytest.approx(expected, abs=1e-2)


def test_a_word_outside_the_vocabulary_is_no_evidence() -> None:
    found = substitutes(tiny_lm(), ["the", "zebra", "sat"], 1)
    assert found.with_word is None and found.own_log_probability is None
    assert found.by_context


def test_a_place_outside_the_sentence_is_refused() -> None:
    with pytest.raises(InputError, match="place must be in 0 to 5, got 6"):
        substitutes(tiny_lm(), SENTENCE, 6)


def test_typical_substitutes_tell_groups_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PLACES_AT_ONCE", 2)
    reader = SubstituteReader(tiny_lm())
    groups = [[(SENTENCE, 1), (["a", "dog"], 1), (["the", "cat"], 1)], [(["do", "n't", "sat"], 2)]]
    found = reader.typical(groups, top=3)
    means = [torch.from_numpy(reader._mean_probabilities(places)) for places in groups]
    overall = (means[0] + means[1]) / 2
    for words, mean in zip(found, means, strict=True):
        scores = torch.nan_to_num(mean * (mean / overall).log())
        best = [reader.words[number] for number in scores.topk(3).indices.tolist()]
        assert words == best
    assert reader.typical([groups[0], groups[0]]) == [[], []]  # nothing distinguishes them
    (alone,) = reader.typical(groups[:1], top=3)
    assert alone == [reader.words[number] for number in means[0].topk(3).indices.tolist()]


def test_a_string_is_tokenised_and_a_model_may_be_named_by_its_path(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "model")
    found = substitutes(tmp_path / "model", "the cat sat on a mat", 1)
    wanted = substitutes(tiny_lm(), SENTENCE, 1)
    assert found.tokens == SENTENCE
    assert [guess.word for guess in found.by_context] == [g.word for g in wanted.by_context]
    with pytest.raises(InputError, match="a string or a list of strings, got 3"):
        substitutes(tiny_lm(), ["the", 3], 1)
