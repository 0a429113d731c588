import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.compat import seqvec
from elmokit.compat.elmoformanylangs import Embedder as ManyLangsEmbedder
from elmokit.compat.simple_elmo import ElmoModel
from elmokit.embed.embedder import Embedder
from elmokit.embed.files.command import run_convert
from elmokit.errors import InputError

SENTENCES = [["the", "cat", "sat", "."], ["cat"], []]


@pytest.fixture(scope="module")
def model(tf_folder: Path) -> ElmoModel:
    model = ElmoModel()
    assert model.load(str(tf_folder), full=True) == "The model is now loaded."
    return model


def test_simple_elmo_pads_with_zeros(model: ElmoModel, ours: Embedder) -> None:
    vectors = model.get_elmo_vectors(SENTENCES, warmup=False)
    assert vectors.shape == (3, 4, 8)
    np.testing.assert_allclose(vectors[0], ours.embed(SENTENCES)[0], atol=1e-5)
    assert not vectors[1, 1:].any() and not vectors[2].any()
    layers = model.get_elmo_vectors(SENTENCES, warmup=False, layers="all")
    assert layers.shape == (3, 3, 4, 8)
    top = model.get_elmo_vectors(SENTENCES, warmup=False, layers="top")
    np.testing.assert_allclose(layers[:, -1], top, atol=1e-5)


def test_warming_up_starts_from_a_stored_settled_state(tf_folder: Path, tmp_path: Path) -> None:
    run_convert(tf_folder, tmp_path / "settled", to=None, float16=False, settle_on="english")
    settled = ElmoModel()
    settled.load(tmp_path / "settled")
    warm = settled.get_elmo_vectors(SENTENCES)
    cold = settled.get_elmo_vectors(SENTENCES, warmup=False)
    assert np.abs(warm - cold).max() > 1e-4


def test_without_a_settled_state_warming_up_changes_nothing(model: ElmoModel) -> None:
    np.testing.assert_array_equal(
        model.get_elmo_vectors(SENTENCES), model.get_elmo_vectors(SENTENCES, warmup=False)
    )


def test_averages_never_count_padding(model: ElmoModel, ours: Embedder) -> None:
    averages = model.get_elmo_vector_average(SENTENCES, warmup=False)
    expected = ours.embed(SENTENCES)[1][0]
    np.testing.assert_allclose(averages[1], expected / np.linalg.norm(expected), atol=1e-5)
    assert not averages[2].any()
    layers = model.get_elmo_vector_average(SENTENCES, warmup=False, layers="all")
    means = ours.layers(SENTENCES)[0].mean(axis=1)
    np.testing.assert_allclose(layers[0], means / np.linalg.norm(means), atol=1e-5)


def test_substitutes_come_from_both_sides(model: ElmoModel) -> None:
    first, second, third = model.get_elmo_substitutes(SENTENCES, topn=2)
    assert [one["word"] for one in first] == SENTENCES[0]
    assert len(second) == 1 and third == []
    forward = first[1]["forward"]
    assert len(forward["candidates"]) == len(forward["candidate_words"]) == 2
    assert forward["logp"] == sorted(forward["logp"], reverse=True)
    assert not {"<S>", "</S>"} & set(forward["candidate_words"])
    # The forward guess does not see the word or what follows, the backward one what precedes.
    other = model.get_elmo_substitutes([["the", "dog", "ran", "."]], topn=2)[0]
    assert other[1]["forward"] == first[1]["forward"]
    assert other[2]["backward"] == first[2]["backward"]


def test_substitutes_need_a_softmax(tf_folder: Path) -> None:
    model = ElmoModel()
    model.load(tf_folder)
    with pytest.raises(InputError, match="full=True"):
        model.get_elmo_substitutes(SENTENCES)


def test_a_model_must_be_loaded_first() -> None:
    with pytest.raises(InputError, match="call load"):
        ElmoModel().get_elmo_vectors(SENTENCES)


def test_unknown_layers_are_refused(model: ElmoModel) -> None:
    with pytest.raises(InputError, match="average, top or all"):
        model.get_elmo_vectors(SENTENCES, layers="last")  # type: ignore[arg-type]


def test_many_languages_number_their_layers(native_folder: Path, ours: Embedder) -> None:
    embedder = ManyLangsEmbedder(str(native_folder))
    layers = ours.layers(SENTENCES)
    for number in (0, 1, 2):
        vectors = embedder.sents2elmo(SENTENCES, output_layer=number)
        np.testing.assert_allclose(vectors[0], layers[0][number], atol=1e-5)
    average = embedder.sents2elmo(SENTENCES)
    np.testing.assert_allclose(average[1], layers[1].mean(axis=0), atol=1e-5)
    assert [array.shape for array in embedder.sents2elmo(SENTENCES, -2)] == [
        (3, 4, 8), (3, 1, 8), (3, 0, 8),
    ]  # fmt: skip


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    path = tmp_path / "proteins.fasta"
    path.write_text(">sp|P1|X\nMKV\n>sp|P2/a|Y\nA\n")
    return path


def run_seqvec(fasta: Path, out: Path, model: Path, *more: str) -> None:
    seqvec.main(["-i", str(fasta), "-o", str(out), "--model", str(model), "--cpu", *more])


def test_seqvec_sums_the_layers_of_each_residue(
    fasta: Path, tf_folder: Path, ours: Embedder
) -> None:
    out = fasta.with_name("out.h5")
    run_seqvec(fasta, out, tf_folder)
    with h5py.File(out) as file:
        expected = ours.embed([["M", "K", "V"]], "sum")[0]
        np.testing.assert_allclose(file["P1"][...], expected, atol=1e-5)
        assert sorted(file) == ["P1", "P2_a"]


def test_seqvec_gives_one_vector_a_protein(fasta: Path, tf_folder: Path, ours: Embedder) -> None:
    run_seqvec(fasta, fasta.with_name("out.npy"), tf_folder, "--protein", "--layer", "all")
    matrix = np.load(fasta.with_name("out.npy"))
    assert matrix.shape == (2, 24)
    expected = ours.pool([["M", "K", "V"]], "mean", "concat")[0]
    np.testing.assert_allclose(matrix[0], expected, atol=1e-5)
    assert json.loads(fasta.with_name("out.json").read_text()) == ["P1", "P2/a"]


def test_seqvec_reads_a_folder(fasta: Path, tf_folder: Path) -> None:
    pairs = dict(seqvec.get_embeddings(fasta.parent, tf_folder, cpu=True, layer="LSTM1"))
    assert {key: array.shape for key, array in pairs.items()} == {"P1": (3, 8), "P2/a": (1, 8)}


def test_seqvec_refuses_a_matrix_of_residues(
    fasta: Path, tf_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_seqvec(fasta, fasta.with_name("out.npy"), tf_folder)
    assert "use .h5 or .npz, or --protein" in capsys.readouterr().err
