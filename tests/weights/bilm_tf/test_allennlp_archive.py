"""AllenNLP's model.tar.gz: the biLM inside is the one that AllenNLP was given."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.load import load_pretrained

SCOPE = "text_field_embedder.token_embedder_elmo._elmo._elmo_lstm."


@pytest.fixture
def unpacked(from_allennlp: Path, tmp_path: Path) -> Path:
    with tarfile.open(from_allennlp) as archive:
        archive.extractall(tmp_path / "model", filter="data")
    return tmp_path / "model"


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "weights.th", weights_only=True)


@pytest.mark.parametrize("name", ["model.tar.gz", "folder", "weights.th", "config.json"])
def test_vectors_are_those_of_the_original(
    from_allennlp: Path, unpacked: Path, from_tensorflow: Path, name: str
) -> None:
    given = {"model.tar.gz": from_allennlp, "folder": unpacked}.get(name, unpacked / name)
    model = load_pretrained(given)
    assert model.format == "allennlp"
    assert model.config == load_pretrained(from_tensorflow / "dumped").config
    sentences = json.loads((from_tensorflow / "sentences.json").read_text(encoding="utf-8"))
    with np.load(from_tensorflow / "vectors.npz") as expected:
        for number, layers in enumerate(Embedder(model).layers(sentences)):
            np.testing.assert_allclose(layers, expected[str(number)], atol=2e-5, rtol=0)


def test_weights_are_turned_back_exactly(from_allennlp: Path, from_tensorflow: Path) -> None:
    found = load_pretrained(from_allennlp).bilm.state_dict()
    for name, tensor in load_pretrained(from_tensorflow / "dumped").bilm.state_dict().items():
        if name.endswith("bias") and "lstm" in name:  # AllenNLP added 1, and rounded
            assert torch.equal(found[name] + 1, tensor + 1)
        else:
            assert torch.equal(found[name], tensor), name


def test_the_card_holds_the_learned_mix_and_what_was_assumed(from_allennlp: Path) -> None:
    card = load_pretrained(from_allennlp).card
    assert card["scalar_mix_0.gamma"] == "1.25"
    assert [card[f"scalar_mix_0.scalar_parameters.{k}"] for k in range(3)] == ["0", "0.5", "1"]
    assert "clips at 3" in card["assumed"]


@pytest.mark.parametrize("place", ["fta", "named", "options.json", "given"])
def test_options_in_the_archive_come_first(unpacked: Path, tmp_path: Path, place: str) -> None:
    options = json.loads(Path(__file__).parents[2].joinpath(
        "fixtures", "tensorflow", "dumped", "options.json"
    ).read_text())  # fmt: skip
    options["lstm"]["proj_clip"] = 7
    target = {
        "fta": unpacked / "fta" / "model.text_field_embedder.token_embedders.elmo.options_file",
        "named": unpacked / "tiny_options.json",  # the last part of the address in config.json
        "options.json": unpacked / "options.json",
        "given": tmp_path / "elsewhere.json",
    }[place]
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(options))
    model = load_pretrained(unpacked, options=target if place == "given" else None)
    assert model.config.lstm.projection_clip == 7
    assert "assumed" not in model.card


def test_the_files_of_old_versions_of_torch_are_read(unpacked: Path) -> None:
    weights = read_weights(unpacked)
    torch.save(weights, unpacked / "weights.th", _use_new_zipfile_serialization=False)
    assert load_pretrained(unpacked).format == "allennlp"


def test_it_can_be_written_as_hdf5(from_allennlp: Path, tmp_path: Path) -> None:
    model = load_pretrained(from_allennlp)
    write_bilm_tf(model, tmp_path / "tf")
    again = load_pretrained(tmp_path / "tf")
    for name, tensor in model.bilm.state_dict().items():
        assert torch.equal(again.bilm.state_dict()[name], tensor)


def test_the_same_elmo_twice_is_one(unpacked: Path) -> None:
    weights = read_weights(unpacked)
    other = {f"other.{name}": tensor for name, tensor in weights.items()}
    torch.save(weights | other, unpacked / "weights.th")
    assert load_pretrained(unpacked).format == "allennlp"
    name = f"other.{SCOPE}_token_embedder._projection.bias"
    other[name] = other[name] + 1
    torch.save(weights | other, unpacked / "weights.th")
    with pytest.raises(InputError, match="holds several different biLMs"):
        load_pretrained(unpacked)


@pytest.mark.parametrize(
    ("name", "tensor", "reason"),
    [
        ("_token_embedder.char_conv_1.bias", None, "lacks _token_embedder.char_conv_1.bias"),
        ("_token_embedder.char_conv_1.weight", torch.zeros(3), "of 3 dimensions"),
        ("_elmo_lstm.forward_layer_0.state_linearity.bias", torch.zeros(9), "not four gates"),
        ("_elmo_lstm.backward_layer_1.state_projection.weight", torch.zeros(9, 9), "has shape"),
        ("_elmo_lstm.backward_layer_1.input_linearity.weight", None, "lacks RNN_1"),
        ("_token_embedder._char_embedding_weights", torch.zeros(5, 4), "char_embed must be"),
        ("_token_embedder._char_embedding_weights", None, "no ELMo inside this AllenNLP model"),
        ("_token_embedder._projection.bias", torch.full((5,), torch.nan), "NaN or infinite"),
    ],
)
def test_weights_that_are_not_an_elmo(
    unpacked: Path, name: str, tensor: torch.Tensor | None, reason: str
) -> None:
    weights = read_weights(unpacked)
    if tensor is None:
        del weights[f"{SCOPE}{name}"]
    else:
        weights[f"{SCOPE}{name}"] = tensor
    torch.save(weights, unpacked / "weights.th")
    with pytest.raises(InputError, match=reason):
        load_pretrained(unpacked)


@pytest.mark.parametrize(
    "tensor", [torch.ones(2, 2).to_sparse(), torch.empty(2, device="meta"), "text"]
)
def test_tensors_without_numbers_are_refused(unpacked: Path, tensor: object) -> None:
    torch.save(read_weights(unpacked) | {"x": tensor}, unpacked / "weights.th")
    with pytest.raises(InputError, match="not a table of tensors"):
        load_pretrained(unpacked)
