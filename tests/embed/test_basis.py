"""The bases of a model's vectors: to compare them, and to learn from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny_model import TINY, tiny_pretrained

import elmokit
from elmokit.embed.elmo import Elmo
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import Basis

SENTENCES = [["The", "cat", "sat", "."], ["Yes"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with two bases."""
    model = tiny_pretrained()
    model.bases = {"similarity": random_basis(), "features": random_basis()}
    found = tmp_path_factory.mktemp("basis") / "model"
    write_native(model, found)
    return found


def random_basis() -> torch.Tensor:
    """(L, D, D); each layer has its own matrix."""
    dim = 2 * TINY.lstm.projection_dim
    return torch.eye(dim) + 0.3 * torch.randn(TINY.lstm.num_layers, dim, dim)


@pytest.mark.parametrize("basis", ["similarity", "features"])
def test_vectors_are_the_states_times_the_matrix_of_their_layer(folder: Path, basis: Any) -> None:
    matrices = load_pretrained(folder).bases[basis].numpy()
    before = elmokit.load(folder, basis="states").layers(SENTENCES)
    after = elmokit.load(folder, basis=basis).layers(SENTENCES)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new[0], old[0])  # token vectors stay
        np.testing.assert_allclose(new[1:], old[1:] @ matrices, atol=1e-6, rtol=1e-5)


def test_states_are_what_the_layers_of_each_direction_compute(folder: Path) -> None:
    """Changing the last token leaves the forward half of those before it unchanged."""
    elmo = elmokit.load(folder, basis="states")
    width = TINY.lstm.projection_dim
    old, new = elmo.layers([["The", "cat", "sat"], ["The", "cat", "ran"]])
    np.testing.assert_array_equal(new[:, :2, :width], old[:, :2, :width])
    assert (new[1:, :2, width:] != old[1:, :2, width:]).any(axis=-1).all()


def test_vectors_are_for_similarity_unless_told_otherwise(folder: Path) -> None:
    wanted = elmokit.load(folder, basis="similarity").fingerprint
    assert elmokit.load(folder).fingerprint == wanted


@pytest.mark.parametrize("basis", ["similarity", "features"])
def test_the_basis_does_not_change_what_the_next_sentence_reads(folder: Path, basis: Any) -> None:
    first, second = (elmokit.load(folder, basis=name) for name in ("states", basis))
    states = [elmo.carry(SENTENCES).state for elmo in (first, second)]
    for one, other in zip(*states, strict=True):
        torch.testing.assert_close(one.hidden, other.hidden, rtol=0, atol=0)
        torch.testing.assert_close(one.cell, other.cell, rtol=0, atol=0)


def test_elmo_in_a_model_reads_features(folder: Path) -> None:
    features = elmokit.load(folder, basis="features").layers(SENTENCES)[0]
    for elmo in (Elmo(folder), Elmo(elmokit.load(folder, basis="features"))):
        found = elmo.layers(elmo.batch(SENTENCES))[0].detach().numpy()
        np.testing.assert_allclose(found, features, atol=1e-6)
    compared = elmokit.load(folder).layers(SENTENCES)[0]
    for elmo in (Elmo(folder, basis="similarity"), Elmo(elmokit.load(folder))):
        found = elmo.layers(elmo.batch(SENTENCES))[0].detach().numpy()
        np.testing.assert_allclose(found, compared, atol=1e-6)


def test_gradients_pass_through_the_basis(folder: Path) -> None:
    elmo = Elmo(folder, trainable=True, dropout=0.0)
    elmo(elmo.batch(SENTENCES))[0].square().sum().backward()
    weight = elmo.bilm.forward_lstm.layers[0].projection
    assert isinstance(weight, torch.Tensor) and weight.grad is not None
    assert weight.grad.abs().sum() > 0


def test_bases_have_fingerprints_of_their_own(folder: Path) -> None:
    names: tuple[Basis, ...] = ("similarity", "features", "states")
    prints = [elmokit.load(folder, basis=name).fingerprint for name in names]
    assert len(set(prints)) == 3
    assert prints[2] == Embedder(tiny_pretrained()).fingerprint


def test_a_model_without_a_basis_gives_the_same_vectors(tmp_path: Path) -> None:
    write_native(tiny_pretrained(), tmp_path / "model")
    similarity = elmokit.load(tmp_path / "model")
    features = elmokit.load(tmp_path / "model", basis="features")
    assert features.fingerprint == similarity.fingerprint
    np.testing.assert_array_equal(features.layers(SENTENCES)[0], similarity.layers(SENTENCES)[0])


def test_a_saved_model_keeps_its_basis(folder: Path, tmp_path: Path) -> None:
    elmokit.load(folder, basis="features").save(tmp_path / "copy")
    again = elmokit.load(tmp_path / "copy", basis="features")
    assert again.fingerprint == elmokit.load(folder, basis="features").fingerprint
    assert elmokit.load(tmp_path / "copy").fingerprint == elmokit.load(folder).fingerprint


def test_a_model_with_bases_can_be_saved_over(folder: Path, tmp_path: Path) -> None:
    for basis in ("features", "similarity"):
        elmokit.load(folder, basis=basis).save(tmp_path / "copy")
    assert elmokit.load(tmp_path / "copy").fingerprint == elmokit.load(folder).fingerprint


def test_unusable_bases_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="similarity, features or states, got 'cosine'"):
        elmokit.load(folder, basis="cosine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has its basis"):
        Elmo(elmokit.load(folder), basis="features")
    model = tiny_pretrained()
    model.bases = {"features": torch.eye(3)}
    write_native(model, tmp_path / "wrong")
    with pytest.raises(InputError, match=r"bases.safetensors: features has shape \(3, 3\)"):
        elmokit.load(tmp_path / "wrong")
    damaged = {"similarity": torch.full_like(random_basis(), float("nan"))}
    save_file(damaged, tmp_path / "wrong" / "bases.safetensors")
    with pytest.raises(InputError, match="NaN"):
        elmokit.load(tmp_path / "wrong")


def test_features_keep_their_precision_under_autocast(folder: Path) -> None:
    elmo = Elmo(folder)
    batch = elmo.batch(SENTENCES)
    exact = elmo.layers(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = elmo.layers(batch)
    torch.testing.assert_close(found, exact, rtol=0, atol=0)
