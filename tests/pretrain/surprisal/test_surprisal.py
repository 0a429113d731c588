"""Surprisal, held to a reader that predicts one token at a time and to the perplexity command."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_lm import WORDS, tiny_lm

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.pretrain import perplexity
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.predict import predict
from elmokit.pretrain.surprisal import statistics
from elmokit.pretrain.surprisal.measure import SurprisalReader, surprisal
from elmokit.pretrain.surprisal.statistics import prediction_statistics
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SENTENCES = [
    ["the", "cat", "sat", "on", "a", "mat", "."],
    ["a", "dog"],
    [],
    ["the", "zebra", "sat"],
]


def lm_of(corpus: Corpus) -> PretrainedModel:
    return tiny_lm(tuple(corpus.vocabulary.words[3:]))


def corpus_sentences(corpus: Corpus) -> list[list[str]]:
    parts = np.split(np.asarray(corpus.heldout.tokens), corpus.heldout.starts[1:])
    return [corpus.lexicon.words(part[1:].astype(np.int64)) for part in parts]


def test_every_number_is_that_of_the_word_predicted_in_its_place() -> None:
    model = tiny_lm()
    vocabulary = model.output_words.vocabulary
    everything = len(vocabulary)
    for sentence, found in zip(SENTENCES, surprisal(model, SENTENCES), strict=True):
        assert found.tokens == sentence
        for place, token in enumerate(sentence):
            if token not in vocabulary:
                continue
            blank = [*sentence[:place], "___", *sentence[place + 1 :]]
            guesses = predict(model, blank, top=everything)
            for way in ("forward", "backward", "combined"):
                nats = {g.word: g.log_probability for g in getattr(guesses, way)}
                ours = getattr(found, way)
                assert ours.bits[place] == pytest.approx(-nats[token] / math.log(2), abs=1e-4)


def test_statistics_equal_a_plain_softmax_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "WORDS_AT_ONCE", 4)  # several blocks, the last one short
    monkeypatch.setattr(statistics, "ROWS_AT_ONCE", 3)
    softmax = tiny_lm().output_words.softmax
    forward, backward = torch.randn(8, 5), 3 * torch.randn(8, 5)
    targets = torch.stack([torch.arange(8), torch.arange(8).flip(0)])  # each direction's own
    found = prediction_statistics(softmax, forward, backward, targets)
    weight, bias = softmax.weight.double(), softmax.bias.double()
    logits = torch.stack([states.double() @ weight.t() + bias for states in (forward, backward)])
    logits = torch.cat([logits, logits.mean(dim=0, keepdim=True)])
    log2 = logits.log_softmax(dim=2) / math.log(2)  # (3, N, V)
    wanted = log2[:2].gather(2, targets[:, :, None])
    torch.testing.assert_close(found.bits[:2], -wanted[:, :, 0].detach(), rtol=1e-5, atol=1e-5)
    entropy = -(log2.exp2() * log2).sum(dim=2)
    torch.testing.assert_close(found.entropy, entropy.detach(), rtol=1e-5, atol=1e-5)
    assert torch.equal(found.rank[:2], 1 + (log2[:2] > wanted).sum(dim=2))
    same = prediction_statistics(softmax, forward, backward, targets[:1].expand(2, -1))
    combined = log2[2].gather(1, targets[0, :, None])
    torch.testing.assert_close(same.bits[2], -combined[:, 0].detach(), rtol=1e-5, atol=1e-5)
    assert torch.equal(same.rank[2], 1 + (log2[2] > combined).sum(dim=1))


def test_the_highest_logit_may_come_last() -> None:
    """Sums are moved whenever a higher logit is met, also by far more than float32 can hold."""
    softmax = tiny_lm().output_words.softmax
    with torch.no_grad():
        softmax.weight.zero_()
        softmax.bias.copy_(torch.linspace(-300, 300, len(softmax.bias)))
    states = torch.zeros(1, 5)
    found = prediction_statistics(softmax, states, states, torch.zeros(2, 1, dtype=torch.long))
    assert found.bits[:, 0].tolist() == pytest.approx([600 / math.log(2)] * 3, rel=1e-6)
    assert found.entropy[:, 0].abs().max() < 1e-9
    assert found.rank[:, 0].tolist() == [len(softmax.bias)] * 3


def test_the_sum_over_a_text_is_what_perplexity_counts(tiny: Corpus) -> None:
    model = lm_of(tiny)
    softmax = model.output_words.softmax
    expected = perplexity.measure_perplexity(
        model.bilm, softmax, tiny, tiny.heldout, "fresh", quiet=True
    )
    found = surprisal(model, corpus_sentences(tiny), batch_tokens=50)
    for side, value in enumerate((expected.forward, expected.backward)):
        bits = sum(sentence.total_bits[side] for sentence in found)
        assert bits / expected.num_predictions == pytest.approx(math.log2(value), rel=1e-6)


def test_a_document_is_read_as_perplexity_reads_it_with_carried_state(
    tiny: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perplexity, "MAX_LANES", 1)  # one stream: the whole text is one document
    model = lm_of(tiny)
    expected = perplexity.measure_perplexity(
        model.bilm, model.output_words.softmax, tiny, tiny.heldout, "carried", quiet=True
    )
    found = surprisal(model, corpus_sentences(tiny), start="carried", batch_tokens=50)
    bits = sum(sentence.total_bits[0] for sentence in found)
    assert bits / expected.num_predictions == pytest.approx(math.log2(expected.forward), rel=1e-6)


def test_documents_side_by_side_are_read_as_if_alone(tiny: Corpus) -> None:
    sentences = corpus_sentences(tiny)
    documents = [sentences[:2], sentences[2:7], sentences[7:10]]
    reader = SurprisalReader(lm_of(tiny), batch_tokens=20)
    together, state = reader.carried(documents)
    for document, found in zip(documents, together, strict=True):
        alone, _ = reader.carried([document])
        for one, other in zip(alone[0], found, strict=True):
            np.testing.assert_allclose(one.forward.bits, other.forward.bits, rtol=1e-4)
    whole, _ = reader.carried([[*documents[2], *sentences[10:12]]])
    rest, _ = reader.carried([sentences[10:12]], state)  # the last document goes on
    np.testing.assert_allclose(rest[0][1].backward.bits, whole[0][4].backward.bits, rtol=1e-4)


def test_words_outside_the_vocabulary_have_no_surprisal_unless_asked_for() -> None:
    model = tiny_lm()
    (found,) = surprisal(model, [["the", "zebra", "sat"]])
    assert found.is_unknown.tolist() == [False, True, False]
    for way in (found.forward, found.backward, found.combined):
        assert np.isnan(way.bits).tolist() == [False, True, False]
        assert way.rank[1] == 0
        assert not np.isnan(way.entropy).any()
    (kept,) = surprisal(model, [["the", "zebra", "sat"]], keep_unknown=True)
    assert kept.total_bits == found.total_bits
    assert kept.forward.bits.sum() + kept.end_bits[0] == pytest.approx(kept.total_bits[0])


def test_an_embedder_reads_the_softmax_that_it_was_loaded_without(tmp_path: Path) -> None:
    model = tiny_lm()
    write_native(model, tmp_path / "model")
    elmo = Embedder(load_pretrained(tmp_path / "model", need_softmax=False))
    (found,) = surprisal(elmo, ["the cat sat"])
    (expected,) = surprisal(model, [["the", "cat", "sat"]])
    np.testing.assert_allclose(found.combined.bits, expected.combined.bits, rtol=1e-5)


def test_a_model_may_be_given_by_its_path(tmp_path: Path) -> None:
    write_native(tiny_lm(), tmp_path / "model")
    wanted = surprisal(tiny_lm(), SENTENCES[:1])[0].combined.bits
    for path in (tmp_path / "model", str(tmp_path / "model")):
        (found,) = surprisal(path, SENTENCES[:1])
        np.testing.assert_allclose(found.combined.bits, wanted, rtol=1e-5)
    guesses = predict(tmp_path / "model", ["the", "___", "sat"]).combined
    assert guesses == predict(tiny_lm(), ["the", "___", "sat"]).combined


def test_a_model_without_a_softmax_is_refused() -> None:
    model = tiny_lm()
    model.output_words = None
    with pytest.raises(InputError, match="a/tiny-lm: this model has no softmax"):
        surprisal(model, ["the cat"])


def test_all_words_of_the_vocabulary_share_one_unit_of_probability() -> None:
    model = tiny_lm()
    vocabulary = model.output_words.vocabulary.words
    sentences = [["the", word, "sat"] for word in WORDS]
    found = surprisal(model, sentences)
    mass = sum(2 ** -sentence.forward.bits[1] for sentence in found)
    guesses = predict(model, ["the", "___", "sat"], top=len(vocabulary)).forward
    assert mass == pytest.approx(
        sum(math.exp(guess.log_probability) for guess in guesses), rel=1e-4
    )


def test_narrow_weights_are_used_and_change_little() -> None:
    model = tiny_lm()
    exact = surprisal(model, SENTENCES[:1])[0].combined.bits
    model.bilm.set_precision("bfloat16")
    narrow = surprisal(model, SENTENCES[:1])[0].combined.bits
    assert not np.array_equal(narrow, exact)
    assert narrow == pytest.approx(exact, abs=0.05)
