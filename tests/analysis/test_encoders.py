"""Anything that gives layers can stand in a table."""

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from elmokit.analysis.cove import build_cove, open_cove
from elmokit.analysis.encoders import chunks, open_encoder, untrained
from elmokit.analysis.static_vectors import StaticEncoder, StaticVectors, read_static_vectors
from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.errors import InputError
from elmokit.text.token_ids import TokenIndexer

SMALL = ModelConfig(
    lstm=LstmConfig(dim=7, projection_dim=5),
    char_cnn=CharCnnConfig(filters=((1, 3), (2, 4)), num_highway=1, embedding_dim=3),
)
WORDS = ["the", "cat", "Paris"]
ROWS = np.array([[1, 0], [0.5, -2], [3, 4]], dtype=np.float32)


def test_untrained_bilm_gives_every_layer_of_every_token() -> None:
    encoder = untrained(SMALL, TokenIndexer.utf8())
    found = encoder.layers([["a", "cat"], ["it"], ["the", "cat", "sat"]])
    assert [array.shape for array in found] == [(3, 2, 10), (3, 1, 10), (3, 3, 10)]
    assert encoder.layer_names == ("token layer", "layer 1", "layer 2")


def test_untrained_bilm_depends_on_its_seed_alone() -> None:
    torch.manual_seed(5)
    first = untrained(SMALL, TokenIndexer.utf8(), seed=3)
    torch.manual_seed(6)
    again = untrained(SMALL, TokenIndexer.utf8(), seed=3)
    other = untrained(SMALL, TokenIndexer.utf8(), seed=4)
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert np.array_equal(first.layers([["cat"]])[0], again.layers([["cat"]])[0])


def test_static_text_with_and_without_header_reads_alike(tmp_path: Path) -> None:
    lines = "the 1 0\ncat 0.5 -2\nParis 3 4\n"
    (tmp_path / "glove.txt").write_text(lines)
    (tmp_path / "w2v.txt").write_text("3 2\n" + lines)
    for name in ("glove.txt", "w2v.txt"):
        vectors = read_static_vectors(tmp_path / name)
        assert vectors.words == WORDS
        assert np.array_equal(vectors.vectors, ROWS)


def test_static_text_allows_a_word_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("the 1 0\n. . . 0.5 -2\n")
    vectors = read_static_vectors(tmp_path / "glove.txt")
    assert vectors.words == ["the", ". . ."]
    assert np.array_equal(vectors.vectors, ROWS[:2])


def test_word2vec_binary_reads_back(tmp_path: Path) -> None:
    data = b"3 2\n"
    for word, row in zip(WORDS, ROWS, strict=True):
        data += word.encode() + b" " + struct.pack("<2f", *row) + b"\n"
    (tmp_path / "w2v.bin").write_bytes(data)
    vectors = read_static_vectors(tmp_path / "w2v.bin")
    assert vectors.words == WORDS
    assert np.array_equal(vectors.vectors, ROWS)


def test_truncated_binary_is_refused_with_its_count(tmp_path: Path) -> None:
    data = b"3 2\nthe " + struct.pack("<2f", 1e-30, 2e-30) + b"\ncat \x01"
    (tmp_path / "w2v.bin").write_bytes(data)
    with pytest.raises(InputError, match="after 1 of the 3 vectors"):
        read_static_vectors(tmp_path / "w2v.bin")


def test_folder_of_words_and_array_reads(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    np.save(tmp_path / "vectors.npy", ROWS.astype(np.float16))
    assert np.array_equal(read_static_vectors(tmp_path).vectors, ROWS)
    np.save(tmp_path / "vectors.npy", ROWS[:2])
    with pytest.raises(InputError, match="3 words"):
        read_static_vectors(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("the 1 0\ncat 1\n", "line 2"), ("the 1 0\ncat x 1\n", "line 2"), ("", "no vectors")],
)
def test_bad_static_text_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "glove.txt").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_static_vectors(tmp_path / "glove.txt")


def test_static_encoder_finds_lower_case_and_knows_what_it_lacks() -> None:
    encoder = StaticEncoder(StaticVectors(WORDS, ROWS, "toy"))
    layers = encoder.layers([["The", "dog", "Paris"]])[0]
    assert np.array_equal(layers, [[[1, 0], [0, 0], [3, 4]]])
    assert [encoder.covers(token) for token in ("The", "dog", "paris")] == [True, False, False]


def test_static_neighbours_are_ordered_by_cosine() -> None:
    rows = np.array([[1, 0], [0, 1], [2, 1], [-1, 0]], dtype=np.float32)
    vectors = StaticVectors(["a", "b", "c", "d"], rows, "toy")
    assert [word for word, _ in vectors.neighbours("a", 2)] == ["c", "b"]
    with pytest.raises(InputError, match="no vector for 'z'"):
        vectors.neighbours("z", 2)


def cove_weights(inputs: int = 2, hidden: int = 3) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    lstm = nn.LSTM(inputs, hidden, num_layers=2, bidirectional=True, batch_first=True)
    return {f"rnn.{name}": weight.detach() for name, weight in lstm.state_dict().items()}


def test_cove_equals_the_lstm_its_weights_come_from() -> None:
    weights = cove_weights()
    whole = nn.LSTM(2, 3, num_layers=2, bidirectional=True, batch_first=True)
    whole.load_state_dict({name.partition(".")[2]: w for name, w in weights.items()})
    encoder = build_cove(weights, StaticVectors(WORDS, ROWS, "toy"), "toy.pth")
    found = encoder.layers([["cat"], ["the", "cat", "dog", "Paris"], []])
    assert [array.shape for array in found] == [(2, 1, 6), (2, 4, 6), (2, 0, 6)]
    tokens = torch.tensor(np.stack([ROWS[0], ROWS[1], 0 * ROWS[0], ROWS[2]]))[None]
    with torch.no_grad():
        expected = whole(tokens)[0][0].numpy()
    assert np.allclose(found[1][1], expected, atol=1e-6)


def test_cove_refuses_other_weights_and_other_widths(tmp_path: Path) -> None:
    weights = cove_weights()
    del weights["rnn.bias_hh_l1"]
    vectors = StaticVectors(WORDS, ROWS, "toy")
    with pytest.raises(InputError, match="lacks bias_hh_l1"):
        build_cove(weights, vectors, "toy.pth")
    with pytest.raises(InputError, match="reads vectors of 4"):
        build_cove(cove_weights(inputs=4), vectors, "toy.pth")
    with pytest.raises(InputError, match="not there"):
        open_cove(tmp_path / "none.pth", tmp_path)


def test_encoders_open_by_name(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("the 1 0\n")
    assert open_encoder(f"static:{tmp_path}/glove.txt").layer_names == ("static",)
    torch.save(cove_weights(), tmp_path / "cove.pth")
    assert open_encoder(f"cove:{tmp_path}/cove.pth,{tmp_path}/glove.txt").name == "CoVe"
    with pytest.raises(InputError, match="STATE_DICT"):
        open_encoder(f"cove:{tmp_path}/cove.pth")
    with pytest.raises(InputError, match="whole number"):
        open_encoder(f"untrained:{tmp_path}:x")


def test_chunks_keep_the_order_and_the_rest() -> None:
    assert list(chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
