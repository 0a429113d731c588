import copy
import io
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm

from elmokit.compat.allennlp import Elmo, ElmoEmbedder, ScalarMix, batch_to_ids
from elmokit.config import ModelConfig, WordTableConfig
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel

SENTENCES = [["First", "sentence", "."], ["Another", "."], ["a", "rose", "is", "a", "rose"]]


@pytest.fixture
def elmo(options_file: Path, weight_file: Path) -> Elmo:
    return Elmo(str(options_file), str(weight_file), 2, dropout=0.0)


def test_ids_are_those_of_bilm_plus_one() -> None:
    ids = batch_to_ids([["ab"], ["a", "é"]])
    assert ids.shape == (2, 2, 50)
    assert ids[0, 0, :5].tolist() == [259, 98, 99, 260, 261]
    assert ids[1, 1, :5].tolist() == [259, 0xC3 + 1, 0xA9 + 1, 260, 261]
    assert not ids[0, 1].any()


def test_representations_are_the_mix_of_our_layers(elmo: Elmo, ours: Embedder) -> None:
    output = elmo(batch_to_ids(SENTENCES))
    assert len(output["elmo_representations"]) == 2
    assert output["mask"].tolist() == [
        [True] * 3 + [False] * 2, [True] * 2 + [False] * 3, [True] * 5,
    ]  # fmt: skip
    for row, expected in enumerate(ours.embed(SENTENCES)):
        actual = output["elmo_representations"][0][row].detach().numpy()
        np.testing.assert_allclose(actual[: len(expected)], expected, atol=1e-5)
        assert not actual[len(expected) :].any()


def test_outer_dimensions_come_back(elmo: Elmo) -> None:
    ids = batch_to_ids(SENTENCES)
    output = elmo(ids.view(3, 1, 5, 50))
    assert output["elmo_representations"][1].shape == (3, 1, 5, 8)
    assert output["mask"].shape == (3, 1, 5)
    flat = elmo(ids)["elmo_representations"][1]
    torch.testing.assert_close(output["elmo_representations"][1][:, 0], flat)


def test_a_batch_of_padding_alone_is_zero(elmo: Elmo) -> None:
    output = elmo(torch.zeros(2, 3, 50, dtype=torch.long))
    assert not output["mask"].any()
    assert not output["elmo_representations"][0].any()


def test_sentences_without_tokens_have_no_vectors(elmo: Elmo) -> None:
    output = elmo(batch_to_ids([[], []]))
    assert output["elmo_representations"][0].shape == (2, 0, 8)
    assert output["mask"].shape == (2, 0)


def test_padding_inside_a_sentence_is_refused(elmo: Elmo) -> None:
    ids = batch_to_ids([["a", "b", "c"]])
    ids[0, 1] = 0
    with pytest.raises(ValueError, match="padding must be at the end"):
        elmo(ids)


def test_boundaries_can_be_kept(options_file: Path, weight_file: Path, ours: Embedder) -> None:
    elmo = Elmo(options_file, weight_file, 1, dropout=0.0, keep_sentence_boundaries=True)
    output = elmo(batch_to_ids(SENTENCES))
    assert output["elmo_representations"][0].shape == (3, 7, 8)
    assert output["mask"].sum(dim=1).tolist() == [5, 4, 7]
    inside = output["elmo_representations"][0][1, 1:3].detach().numpy()
    np.testing.assert_allclose(inside, ours.embed(SENTENCES)[1], atol=1e-5)


def test_a_cached_vocabulary_gives_the_same(options_file: Path, weight_file: Path) -> None:
    vocabulary = ["@@PADDING@@", "@@UNKNOWN@@", "a", "rose", "is"]
    elmo = Elmo(options_file, weight_file, 1, dropout=0.0, vocab_to_cache=vocabulary)
    words = torch.tensor([[2, 3, 4], [3, 0, 0]])
    ids = batch_to_ids([["a", "rose", "is"], ["rose"]])
    plain = elmo(ids)
    cached = elmo(None, words)
    torch.testing.assert_close(
        cached["elmo_representations"][0], plain["elmo_representations"][0], atol=1e-6, rtol=0
    )
    assert cached["mask"].equal(plain["mask"])


def test_words_outside_the_cache_fall_back_on_their_characters(
    options_file: Path, weight_file: Path
) -> None:
    elmo = Elmo(options_file, weight_file, 1, dropout=0.0, vocab_to_cache=["@@PADDING@@", "a"])
    ids = batch_to_ids([["a", "new"]])
    plain = elmo(ids)["elmo_representations"][0]
    torch.testing.assert_close(elmo(ids, torch.tensor([[1, 7]]))["elmo_representations"][0], plain)
    with pytest.raises(InputError, match="vocab_to_cache"):
        elmo(None, torch.tensor([[1, 7]]))


def test_only_the_mixes_learn_unless_asked(options_file: Path, weight_file: Path) -> None:
    frozen = Elmo(options_file, weight_file, 1)
    loss = frozen(batch_to_ids(SENTENCES))["elmo_representations"][0].sum()
    loss.backward()
    learning = {name for name, weight in frozen.named_parameters() if weight.grad is not None}
    assert learning == {
        "scalar_mix_0.gamma", *(f"scalar_mix_0.scalar_parameters.{n}" for n in range(3)),
    }  # fmt: skip
    trained = Elmo(options_file, weight_file, 1, requires_grad=True)
    trained(batch_to_ids(SENTENCES))["elmo_representations"][0].sum().backward()
    assert all(weight.grad is not None for weight in trained.parameters())


