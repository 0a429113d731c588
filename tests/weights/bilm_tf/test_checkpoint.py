"""TensorFlow checkpoints are models: the same weights and vectors as the HDF5 file of them."""

import json
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tensor_bundles import Bundle, Entry, bundle_of
from typer.testing import CliRunner

from elmokit.cli import app, embedding, pretrain  # noqa: F401  adds the commands
from elmokit.embed.embedder import Embedder
from elmokit.embed.fingerprint import checksum
from elmokit.errors import InputError
from elmokit.weights.load import load_pretrained

PLACES = [
    "trained",
    "trained/checkpoint",
    "trained/model.ckpt-7",
    "trained/model.ckpt-7.index",
    "trained/model.ckpt-7.data-00000-of-00001",
    "sharded",
    "hub",
    "hub/tfhub_module.pb",
    "hub/variables",
    "hub/variables/variables",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_checkpoint_is_the_model_that_was_dumped(from_tensorflow: Path, place: str) -> None:
    expected = load_pretrained(from_tensorflow / "dumped")
    found = load_pretrained(from_tensorflow / place)
    assert checksum(found) == checksum(expected)
    assert found.format == ("tf-hub" if place.startswith("hub") else "tf-checkpoint")
    assert load_pretrained(found.source).source == found.source  # the name can be used again
    if found.format == "tf-checkpoint":
        assert found.config == expected.config
        assert found.output_words is not None and expected.output_words is not None
        assert found.output_words.vocabulary.words == expected.output_words.vocabulary.words
        softmax = expected.output_words.softmax.state_dict()
        for name, tensor in found.output_words.softmax.state_dict().items():
            assert torch.equal(tensor, softmax[name])


@pytest.mark.parametrize("place", ["trained", "hub"])
def test_vectors_are_those_that_tensorflow_computed(from_tensorflow: Path, place: str) -> None:
    embedder = Embedder(load_pretrained(from_tensorflow / place, need_softmax=False))
    sentences = json.loads((from_tensorflow / "sentences.json").read_text(encoding="utf-8"))
    with np.load(from_tensorflow / "vectors.npz") as expected:
        for number, layers in enumerate(embedder.layers(sentences)):
            np.testing.assert_allclose(layers, expected[str(number)], atol=2e-5, rtol=0)


def test_the_softmax_stays_on_disk_where_it_is_not_needed(
    from_tensorflow: Path, tmp_path: Path
) -> None:
    assert load_pretrained(from_tensorflow / "trained", need_softmax=False).output_words is None
    shutil.copytree(from_tensorflow / "trained", tmp_path / "run")
    (tmp_path / "run" / "vocab.txt").unlink()
    assert load_pretrained(tmp_path / "run").output_words is None


def test_a_hub_module_says_what_was_assumed(from_tensorflow: Path, tmp_path: Path) -> None:
    card = load_pretrained(from_tensorflow / "hub").card
    assert card["assumed"] == "relu, clips at 3, skip connections, 50 characters"
    assert card["aggregation/weights"] == "0 0.5 -0.5"
    assert card["aggregation/scaling"] == "1.5"
    shutil.copytree(from_tensorflow / "hub", tmp_path / "hub")
    options = json.loads((from_tensorflow / "trained" / "options.json").read_text())
    options["lstm"]["cell_clip"] = 5
    (tmp_path / "hub" / "options.json").write_text(json.dumps(options))
    model = load_pretrained(tmp_path / "hub")
    assert model.config.lstm.cell_clip == 5
    assert "assumed" not in model.card


def test_the_archive_of_a_hub_module(from_tensorflow: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "elmo_3.tar.gz", "w:gz") as archive:
        archive.add(from_tensorflow / "hub", "./")
    model = load_pretrained(tmp_path / "elmo_3.tar.gz")
    assert checksum(model) == checksum(load_pretrained(from_tensorflow / "dumped"))
    assert model.source.endswith("elmo_3.tar.gz")


def test_a_training_on_word_ids_that_shares_its_embedding(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    words, width, dim = ["<S>", "</S>", "<UNK>", "the"], 3, 5
    arrays = {"lm/embedding": random.normal(size=(4, width)), "lm/softmax/b": np.zeros(4)}
    for side in range(2):
        cell = f"lm/RNN_{side}/rnn/lstm_cell"  # one layer has no multi_rnn_cell
        arrays[f"{cell}/weights"] = random.normal(size=(2 * width, 4 * dim))
        arrays[f"{cell}/biases"] = random.normal(size=4 * dim)
        arrays[f"{cell}/projection/weights"] = random.normal(size=(dim, width))
    bundle_of(arrays).write(tmp_path / "model.ckpt-1")
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    options = {"lstm": {"dim": dim, "projection_dim": width}, "share_embedding_softmax": True}
    (tmp_path / "options.json").write_text(json.dumps(options))
    model = load_pretrained(tmp_path)
    assert model.output_words is not None
    softmax = model.output_words.softmax.weight.detach().numpy()
    np.testing.assert_array_equal(softmax, arrays["lm/embedding"].astype(np.float32))
    assert np.asarray(Embedder(model).embed([["the", "new"]])[0]).shape == (2, 2 * width)


def test_variables_that_the_options_do_not_mention(tmp_path: Path, from_tensorflow: Path) -> None:
    """A peephole would change every vector: it must not be lost in silence."""
    shutil.copytree(from_tensorflow / "trained", tmp_path / "run")
    options = json.loads((tmp_path / "run" / "options.json").read_text())
    options["lstm"]["n_layers"] = 1
    (tmp_path / "run" / "options.json").write_text(json.dumps(options))
    with pytest.raises(InputError, match=r"which options\.json does not mention"):
        load_pretrained(tmp_path / "run")
    cell = "lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell"
    bundle_of({f"{cell}/kernel": np.ones((2, 4)), f"{cell}/w_f_diag": np.ones(1)}).write(
        tmp_path / "run" / "model.ckpt-7"
    )
    with pytest.raises(InputError, match=r"holds RNN_0/.*w_f_diag, which options"):
        load_pretrained(tmp_path / "run")


def test_which_checkpoint_of_a_folder(from_tensorflow: Path, tmp_path: Path) -> None:
    run = shutil.copytree(from_tensorflow / "trained", tmp_path / "run")
    for path in list(run.glob("model.ckpt-7.*")):
        shutil.copy(path, run / path.name.replace("-7.", "-12."))
    assert load_pretrained(run).source == str(run)  # `checkpoint` says which
    (run / "checkpoint").unlink()
    with pytest.raises(InputError, match=r"several checkpoints \(model.ckpt-12, model.ckpt-7\)"):
        load_pretrained(run)
    assert load_pretrained(run / "model.ckpt-12").source == str(run / "model.ckpt-12")
    for path in run.glob("model.ckpt-*"):
        path.unlink()
    (run / "checkpoint").write_text('model_checkpoint_path: "/home/me/../model.ckpt-9"\n')
    with pytest.raises(InputError, match=r"names model\.ckpt-9, but there is no"):
        load_pretrained(run)


def test_options_from_elsewhere(from_tensorflow: Path, tmp_path: Path) -> None:
    run = shutil.copytree(from_tensorflow / "trained", tmp_path / "run")
    options = (run / "options.json").rename(tmp_path / "options.json")
    with pytest.raises(InputError, match=r"model\.ckpt-7\.index: no options\.json beside it"):
        load_pretrained(run)
    for pair in ((options, run / "model.ckpt-7"), (run, options)):
        assert load_pretrained(pair).format == "tf-checkpoint"
    assert load_pretrained(run / "model.ckpt-7", options=options).format == "tf-checkpoint"


def test_a_checkpoint_without_a_bilm(tmp_path: Path) -> None:
    Bundle({"dense/kernel": Entry((1,), bytes(4))}).write(tmp_path / "model.ckpt-1")
    with pytest.raises(InputError, match=r"holds no biLM \(RNN_0\) \(dense/kernel\)"):
        load_pretrained(tmp_path)


def test_a_hub_module_without_its_variables(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(b"\x08\x01")
    (tmp_path / "variables").mkdir()
    for path in (tmp_path, tmp_path / "saved_model.pb"):
        with pytest.raises(InputError, match="TF-Hub module without variables"):
            load_pretrained(path)


def test_commands_take_a_checkpoint(from_tensorflow: Path, tmp_path: Path) -> None:
    prefix = str(from_tensorflow / "trained" / "model.ckpt-7")
    run = CliRunner().invoke
    shown = run(app, ["info", prefix])
    assert shown.exit_code == 0 and "tf-checkpoint" in shown.output, shown.output
    converted = run(app, ["convert", prefix, str(tmp_path / "native")])
    assert converted.exit_code == 0, converted.output
    same = load_pretrained(tmp_path / "native")
    assert checksum(same) == checksum(load_pretrained(prefix))
    expected = run(app, ["predict", "the ___ sat", "-m", str(from_tensorflow / "dumped")])
    assert run(app, ["predict", "the ___ sat", "-m", prefix]).output == expected.output
    assert expected.exit_code == 0, expected.output
    verified = run(app, ["verify", prefix])
    assert verified.exit_code == 0, verified.output
    (tmp_path / "text.txt").write_text("the cat sat\n")
    command = ["embed", str(tmp_path / "text.txt"), "-o", str(tmp_path / "out.npz")]
    embedded = run(app, [*command, "--model", prefix])
    assert embedded.exit_code == 0, embedded.output
