"""A wider model computes what the small one did, and learns to do more."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_corpus import tiny_recipe, write_sentences

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.pretrain.config import Recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.training.initial_weights import first_weights
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.vector_fit import KnownWords, teach_vectors
from elmokit.pretrain.training.widening import (
    has_more_filters,
    widen_cells,
    widen_characters,
)
from elmokit.text.static_vectors import StaticVectors
from elmokit.text.token_ids import TokenIds
from elmokit.weights.load import load_pretrained


def with_cells(recipe: Recipe, dim: int) -> Recipe:
    return replace(recipe, model=replace(recipe.model, lstm=replace(recipe.model.lstm, dim=dim)))


def with_filters(recipe: Recipe, *filters: tuple[int, int]) -> Recipe:
    assert recipe.model.char_cnn is not None
    char_cnn = replace(recipe.model.char_cnn, filters=filters)
    return replace(recipe, model=replace(recipe.model, char_cnn=char_cnn))


@pytest.mark.parametrize("factor", [2, 3])
def test_wider_cells_give_the_same_layers(factor: int) -> None:
    torch.manual_seed(3)
    config = tiny_recipe().model
    narrow = BiLm(config).double().eval()
    wide = widen_cells(narrow, factor * config.lstm.dim).double().eval()
    table = torch.randn(6, config.lstm.projection_dim, dtype=torch.double)
    index = torch.tensor([[2, 3, 4, 5], [5, 2, 0, 0]])
    found, wanted = (bilm.layers(table, index, [4, 2]) for bilm in (wide, narrow))
    torch.testing.assert_close(found, wanted, atol=1e-7, rtol=1e-6)
    copies = wide.forward_lstm.layers[0].projection
    assert copies is not None
    first, second = copies[: config.lstm.dim], copies[config.lstm.dim : 2 * config.lstm.dim]
    assert not torch.equal(first, second)  # else they would stay alike for ever


def test_a_run_may_begin_with_a_model_of_fewer_cells(
    model: Path, tiny_data: Path, tmp_path: Path
) -> None:
    recipe = tiny_recipe(start_from=str(model), max_tokens=240)
    wide = with_cells(recipe, 2 * recipe.model.lstm.dim)
    bilm, _ = first_weights(wide, Corpus.open(tiny_data))
    assert bilm.config.lstm.dim == 2 * recipe.model.lstm.dim
    result = train(wide, tiny_data, tmp_path / "run")
    assert result.perplexity is not None and np.isfinite(result.perplexity.mean)
    with pytest.raises(InputError, match="differs from the recipe in lstm"):
        first_weights(with_cells(recipe, 2 * recipe.model.lstm.dim + 1), Corpus.open(tiny_data))


def test_words_the_model_lacks_get_rows_from_static_vectors(model: Path, tmp_path: Path) -> None:
    """Known rows stay; a new word whose vector equals a known word's gets about its row."""
    write_sentences(tmp_path / "text.txt", 50)
    config = PrepareConfig(pretokenized=True, heldout=0.1, vocabulary_size=18)
    prepare([str(tmp_path / "text.txt")], tmp_path / "data", config, quiet=True)
    corpus = Corpus.open(tmp_path / "data")
    trained = load_pretrained(model)
    assert trained.output_words is not None
    old = trained.output_words
    new = [word for word in corpus.vocabulary.words if word not in old.vocabulary]
    shared = [word for word in corpus.vocabulary.words[3:] if word in old.vocabulary]
    assert new and len(shared) > 4
    given = np.random.default_rng(1).normal(size=(len(shared), 2)).astype(np.float32)
    twin = len(new) * [given[0]]
    vectors = StaticVectors([*shared, *new], np.stack([*given, *twin]), "made up")
    np.save(tmp_path / "vectors.npy", vectors.vectors)
    (tmp_path / "words.txt").write_text("\n".join(vectors.words))

    recipe = tiny_recipe(start_from=str(model), vectors=str(tmp_path))
    _, softmax = first_weights(recipe, corpus)
    for word in shared:
        row = softmax.weight[corpus.vocabulary.id_of(word)]
        assert torch.equal(row, old.softmax.weight[old.vocabulary.id_of(word)])
    rows = np.stack([old.softmax.weight[old.vocabulary.id_of(w)].detach() for w in shared])
    features = np.c_[given, np.ones(len(shared))]
    fitted = np.linalg.lstsq(features, rows, rcond=None)[0]
    for word in new:
        found = softmax.weight[corpus.vocabulary.id_of(word)].detach().numpy()
        np.testing.assert_allclose(found, features[0] @ fitted, atol=1e-4)


