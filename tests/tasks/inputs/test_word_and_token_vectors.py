"""Word tables, and what stands at the input and the output of every task model."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.tasks.config import CharactersConfig, ElmoConfig, TaskConfig, WordsConfig
from elmokit.tasks.inputs.layer_cache import ComputedLayers
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import (
    UNKNOWN,
    WordTable,
    WordVectors,
    build_word_table,
    load_word_table,
)

SENTENCES = [["Cats", "sleep", "zyx"], ["a"], []]


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("cats 1 2 3\nsleep 4 5 6\n. . . 7 8 9\nrun 0 1 0\n")
    return path


def vector_of(table: WordTable, token: str) -> list[float]:
    found: list[float] = WordVectors(table)(torch.tensor([[table.id_of(token)]]))[0, 0].tolist()
    return found


def test_a_word_never_trained_on_still_has_its_vector(glove: Path) -> None:
    table = build_word_table(WordsConfig(vectors=str(glove)), ["cats"])
    assert vector_of(table, "Run") == [0, 1, 0]
    assert table.id_of("unheard-of") == UNKNOWN


def test_words_the_vectors_lack_are_learned_when_frequent(glove: Path) -> None:
    table = build_word_table(WordsConfig(vectors=str(glove)), ["a", "A", "rare", "cats"])
    assert len(table.learned) == 3  # padding, unknown, a
    assert table.id_of("A") == table.id_of("a") > UNKNOWN
    assert table.id_of("rare") == UNKNOWN


def test_only_training_words_are_tuned(glove: Path) -> None:
    table = build_word_table(WordsConfig(vectors=str(glove), is_tuned=True), ["Cats", "cats"])
    vectors = WordVectors(table)
    ids = torch.tensor([[table.id_of("cats"), table.id_of("sleep"), 0]])
    vectors(ids).sum().backward()
    assert vectors.learned.grad is not None
    assert vectors.learned.grad.sum(dim=1).tolist() == [0, 0, 3]  # padding, unknown, cats
    assert vector_of(table, "sleep") == [4, 5, 6]


def test_a_saved_table_is_the_same_table(glove: Path, tmp_path: Path) -> None:
    table = build_word_table(WordsConfig(vectors=str(glove)), ["a", "a", "cats"])
    table.save(tmp_path)
    again = load_word_table(tmp_path)
    for word in ("a", "cats", "run", "nothing"):
        assert vector_of(again, word) == vector_of(table, word)


FIVE_FILTERS = CharactersConfig(num_filters=5, max_characters=9)


def make(
    elmo: Embedder, characters: CharactersConfig = FIVE_FILTERS, **options: object
) -> TokenVectors:
    config = TaskConfig(
        "any",
        None,
        words=WordsConfig(dim=4, min_count=1),
        characters=characters,
        elmo=replace(ElmoConfig(dropout=0.0), **options),  # type: ignore[arg-type]
    )
    table = build_word_table(config.words, ["Cats", "sleep", "a"])
    return TokenVectors(config, table, ComputedLayers(elmo))


@pytest.mark.parametrize(
    ("where", "input_dim", "output_dim"),
    [("none", 9, 7), ("input", 21, 7), ("output", 9, 19), ("both", 21, 19)],
)
def test_elmo_stands_where_the_config_says(
    tiny_elmo: Embedder, where: str, input_dim: int, output_dim: int
) -> None:
    vectors = make(tiny_elmo, where=where)
    tensors = vectors.tensors(SENTENCES)
    assert vectors(tensors).shape == (3, 3, input_dim)
    assert vectors.input_dim == input_dim
    hidden = vectors.at_output(torch.zeros(3, 3, 7), tensors)
    assert hidden.shape == (3, 3, output_dim)
    assert vectors.output_dim(7) == output_dim


def test_every_width_of_the_character_cnn_has_its_filters(tiny_elmo: Embedder) -> None:
    characters = CharactersConfig(num_filters=5, widths=(1, 4), max_characters=9)
    vectors = make(tiny_elmo, characters, where="none")
    assert vectors(vectors.tensors(SENTENCES)).shape == (3, 3, vectors.input_dim)
    assert vectors.input_dim == 4 + 2 * 5


def test_a_sentence_has_the_same_vectors_in_any_batch(tiny_elmo: Embedder) -> None:
    vectors = make(tiny_elmo, layer_norm=True)
    together = vectors(vectors.tensors(SENTENCES))
    alone = vectors(vectors.tensors([SENTENCES[1]]))
    torch.testing.assert_close(together[1, :1], alone[0])
    assert (together[1, 1:] == 0).all()
    assert (together[2] == 0).all()


def test_top_and_numbered_layers_have_only_their_gamma(tiny_elmo: Embedder) -> None:
    layers = torch.from_numpy(tiny_elmo.layers([SENTENCES[0]])[0])
    for choice, number in (("top", 2), ("0", 0), ("1", 1)):
        vectors = make(tiny_elmo, layers=choice)
        found = vectors(vectors.tensors([SENTENCES[0]]))[0, :, 9:]
        torch.testing.assert_close(found, layers[number], rtol=1e-5, atol=1e-6)
        assert float(vectors.penalty().detach()) == 0.0


def test_an_average_learns_gamma_alone(tiny_elmo: Embedder) -> None:
    vectors = make(tiny_elmo, layers="average")
    found = vectors(vectors.tensors([SENTENCES[0]]))
    layers = torch.from_numpy(tiny_elmo.layers([SENTENCES[0]])[0])
    torch.testing.assert_close(found[0, :, 9:], layers.mean(dim=0), rtol=1e-5, atol=1e-6)
    assert vectors.input_mix is not None
    assert vectors.input_mix.gamma.requires_grad
    assert not vectors.input_mix.raw_weights.requires_grad


@pytest.mark.parametrize(("output_rate", "is_dropped"), [(None, True), (0.5, True), (0.0, False)])
def test_elmo_alone_is_dropped_and_only_in_training(
    tiny_elmo: Embedder, output_rate: float | None, is_dropped: bool
) -> None:
    vectors = make(tiny_elmo, where="both", dropout=0.5, output_dropout=output_rate).eval()
    tensors = vectors.tensors([SENTENCES[0] * 9])
    hidden = torch.ones(1, 27, 7)
    whole, whole_output = vectors(tensors), vectors.at_output(hidden, tensors)
    assert torch.equal(vectors(tensors), whole)
    torch.manual_seed(0)
    vectors.train()
    found, found_output = vectors(tensors), vectors.at_output(hidden, tensors)
    assert torch.equal(found[..., :9], whole[..., :9])
    assert_halved(found[..., 9:], whole[..., 9:])
    assert torch.equal(found_output[..., :7], hidden)
    if is_dropped:
        assert_halved(found_output[..., 7:], whole_output[..., 7:])
    else:
        assert torch.equal(found_output, whole_output)


def assert_halved(found: Tensor, whole: Tensor) -> None:
    """About half of the values are zero, and the others twice what they were."""
    is_kept = found != 0
    assert 0.4 < is_kept.float().mean() < 0.6
    torch.testing.assert_close(found[is_kept], 2 * whole[is_kept])


def test_a_layer_that_is_not_there_is_refused(tiny_elmo: Embedder) -> None:
    with pytest.raises(InputError, match="layers are 0 to 2"):
        make(tiny_elmo, layers="3")


def test_the_penalty_is_lambda_times_the_squared_raw_weights(tiny_elmo: Embedder) -> None:
    vectors = make(tiny_elmo, where="both", l2=0.5)
    assert vectors.input_mix is not None and vectors.output_mix is not None
    with torch.no_grad():
        vectors.input_mix.raw_weights.copy_(torch.tensor([1.0, 2.0, 0.0]))
        vectors.output_mix.raw_weights.copy_(torch.tensor([0.0, 0.0, 3.0]))
    assert float(vectors.penalty().detach()) == pytest.approx(0.5 * (1 + 4 + 9))


def test_the_mixes_belong_to_the_task_and_the_bilm_does_not(tiny_elmo: Embedder) -> None:
    names = set(make(tiny_elmo, where="both").state_dict())
    assert {"input_mix.gamma", "input_mix.raw_weights", "output_mix.gamma"} <= names
    assert not any("lstm" in name or "encoder" in name for name in names)


def test_the_control_stands_in_elmos_place(tiny_elmo: Embedder) -> None:
    vectors = make(tiny_elmo, where="none", random_dim=12)
    found = vectors(vectors.tensors(SENTENCES))
    assert found.shape[2] == vectors.input_dim == 21
    assert (found[1, 1:] == 0).all()
    again = vectors(vectors.tensors([["x", "Cats"]]))
    assert torch.equal(again[0, 1, 9:], found[0, 0, 9:])
