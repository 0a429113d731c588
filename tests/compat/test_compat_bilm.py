from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from elmokit.compat.bilm import (
    Batcher,
    BidirectionalLanguageModel,
    TokenBatcher,
    dump_bilm_embeddings,
    dump_token_embeddings,
    weight_layers,
)
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError

SENTENCES = [["the", "cat", "sat", "."], ["the", "cat"], []]


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """As in bilm-tf's example: the markers and the words, no <UNK>."""
    path = tmp_path / "vocab.txt"
    path.write_text("<S>\n</S>\nsat\nthe\n.\ncat")
    return path


def test_batches_stand_between_the_markers() -> None:
    ids = Batcher(None, 50).batch_sentences(SENTENCES)
    assert ids.shape == (3, 6, 50)
    assert ids[0, 0, :4].tolist() == [259, 257, 260, 261]
    assert ids[1, 3, :4].tolist() == [259, 258, 260, 261]
    assert not ids[1, 4:].any()
    assert ids[2, 1, 1] == 258


def test_embeddings_are_our_layers(options_file: Path, weight_file: Path, ours: Embedder) -> None:
    bilm = BidirectionalLanguageModel(str(options_file), str(weight_file))
    ops = bilm(Batcher(None, 50).batch_sentences(SENTENCES))
    assert ops["lm_embeddings"].shape == (3, 3, 4, 8)
    assert ops["lengths"].tolist() == [4, 2, 0]
    assert ops["mask"].sum(dim=1).tolist() == [4, 2, 0]
    assert ops["token_embeddings"].shape == (3, 6, 4)
    for row, expected in enumerate(ours.layers(SENTENCES)):
        actual = ops["lm_embeddings"][row].numpy()
        np.testing.assert_allclose(actual[:, : expected.shape[1]], expected, atol=1e-5)
        assert not actual[:, expected.shape[1] :].any()


def test_dumped_token_embeddings_serve_as_inputs(
    options_file: Path, weight_file: Path, words: Path, tmp_path: Path, ours: Embedder
) -> None:
    out = tmp_path / "tokens.hdf5"
    dump_token_embeddings(words, options_file, weight_file, out)
    with h5py.File(out) as file:
        assert file["embedding"].shape == (6, 4)
        cat = ours.layers([["cat"]])[0][0, 0, :4]
        np.testing.assert_allclose(file["embedding"][5], cat, atol=1e-6)
    bilm = BidirectionalLanguageModel(
        options_file, weight_file, use_character_inputs=False, embedding_weight_file=out
    )
    ids = TokenBatcher(words).batch_sentences(SENTENCES)
    assert ids[1].tolist() == [1, 4, 6, 2, 0, 0]
    embeddings = bilm(ids)["lm_embeddings"][0].numpy()
    np.testing.assert_allclose(embeddings, ours.layers(SENTENCES[:1])[0], atol=1e-5)


def test_a_word_outside_the_vocabulary_is_never_padding(words: Path) -> None:
    with pytest.raises(InputError, match="neither 'dog' nor <UNK>"):
        TokenBatcher(words).batch_sentences([["the", "dog"]])


def test_token_ids_need_their_vectors(options_file: Path, weight_file: Path) -> None:
    with pytest.raises(InputError, match="embedding_weight_file"):
        BidirectionalLanguageModel(options_file, weight_file, use_character_inputs=False)


def test_weighted_layers_start_as_the_average_and_learn(
    options_file: Path, weight_file: Path, ours: Embedder
) -> None:
    ops = BidirectionalLanguageModel(options_file, weight_file)(
        Batcher(None, 50).batch_sentences(SENTENCES)
    )
    elmo = weight_layers("input", ops, l2_coef=0.5)
    np.testing.assert_allclose(
        elmo["weighted_op"][0].detach().numpy(), ours.embed(SENTENCES)[0], atol=1e-5
    )
    with torch.no_grad():
        elmo["mix"].raw_weights.copy_(torch.tensor([1.0, 0.0, 2.0]))
    again = weight_layers("input", ops, l2_coef=0.5, mix=elmo["mix"])
    assert again["regularization_op"].item() == pytest.approx(2.5)
    again["weighted_op"].sum().backward()
    assert elmo["mix"].raw_weights.grad is not None


def test_the_top_layer_alone_is_not_regularised(
    options_file: Path, weight_file: Path, ours: Embedder
) -> None:
    ops = BidirectionalLanguageModel(options_file, weight_file)(
        Batcher(None, 50).batch_sentences(SENTENCES)
    )
    top = weight_layers("output", ops, l2_coef=1.0, use_top_only=True, do_layer_norm=True)
    np.testing.assert_allclose(
        top["weighted_op"][0].detach().numpy(), ours.embed(SENTENCES, "top")[0], atol=1e-5
    )
    assert top["regularization_op"].item() == 0.0


def test_dumped_embeddings_hold_every_line(
    options_file: Path, weight_file: Path, tmp_path: Path, ours: Embedder
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out.hdf5"
    text.write_text("the cat sat .\n\nthe cat\n")
    dump_bilm_embeddings(None, text, options_file, weight_file, out)
    with h5py.File(out) as file:
        assert sorted(file) == ["0", "1", "2"]
        np.testing.assert_allclose(file["2"][...], ours.layers([["the", "cat"]])[0], atol=1e-5)