MORE_FILTERS = ((1, 5), (2, 9), (3, 4))


def test_more_filters_give_the_same_token_vectors() -> None:
    torch.manual_seed(3)
    config = tiny_recipe().model
    narrow = BiLm(config).eval()
    wanted = with_filters(tiny_recipe(), *MORE_FILTERS).model.char_cnn
    assert wanted is not None and has_more_filters(wanted, config.char_cnn)
    wide = widen_characters(narrow, wanted).eval()
    assert wide.config.char_cnn == wanted
    ids = TokenIds(torch.randint(0, 262, (20, 12)), None)
    torch.testing.assert_close(wide.encoder(ids), narrow.encoder(ids), atol=1e-6, rtol=1e-5)
    table = torch.randn(3, config.lstm.projection_dim)
    index = torch.tensor([[0, 1, 2]])
    torch.testing.assert_close(wide.layers(table, index, [3]), narrow.layers(table, index, [3]))


@pytest.mark.parametrize("filters", [((1, 5), (2, 6)), ((1, 5), (2, 5), (3, 9)), ((2, 6), (3, 9))])
def test_filters_that_are_not_more_are_not_widened(filters: tuple[tuple[int, int], ...]) -> None:
    wanted = with_filters(tiny_recipe(), *filters).model.char_cnn
    assert wanted is not None
    assert not has_more_filters(wanted, tiny_recipe().model.char_cnn)


def test_new_filters_learn_the_static_vectors(tiny: Corpus) -> None:
    """More of the vectors can be told from the token vectors, which hardly move."""
    torch.manual_seed(3)
    narrow = BiLm(tiny_recipe().model)
    wanted = with_filters(tiny_recipe(), (1, 25), (2, 26), (3, 20)).model.char_cnn
    assert wanted is not None
    wide = widen_characters(narrow, wanted)
    known = torch.arange(3, len(tiny.vocabulary))
    words = KnownWords.of(wide, tiny, known)
    vectors = torch.randn(len(known), 6)

    def untold(encoded: torch.Tensor) -> float:
        ones = torch.cat([encoded, torch.ones(len(encoded), 1)], dim=1)
        return float((vectors - ones @ torch.linalg.lstsq(ones, vectors).solution).square().mean())

    before = words.encode(wide.encoder)
    teach_vectors(wide, words, vectors, num_steps=200)
    after = words.encode(wide.encoder)
    assert untold(after) < 0.5 * untold(before)
    assert (after - before).square().mean() < 0.5 * before.var(dim=0).mean()


def test_a_run_may_begin_with_a_model_of_fewer_filters(
    model: Path, tiny: Corpus, tmp_path: Path
) -> None:
    words = tiny.vocabulary.words[3:]
    np.save(tmp_path / "vectors.npy", np.random.default_rng(1).normal(size=(len(words), 4)))
    (tmp_path / "words.txt").write_text("\n".join(words))
    plain = tiny_recipe(start_from=str(model))
    taught = tiny_recipe(start_from=str(model), vectors=str(tmp_path), vectors_steps=3)
    old = load_pretrained(model).bilm.encoder
    ids = KnownWords.of(load_pretrained(model).bilm, tiny, torch.arange(3, 9))
    for recipe, is_same in ((plain, True), (taught, False)):
        bilm, _ = first_weights(with_filters(recipe, *MORE_FILTERS), tiny)
        found, wanted = ids.encode(bilm.encoder), ids.encode(old)
        assert torch.allclose(found, wanted, atol=1e-5) == is_same
