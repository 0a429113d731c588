"""verify and info: what somebody migrating needs to trust us."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from elmokit.embed.embedder import Embedder
from elmokit.embed.fingerprint import checksum
from elmokit.embed.sample_sentences import SAMPLE_SENTENCES
from elmokit.embed.verify.verify import verify
from elmokit.embed.warm_start import settle
from elmokit.errors import InputError
from elmokit.weights.bilm_tf.write import write_bilm_tf
from elmokit.weights.info import info
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native
from elmokit.weights.pretrained import PretrainedModel

SENTENCES = [list(sentence) for sentence in SAMPLE_SENTENCES[:5]]


@pytest.fixture
def model(bilm_tf: Path) -> PretrainedModel:
    return load_pretrained(bilm_tf)


@pytest.fixture
def elmo(model: PretrainedModel) -> Embedder:
    return Embedder(model)


def write_expected(path: Path, arrays: list[np.ndarray], with_index: bool = True) -> Path:
    """As AllenNLP's ``elmo`` command lays it out."""
    with h5py.File(path, "w") as file:
        for number, array in enumerate(arrays):
            file[str(number)] = array
        if with_index:
            index = {" ".join(s): str(number) for number, s in enumerate(SENTENCES)}
            kind = h5py.string_dtype()
            dataset = file.create_dataset("sentence_to_index", (1,), dtype=kind)
            dataset[0] = json.dumps(index)
    return path


def carried(elmo: Embedder, size: int = 1) -> list[np.ndarray]:
    state, layers = elmo.bilm.zero_state(size), []
    for start in range(0, len(SENTENCES), size):
        found, state = elmo.carry(SENTENCES[start : start + size], state)
        layers += found
    return layers


def test_without_expected_vectors_it_reports_statistics_and_a_checksum(
    elmo: Embedder,
) -> None:
    report = verify(elmo)
    layers = np.concatenate(elmo.layers(SAMPLE_SENTENCES), axis=1)
    assert report.is_good and report.agreements == ()
    assert [layer.name for layer in report.layers] == ["token", "LSTM 1", "LSTM 2"]
    assert report.layers[2].std == pytest.approx(float(layers[2].std()), rel=1e-5)
    assert report.layers[1].max == pytest.approx(float(layers[1].max()))
    text = "\n".join(report.lines())
    assert report.checksum in text and "LSTM 2" in text


def test_vectors_from_a_fresh_state_are_recognised(elmo: Embedder, tmp_path: Path) -> None:
    path = write_expected(tmp_path / "out.hdf5", elmo.layers(SENTENCES))
    report = verify(elmo, path)
    assert report.is_good and report.num_sentences == 5
    assert report.agreements[0].state == "fresh state"
    assert report.agreements[0].layer == "all layers"
    assert "These vectors are ours: all layers, fresh state." in report.lines()


def test_vectors_from_a_carried_state_are_recognised(elmo: Embedder, tmp_path: Path) -> None:
    path = write_expected(tmp_path / "out.hdf5", carried(elmo))
    report = verify(elmo, path)
    assert report.is_good and report.agreements[0].state == "carried, batches of 1"
    fresh = next(one for one in report.agreements if one.state == "fresh state")
    assert not fresh.is_agreement and fresh.max_difference > 1e-3


def test_vectors_after_simple_elmos_warm_up_are_recognised(elmo: Embedder, tmp_path: Path) -> None:
    _, state = elmo.carry(SENTENCES, elmo.bilm.zero_state(5))
    layers, _ = elmo.carry(SENTENCES, state)
    longest = max(map(len, SENTENCES))
    padded = np.stack(
        [np.pad(one, ((0, 0), (0, longest - one.shape[1]), (0, 0))) for one in layers]
    )
    (tmp_path / "text.txt").write_text("\n".join(" ".join(s) for s in SENTENCES) + "\n")
    np.savez(tmp_path / "out.npz", padded.mean(axis=1))
    report = verify(elmo, tmp_path / "out.npz", tmp_path / "text.txt")
    assert report.is_good
    assert report.agreements[0].state == "carried after a warm-up, batches of 5"
    assert report.agreements[0].layer == "average of the layers"


@pytest.mark.parametrize(
    ("name", "layer"),
    [("average", "average of the layers"), ("sum", "sum of the layers"), ("top", "layer 2")],
)
def test_one_vector_a_token_is_recognised_as_a_mix(
    elmo: Embedder, tmp_path: Path, name: str, layer: str
) -> None:
    pick = {
        "average": lambda one: one.mean(axis=0),
        "sum": lambda one: one.sum(axis=0),
        "top": lambda one: one[-1],
    }[name]
    arrays = [pick(one) for one in elmo.layers(SENTENCES)]
    report = verify(elmo, write_expected(tmp_path / "out.hdf5", arrays))
    assert report.is_good and report.agreements[0].layer == layer


def test_proteins_of_seqvec_are_compared_by_name(elmo: Embedder, tmp_path: Path) -> None:
    proteins = {"sp|P1|A": "MKVLA", "sp|P2|B": "GGSTPW"}
    (tmp_path / "p.fasta").write_text(">sp|P2|B\nGGS\nTPW\n>sp|P1|A\nMKVLA\n")
    layers = elmo.layers([list(sequence) for sequence in proteins.values()])
    summed = dict(zip(proteins, (one.sum(axis=0) for one in layers), strict=True))
    np.savez(tmp_path / "out.npz", **summed)
    report = verify(elmo, tmp_path / "out.npz", tmp_path / "p.fasta")
    assert report.is_good and report.agreements[0].layer == "sum of the layers"


