"""Anything that gives layers can stand in a table."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import TINY, tiny_pretrained
from torch import nn

from elmokit.analysis.encoders.bilm import CarriedEncoder, untrained
from elmokit.analysis.encoders.cove import build_cove, open_cove
from elmokit.analysis.encoders.encoder import (
    DocumentEncoder,
    chunks,
    document_layers,
    evenly,
    unit,
)
from elmokit.analysis.encoders.opening import Models, open_encoder
from elmokit.analysis.encoders.sentence_mean import with_sentence_mean
from elmokit.analysis.encoders.static import StaticEncoder
from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.errors import InputError
from elmokit.text.static_vectors import StaticVectors
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

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


def test_a_few_of_many_are_spread_evenly() -> None:
    assert evenly("abcdefg", 3) == ["a", "d", "g"]
    assert evenly("abc", 3) == evenly("abc", 9) == ["a", "b", "c"]


def test_a_carried_bilm_goes_on_from_sentence_to_sentence_within_a_stretch() -> None:
    fresh = untrained(SMALL, TokenIndexer.utf8())
    carried = CarriedEncoder(fresh)
    words = ["the", "cat", "sat", "on", "a", "mat"]
    sentences = [words[: 1 + number % 5] for number in range(2 * CarriedEncoder.STRETCH + 3)]
    found = carried.layers(sentences)
    state = None
    for place, sentence in enumerate(sentences):
        if place % CarriedEncoder.STRETCH == 0:
            state = None
        (wanted,), state = fresh.embedder.carry([sentence], state)
        assert np.allclose(found[place], wanted, atol=1e-5), place
    assert np.allclose(found[0], fresh.layers(sentences[:1])[0], atol=1e-5)
    assert not np.allclose(found[1][1:], fresh.layers(sentences[1:2])[0][1:], atol=1e-5)
    assert carried.layers([]) == []
    documents = [sentences[:2], [], sentences[:3]]
    by_document = list(document_layers(carried, documents))
    assert [len(each) for each in by_document] == [2, 0, 3]
    assert np.allclose(by_document[0][1], found[1], atol=1e-5)
    assert np.allclose(by_document[2][2], found[2], atol=1e-5)
    flat = [vectors for each in document_layers(fresh, documents) for vectors in each]
    assert np.allclose(flat[1], fresh.layers(sentences[1:2])[0], atol=1e-5)
    assert carried.fingerprint != fresh.fingerprint and carried.name != fresh.name


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
    assert np.allclose(found[1][1], expected, atol=1e-5)


def test_cove_refuses_other_weights_and_other_widths(tmp_path: Path) -> None:
    weights = cove_weights()
    del weights["rnn.bias_hh_l1"]
    vectors = StaticVectors(WORDS, ROWS, "toy")
    with pytest.raises(InputError, match="has no bias_hh_l1"):
        build_cove(weights, vectors, "toy.pth")
    with pytest.raises(InputError, match="expects vectors of 4"):
        build_cove(cove_weights(inputs=4), vectors, "toy.pth")
    with pytest.raises(InputError, match="no such file"):
        open_cove(tmp_path / "none.pth", tmp_path)
    (tmp_path / "broken.pth").write_bytes(b"no state dict")
    with pytest.raises(InputError, match="damaged or holds more than tensors"):
        open_cove(tmp_path / "broken.pth", tmp_path)
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(InputError, match="not a table of tensors"):
        open_cove(tmp_path / "list.pth", tmp_path)


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


def test_sentence_mean_replaces_vectors_or_is_added_to_them() -> None:
    base = untrained(SMALL, TokenIndexer.utf8())
    sentences = [["the", "cat", "sat"], [], ["it"]]
    whole = base.layers(sentences)[0]
    mean = with_sentence_mean(base, is_added=False)
    found = mean.layers(sentences)
    assert [array.shape for array in found] == [(3, 3, 10), (3, 0, 10), (3, 1, 10)]
    for token in range(3):
        assert np.allclose(found[0][:, token], whole.mean(axis=1), atol=1e-6)
    plus = with_sentence_mean(base, is_added=True)
    vector, sentence = whole[2, 1], whole[2].mean(axis=0)
    expected = vector / np.linalg.norm(vector) + sentence / np.linalg.norm(sentence)
    assert np.allclose(plus.layers(sentences)[0][2, 1], expected, atol=1e-6)
    assert plus.layer_names == mean.layer_names == base.layer_names
    assert len({each.fingerprint for each in (base, mean, plus)}) == 3
    assert len({each.name for each in (base, mean, plus)}) == 3


def test_sentence_mean_of_a_carried_bilm_still_reads_documents() -> None:
    carried = CarriedEncoder(untrained(SMALL, TokenIndexer.utf8()))
    plus = with_sentence_mean(carried, is_added=True)
    assert isinstance(plus, DocumentEncoder)
    assert not isinstance(
        with_sentence_mean(untrained(SMALL, TokenIndexer.utf8()), True), DocumentEncoder
    )
    document = [["the", "cat"], ["it", "sat"]]
    ((first, second),) = document_layers(plus, [document])
    ((_, read_on),) = document_layers(carried, [document])
    assert first.shape == second.shape == (3, 2, 10)
    expected = unit(read_on) + unit(read_on.mean(axis=1, keepdims=True))
    assert np.allclose(second, expected, atol=1e-6)


def test_each_model_is_read_once_however_it_is_named(
    tiny_elmo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def reading(path: Path, **options: object) -> PretrainedModel:
        opened.append(path.name)
        return load_pretrained(tiny_elmo)

    monkeypatch.setattr("elmokit.analysis.encoders.opening.load_pretrained", reading)
    models = Models()
    x = str(tiny_elmo)
    kinds = ("", "carried:", "untrained:", "mean:", "plus-mean:carried:", "", "untrained:")
    names = [f"{kind}{x}" for kind in kinds]
    first, carried, *_ = models.encoders(names)
    assert opened == [tiny_elmo.name]
    assert models.encoder(x) is first
    assert carried.fingerprint == f"{first.fingerprint}-carried"
    for shipped in ("", "en-small", "carried:en-small", "plus-mean:"):
        models.encoder(shipped)
    assert opened == [tiny_elmo.name, "en-small"]
    with pytest.raises(InputError, match="the model's name is empty"):
        models.embedder("")


def test_states_are_those_without_the_basis_for_similarity(tmp_path: Path) -> None:
    model = tiny_pretrained()
    dim = 2 * TINY.lstm.projection_dim
    model.bases = {"similarity": 2 * torch.eye(dim).repeat(TINY.lstm.num_layers, 1, 1)}
    write_native(model, tmp_path / "model")
    models, sentences = Models(), [["the", "cat"]]
    names = (f"{kind}{tmp_path / 'model'}" for kind in ("", "states:", "carried:states:"))
    similarity, states, carried = models.encoders(list(names))
    assert [states.name, carried.name] == ["model, states", "model, states, carried"]
    (longer,), (plain,) = similarity.layers(sentences), states.layers(sentences)
    np.testing.assert_allclose(longer[1:], 2 * plain[1:], rtol=1e-5)
    np.testing.assert_allclose(carried.layers(sentences)[0], plain, atol=1e-5)
    assert states.fingerprint != similarity.fingerprint
    with pytest.raises(InputError, match="only a biLM carries a state"):
        models.encoder(f"carried:mean:{tmp_path / 'model'}")
