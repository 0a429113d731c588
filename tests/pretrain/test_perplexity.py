"""Perplexity, held to a reader that goes through the exported weights a token at a time."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_corpus import tiny_recipe, write_sentences

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus, Split
from elmokit.pretrain.export import export, read_trained
from elmokit.pretrain.perplexity import (
    measure_by_kind,
    measure_perplexity,
    perplexity_by_kind,
    perplexity_of,
)
from elmokit.pretrain.training.run import train
from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class SlowReader:
    """One direction, one token after the other, in float64."""

    def __init__(self, model: PretrainedModel, direction: str) -> None:
        self.model = model
        self.stack = getattr(model.bilm, f"{direction}_lstm")
        self.forget()

    def forget(self) -> None:
        config = self.model.config.lstm
        self.hidden = [np.zeros(config.projection_dim) for _ in range(config.num_layers)]
        self.cell = [np.zeros(config.dim) for _ in range(config.num_layers)]

    def read(self, word: str) -> np.ndarray:
        """Log probabilities of the word to come, after reading ``word``."""
        ids = self.model.indexer.encode([word])
        x = self.model.bilm.encoder(ids).detach().numpy()[0].astype(np.float64)
        for number, layer in enumerate(self.stack.layers):
            weights = {
                name: value.detach().double().numpy() for name, value in layer.named_parameters()
            }
            gates = x @ weights["input_weight"] + self.hidden[number] @ weights["hidden_weight"]
            i, f, o, j = np.split(gates + weights["bias"], 4)
            cell = sigmoid(f + 1) * self.cell[number] + sigmoid(i) * np.tanh(j)
            self.cell[number] = np.clip(cell, -3, 3)
            output = (sigmoid(o) * np.tanh(self.cell[number])) @ weights["projection"]
            self.hidden[number] = np.clip(output, -3, 3)
            x = self.hidden[number] + (x if number else 0)
        softmax = self.model.output_words.softmax
        logits = softmax.weight.detach().double().numpy() @ x + softmax.bias.detach().numpy()
        return logits - np.log(np.exp(logits).sum())


def slow_perplexity(model: PretrainedModel, corpus: Corpus, split: Split, direction: str) -> float:
    """Every sentence from a fresh state."""
    reader, nats, count = SlowReader(model, direction), 0.0, 0
    for part in np.split(np.asarray(split.tokens), split.starts[1:]):
        words = corpus.lexicon.words(part[1:].astype(np.int64))
        opening, closing = ("<S>", "</S>") if direction == "forward" else ("</S>", "<S>")
        words = words if direction == "forward" else words[::-1]
        reader.forget()
        for now, following in zip([opening, *words], [*words, closing], strict=True):
            nats -= reader.read(now)[corpus.vocabulary.id_of(following)]
            count += 1
    return math.exp(nats / count)


@pytest.fixture(scope="module")
def run(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    train(tiny_recipe(num_epochs=2.0), tiny_data, out)
    return out


def test_perplexity_equals_a_slow_reading_of_the_exported_weights(
    tiny: Corpus, tiny_data: Path, run: Path, tmp_path: Path
) -> None:
    export(run, tmp_path / "model")
    model = load_pretrained(tmp_path / "model")
    found = perplexity_of(model, tiny_data, "heldout", "fresh")
    assert found.forward == pytest.approx(
        slow_perplexity(model, tiny, tiny.heldout, "forward"), rel=1e-3
    )
    assert found.backward == pytest.approx(
        slow_perplexity(model, tiny, tiny.heldout, "backward"), rel=1e-3
    )
    assert found.num_predictions == tiny.heldout.num_tokens + tiny.heldout.num_sentences


def test_carried_and_fresh_starts_differ_and_are_labelled(tiny: Corpus, run: Path) -> None:
    model = read_trained(run)
    softmax = model.output_words.softmax
    fresh, carried = (
        measure_perplexity(model.bilm, softmax, tiny, tiny.heldout, start, quiet=True)
        for start in ("fresh", "carried")
    )
    assert fresh.forward != carried.forward
    assert "fresh start" in str(fresh)
    assert "carried start" in str(carried)


def test_another_vocabulary_is_refused(tiny_data: Path, run: Path) -> None:
    model = read_trained(run)
    words = model.output_words.vocabulary.words
    words[5], words[6] = words[6], words[5]
    with pytest.raises(InputError, match="--vocabulary"):
        perplexity_of(model, tiny_data, "heldout", "fresh")


def test_a_tiny_corpus_is_overfitted_in_both_directions(tmp_path: Path) -> None:
    from tiny_corpus import WORDS

    from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare

    # Eight sentences that share no word: after the first word everything is certain, and the
    # first costs a factor of 8 once in 7 predictions: 1.35 is the best there is.
    sentences = [" ".join(WORDS[2 * k : 2 * k + 2]) + f" x{k} y{k} z{k} u{k}" for k in range(8)]
    (tmp_path / "text.txt").write_text("\n".join(sentences * 30) + "\n")
    prepare(
        [str(tmp_path / "text.txt")],
        tmp_path / "data",
        PrepareConfig(pretokenized=True, heldout=0.2, vocabulary_size=100),
    )
    recipe = tiny_recipe(
        num_negatives=0, num_epochs=12.0, reset_share=1.0, learning_rate=0.02, evaluate_every=1000
    )
    result = train(recipe, tmp_path / "data", tmp_path / "run")
    corpus = Corpus.open(tmp_path / "data")
    found = measure_perplexity(
        result.bilm, result.softmax, corpus, corpus.train, "fresh", quiet=True
    )
    assert found.forward < 1.5
    assert found.backward < 1.5


def test_kinds_of_text_add_up_to_the_whole(tiny: Corpus, run: Path) -> None:
    model = read_trained(run)
    kinds = np.arange(tiny.heldout.num_sentences) % 3 * 2  # kind 1 has no sentence, nor has 3
    split = replace(tiny.heldout, kinds=kinds)
    corpus = replace(tiny, facts={**tiny.facts, "kinds": ["news", "none", "mail", "empty", "qa"]})
    softmax = model.output_words.softmax
    found = measure_by_kind(model.bilm, softmax, corpus, split, quiet=True)
    assert list(found.kinds) == ["news", "mail", "qa"]
    for number, name in ((0, "news"), (2, "mail"), (4, "qa")):
        alone = measure_perplexity(model.bilm, softmax, corpus, split.of_kind(number), quiet=True)
        numbers = [
            (each.forward, each.backward, each.unknown_rate, each.bits_per_character)
            for each in (found.kinds[name], alone)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-5)
    predictions = sum(each.num_predictions for each in found.kinds.values())
    assert predictions == found.overall.num_predictions
    nats = sum(each.num_predictions * math.log(each.forward) for each in found.kinds.values())
    assert math.exp(nats / predictions) == pytest.approx(found.overall.forward)


def test_bits_per_character_are_those_of_all_predictions(tiny: Corpus, run: Path) -> None:
    model = read_trained(run)
    found = measure_perplexity(
        model.bilm, model.output_words.softmax, tiny, tiny.heldout, quiet=True
    )
    words = tiny.lexicon.words(tiny.heldout.tokens.astype(np.int64))
    characters = sum(len(word) + 1 for word in words if word != "<S>")
    bits = found.num_predictions * (math.log2(found.forward) + math.log2(found.backward)) / 2
    assert found.bits_per_character == pytest.approx(bits / characters)


def test_a_sample_is_measured_where_one_is_asked_for(tiny_data: Path, run: Path) -> None:
    model = read_trained(run)
    for start in ("fresh", "carried"):
        found = perplexity_by_kind(model, tiny_data, "heldout", start, max_tokens=100)
        assert 70 < found.overall.num_predictions < 200
        assert found == perplexity_by_kind(model, tiny_data, "heldout", start, max_tokens=100)


def test_the_log_has_the_perplexity_of_each_kind(tmp_path: Path) -> None:
    from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
    from elmokit.pretrain.training.run_folder import read_log

    for number, name in enumerate(("news", "mail")):
        write_sentences(tmp_path / f"{name}.txt", 200, seed=number)
    prepare(
        [tmp_path / "news.txt", tmp_path / "mail.txt"],
        tmp_path / "data",
        PrepareConfig(pretokenized=True, heldout=0.2, vocabulary_size=15),
        num_workers=1,
        quiet=True,
    )
    train(tiny_recipe(max_tokens=240), tmp_path / "data", tmp_path / "run")
    event = read_log(tmp_path / "run" / "log.jsonl")[-1]
    assert set(event["kinds"]) == {"news", "mail"}
    predictions = [each["predictions"] for each in event["kinds"].values()]
    assert sum(predictions) == event["predictions"]