def test_given_mix_parameters_are_fixed(options_file: Path, weight_file: Path) -> None:
    elmo = Elmo(
        options_file, weight_file, 1, dropout=0.0, scalar_mix_parameters=[-9e9, 9e9, -9e9]
    )  # fmt: skip
    assert not any(weight.requires_grad for weight in elmo.parameters())


def test_a_loaded_model_can_take_the_place_of_the_files(ours: Embedder) -> None:
    first = Elmo(None, None, 1, dropout=0.0, module=ours.pretrained)
    second = Elmo(None, None, 1, dropout=0.0, module=ours.bilm)
    ids = batch_to_ids(SENTENCES)
    torch.testing.assert_close(
        first(ids)["elmo_representations"][0], second(ids)["elmo_representations"][0]
    )


def test_ids_of_another_width_are_refused(elmo: Elmo) -> None:
    with pytest.raises(InputError, match="20 characters per token, but the model reads 50"):
        elmo(batch_to_ids(SENTENCES, 20))


def test_a_model_that_reads_no_utf8_characters_is_refused(ours: Embedder) -> None:
    config = ModelConfig(
        ours.bilm.config.lstm, None, WordTableConfig(3, 4), has_token_projection=False
    )
    for module in (BiLm(config), PretrainedModel(BiLm(config), TokenIndexer(), "native", "words")):
        with pytest.raises(InputError, match="which this model does not read"):
            Elmo(None, None, 1, module=module)


def test_copies_run_side_by_side_as_under_data_parallel(elmo: Elmo) -> None:
    ids = batch_to_ids(SENTENCES)
    together = elmo(ids)["elmo_representations"][0]
    parts = [copy.deepcopy(elmo)(ids[rows])["elmo_representations"][0] for rows in ([0, 1], [2])]
    torch.testing.assert_close(torch.cat(parts), together, atol=1e-5, rtol=0)


def test_mixes_have_the_names_of_saved_allennlp_models(elmo: Elmo) -> None:
    names = set(elmo.state_dict())
    assert {"scalar_mix_1.gamma", "scalar_mix_1.scalar_parameters.2"} <= names


def test_scalar_mix_weighs_with_a_softmax() -> None:
    mix = ScalarMix(3, initial_scalar_parameters=[0.0, 1.0, 2.0])
    tensors = [torch.full((2, 3, 5), float(number)) for number in (1, 10, 100)]
    weights = torch.tensor([0.0, 1.0, 2.0]).softmax(0)
    expected = weights @ torch.tensor([1.0, 10.0, 100.0])
    torch.testing.assert_close(mix(tensors), torch.full((2, 3, 5), float(expected)))


def test_layer_norm_never_looks_at_the_batch() -> None:
    mix = ScalarMix(2, do_layer_norm=True)
    tensors = [torch.randn(4, 3, 5) for _ in range(2)]
    alone = mix([tensor[1:2] for tensor in tensors])
    torch.testing.assert_close(mix(tensors, torch.ones(4, 3))[1:2], alone)
    expected = sum(layer_norm(tensor, (5,)) for tensor in tensors) / 2
    torch.testing.assert_close(mix(tensors), expected)


@pytest.fixture
def embedder(options_file: Path, weight_file: Path) -> ElmoEmbedder:
    return ElmoEmbedder(str(options_file), str(weight_file))


def test_embed_sentence_has_all_layers(embedder: ElmoEmbedder, ours: Embedder) -> None:
    np.testing.assert_allclose(
        embedder.embed_sentence(SENTENCES[0]), ours.layers(SENTENCES[:1])[0], atol=1e-6
    )
    assert embedder.embed_sentence([]).shape == (3, 0, 8)


def test_the_same_sentence_gives_the_same_vectors_again(embedder: ElmoEmbedder) -> None:
    first = embedder.embed_sentence(SENTENCES[0])
    embedder.embed_batch(SENTENCES)
    np.testing.assert_array_equal(embedder.embed_sentence(SENTENCES[0]), first)


def test_embed_sentences_keeps_the_order(embedder: ElmoEmbedder) -> None:
    lengths = [array.shape[1] for array in embedder.embed_sentences(iter(SENTENCES), batch_size=2)]
    assert lengths == [3, 2, 5]


def test_batch_to_embeddings_pads_with_zeros(embedder: ElmoEmbedder) -> None:
    layers, mask = embedder.batch_to_embeddings(SENTENCES)
    assert layers.shape == (3, 3, 5, 8) and mask.sum().item() == 10
    assert not layers[1, :, 2:].any()


@pytest.mark.parametrize(
    ("output_format", "shape"), [("all", (3, 3, 8)), ("top", (3, 8)), ("average", (3, 8))]
)
def test_embed_file_writes_numbered_sentences(
    embedder: ElmoEmbedder, tmp_path: Path, output_format: str, shape: tuple[int, ...]
) -> None:
    out = tmp_path / "vectors"  # any name, as before
    embedder.embed_file(io.StringIO("a b c\n\na/b\n"), str(out), output_format)
    with h5py.File(out) as file:
        assert file["0"].shape == shape
        assert file["1"].shape[-2] == 0
        assert json.loads(file["sentence_to_index"][0]) == {"a b c": "0", "": "1", "a/b": "2"}


def test_embed_file_can_use_sentences_as_keys(embedder: ElmoEmbedder, tmp_path: Path) -> None:
    out = tmp_path / "vectors.hdf5"
    embedder.embed_file(io.StringIO("a b\na/b\na b\n"), out, "top", use_sentence_keys=True)
    with h5py.File(out) as file:
        assert sorted(file) == ["a b", "a_b"]