def test_an_npz_with_its_sentences_needs_no_text(elmo: Embedder, tmp_path: Path) -> None:
    """As ``elmokit embed`` writes it."""
    arrays = {str(n): one.mean(axis=0) for n, one in enumerate(elmo.layers(SENTENCES))}
    index = json.dumps({" ".join(sentence): str(n) for n, sentence in enumerate(SENTENCES)})
    np.savez(tmp_path / "out.npz", **arrays, sentence_to_index=np.array([index]))
    report = verify(elmo, tmp_path / "out.npz")
    assert report.is_good and report.num_sentences == 5
    assert verify(elmo, tmp_path / "out.npz", max_sentences=2).num_sentences == 2


def test_other_vectors_are_not_ours(elmo: Embedder, tmp_path: Path) -> None:
    arrays = [one + 0.01 for one in elmo.layers(SENTENCES)]
    report = verify(elmo, write_expected(tmp_path / "out.hdf5", arrays))
    assert not report.is_good
    assert "These vectors are not ours" in report.lines()[-1]
    assert len(report.agreements) == 3  # fresh, carried, warmed: all were tried


def test_a_settled_state_is_tried_too(elmo: Embedder, tmp_path: Path) -> None:
    elmo.pretrained.settled = settle(elmo)
    arrays = elmo.layers(SENTENCES, start="settled")
    report = verify(elmo, write_expected(tmp_path / "out.hdf5", arrays))
    assert report.is_good and report.agreements[0].state == "settled state"


def test_the_published_vectors_are_recognised_as_carried(published: Path, tmp_path: Path) -> None:
    stream = json.loads((published / "sentences.json").read_text())[1]
    (tmp_path / "text.txt").write_text("\n".join(stream) + "\n", encoding="utf-8")
    report = verify(
        Embedder(load_pretrained(published / "lm_weights.hdf5")),
        published / "lm_embeddings_1.hdf5",
        tmp_path / "text.txt",
    )
    assert report.is_good and report.agreements[0].state == "carried, batches of 1"
    assert report.agreements[0].max_difference <= 2e-6


def test_bad_expected_files_are_named(elmo: Embedder, tmp_path: Path) -> None:
    layers = elmo.layers(SENTENCES)
    for path, message in (
        (tmp_path / "absent.hdf5", "no such file of expected vectors"),
        (write_expected(tmp_path / "a.hdf5", layers, with_index=False), "give the text that was"),
        (write_expected(tmp_path / "b.hdf5", [one[:, 1:] for one in layers]), "tokenised as they"),
        (write_expected(tmp_path / "c.hdf5", [one[:2] for one in layers]), "vectors of this model"),
        (write_expected(tmp_path / "d.hdf5", [one[0, 0] for one in layers]), "expected .layers"),
    ):
        with pytest.raises(InputError, match=message):
            verify(elmo, path)
    (tmp_path / "e.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="not a file of vectors"):
        verify(elmo, tmp_path / "e.npz")
    np.savez(tmp_path / "f.npz", **{"0": layers[0]}, sentence_to_index=np.array(["not JSON"]))
    with pytest.raises(InputError, match="sentence_to_index is not the JSON it should be"):
        verify(elmo, tmp_path / "f.npz")
    (tmp_path / "latin1.txt").write_bytes("grün\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin1\.txt: line 1 is not UTF-8 text"):
        verify(elmo, tmp_path / "f.npz", tmp_path / "latin1.txt")


def test_the_checksum_names_the_weights_and_not_their_format(
    model: PretrainedModel, tmp_path: Path
) -> None:
    write_native(model, tmp_path / "native")
    write_bilm_tf(model, tmp_path / "bilm-tf-2")
    assert checksum(load_pretrained(tmp_path / "native")) == checksum(model)
    assert checksum(load_pretrained(tmp_path / "bilm-tf-2")) == checksum(model)
    before = checksum(model)
    with torch.no_grad():
        model.bilm.backward_lstm.layers[1].bias[3] += 1e-6
    assert checksum(model) != before


@pytest.mark.parametrize("kind", ["bilm_tf", "word_model", "manylangs"])
def test_info_counts_every_parameter(kind: str, request: pytest.FixtureRequest) -> None:
    model = load_pretrained(request.getfixturevalue(kind))
    model.card["license"] = "CC-BY-4.0"
    facts = info(model)
    assert facts.num_parameters == sum(weight.numel() for weight in model.bilm.parameters())
    assert facts.num_layers == 3 and facts.vector_dim == 10
    text = "\n".join(facts.lines())
    assert "CC-BY-4.0" in text and f"{facts.num_parameters:,}" in text and "3 x 10" in text


def test_info_says_what_comes_with_the_model(model: PretrainedModel) -> None:
    assert info(model).num_output_words == 7
    assert info(model).licence is None
    assert "not stated in the files" in "\n".join(info(model).lines())
