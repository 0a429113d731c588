"""Where a run begins: with the frequencies of the words, or with a model trained before."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_corpus import tiny_recipe, write_sentences

from elmokit.errors import InputError
from elmokit.pretrain.config import Recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.training import loop
from elmokit.pretrain.training.batches import Batch, BatchMaker, prefetch
from elmokit.pretrain.training.initial_weights import (
    begin_with_vectors,
    first_context_loss,
    first_meaning_loss,
    first_weights,
    log_frequencies,
    random_start,
)
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.windows import Lanes, Windows
from elmokit.text.static_vectors import StaticVectors
from elmokit.text.token_ids import TokenIds, Utf8Characters
from elmokit.text.vocabulary import MARKERS
from elmokit.weights.load import load_pretrained


def starting_from(model: Path) -> Recipe:
    return tiny_recipe(start_from=str(model))


def test_the_first_softmax_predicts_each_word_as_often_as_it_occurs(tiny: Corpus) -> None:
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(1, 0, 1), 50, seed=1)
    counts = np.zeros(len(tiny.vocabulary))
    for step in range(windows.all_steps()):
        window = windows.at(0, step)
        for stream in (window.forward, window.backward):
            np.add.at(counts, stream.targets[window.is_real], 1)
    predicted = torch.softmax(log_frequencies(tiny), 0).numpy()
    np.testing.assert_allclose(predicted, counts / counts.sum(), rtol=1e-5)


def test_a_run_begins_with_the_weights_and_the_softmax_of_a_model(
    model: Path, tiny: Corpus
) -> None:
    bilm, softmax = first_weights(starting_from(model), tiny)
    trained = load_pretrained(model)
    assert trained.output_words is not None
    for name, weight in trained.bilm.state_dict().items():
        assert torch.equal(weight, bilm.state_dict()[name]), name
    assert torch.equal(softmax.weight, trained.output_words.softmax.weight)
    assert torch.equal(softmax.bias, trained.output_words.softmax.bias)


def test_a_run_reads_on_where_its_model_ended(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[tuple[int, int]] = []

    def watched(
        maker: BatchMaker, positions: Iterator[tuple[int, int]], depth: int = 2
    ) -> Iterator[Batch]:
        read.extend(positions)
        return prefetch(maker, iter(read), depth)

    monkeypatch.setattr(loop, "prefetch", watched)
    result = train(tiny_recipe(max_tokens=240, skip_tokens=48), tiny_data, tmp_path / "run")
    assert read == [(0, step) for step in range(2, 12)]  # steps of 24 tokens
    assert result.tokens == 240
    with pytest.raises(InputError, match="leaves nothing of the 1 epochs"):
        train(tiny_recipe(skip_tokens=10**9), tiny_data, tmp_path / "other")


def test_a_model_of_other_sizes_is_refused_with_the_part_that_differs(
    model: Path, tiny: Corpus
) -> None:
    recipe = starting_from(model)
    other = replace(recipe, model=replace(recipe.model, lstm=replace(recipe.model.lstm, dim=13)))
    with pytest.raises(InputError, match="differs from the recipe in lstm"):
        first_weights(other, tiny)


def test_words_without_a_softmax_row_are_refused(model: Path, tmp_path: Path) -> None:
    write_sentences(tmp_path / "text.txt", 50)
    config = PrepareConfig(pretokenized=True, heldout=0.1, vocabulary_size=18)
    prepare([str(tmp_path / "text.txt")], tmp_path / "data", config)
    with pytest.raises(InputError, match=r"no softmax row for \d+ words"):
        first_weights(starting_from(model), Corpus.open(tmp_path / "data"))


@pytest.mark.parametrize("width", [5, 9])  # narrower and wider than the biLM's 7
def test_words_begin_with_their_static_vectors(width: int, tiny: Corpus) -> None:
    words = [word for word in tiny.vocabulary.words if word not in ("the", *MARKERS)]
    random = np.random.default_rng(1)
    given = random.normal(size=(len(words), width)).astype(np.float32)
    torch.manual_seed(1)
    bilm, softmax = random_start(tiny_recipe(), tiny)
    untouched = softmax.weight.detach().clone()
    vectors = StaticVectors(words, given, "made up")
    assert begin_with_vectors(bilm, softmax, tiny, vectors, num_steps=300) == len(words)

    known = [tiny.vocabulary.id_of(word) for word in words]
    others = [row for row in range(len(tiny.vocabulary)) if row not in known]
    assert torch.equal(softmax.weight[others], untouched[others])
    rows = softmax.weight[known].detach()
    if width < 7:  # a rotation keeps every angle
        centred = torch.from_numpy(given - given.mean(axis=0))
        wanted = torch.cosine_similarity(centred[:, None], centred[None], dim=2)
        found = torch.cosine_similarity(rows[:, None], rows[None], dim=2)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    characters = tiny.lexicon.characters(np.array(known), Utf8Characters(12))
    encoded = bilm.encoder(TokenIds(torch.from_numpy(characters), None)).detach()
    assert torch.cosine_similarity(encoded, rows, dim=1).mean() > 0.8


def test_vectors_that_share_no_word_with_the_corpus_are_refused(tiny: Corpus) -> None:
    bilm, softmax = random_start(tiny_recipe(), tiny)
    vectors = StaticVectors(["zebra"], np.ones((1, 3), dtype=np.float32), "zoo.txt")
    with pytest.raises(InputError, match=r"zoo\.txt: has no vector for any word"):
        begin_with_vectors(bilm, softmax, tiny, vectors, num_steps=1)


def test_the_context_loss_knows_words_by_their_static_vectors(tiny: Corpus, tmp_path: Path) -> None:
    first, second = tiny.vocabulary.words[3:5]
    file = tmp_path / "vectors.txt"
    file.write_text(f"{first} 1 2 3\n{second} 5 4 3\n")
    loss = first_context_loss(tiny_recipe(context=0.3, vectors=str(file)), tiny)
    assert loss is not None and loss.vectors is not None
    assert loss.vectors.shape == (len(tiny.vocabulary), 3)
    assert loss.vectors.any(dim=1).nonzero()[:, 0].tolist() == [3, 4]
    torch.testing.assert_close(loss.vectors[3], -loss.vectors[4])  # centred
    assert [tuple(weight.shape) for weight in loss.weights] == [(3, 7), (3, 7)]
    plain = first_context_loss(tiny_recipe(context=0.3), tiny)
    assert plain is not None and plain.vectors is None
    assert first_context_loss(tiny_recipe(), tiny) is None


def test_the_meaning_loss_starts_with_the_map_that_fits_best(tiny: Corpus, tmp_path: Path) -> None:
    torch.manual_seed(1)
    bilm, _ = random_start(tiny_recipe(), tiny)
    words = tiny.vocabulary.words[3:]
    known = torch.arange(3, len(tiny.vocabulary))
    ids = TokenIds(
        torch.from_numpy(tiny.lexicon.characters(known.numpy(), Utf8Characters(12))), None
    )
    with torch.no_grad():
        bilm.encoder.projection.weight.mul_(20)  # of the size of trained ones
        told = bilm.encoder(ids) @ torch.randn(7, 2) + 3.0  # a linear map can tell these
    file = tmp_path / "vectors.txt"
    lines = [f"{word} {x} {y}" for word, (x, y) in zip(words, told.tolist(), strict=True)]
    file.write_text("\n".join(lines) + "\n")
    loss = first_meaning_loss(tiny_recipe(meaning=0.5, vectors=str(file)), tiny, bilm)
    assert loss is not None and loss.share == 0.5
    with torch.no_grad():
        assert loss(bilm.encoder(ids), known).item() < 0.001
    assert first_meaning_loss(tiny_recipe(), tiny, bilm) is None
    with pytest.raises(InputError, match=r"train\.meaning needs static vectors"):
        tiny_recipe(meaning=0.5)
