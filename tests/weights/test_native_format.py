"""The native folder holds all of a model, and gives it back to the bit."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from random_specs import assert_same_weights
from running import run_fresh

from elmokit.embed.embedder import Embedder
from elmokit.embed.warm_start import settle
from elmokit.errors import InputError
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import read_native, write_native

SENTENCES = [["the", "cat", "sat"], ["naïve", "zebra"]]


@pytest.mark.parametrize("kind", ["bilm_tf", "word_model", "manylangs"])
def test_any_model_survives_the_round_trip(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model = load_pretrained(request.getfixturevalue(kind))
    model.settled = settle(Embedder(model))
    model.card = {"licence": "Apache-2.0", "language": "日本語"}
    write_native(model, tmp_path / "out")
    again = load_pretrained(tmp_path / "out")
    assert_same_weights(model, again)
    assert again.format == "native" and again.card == model.card
    assert again.settled is not None
    for one, other in zip(model.settled, again.settled, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    for one, other in zip(
        run_fresh(model.bilm, model.indexer, SENTENCES),
        run_fresh(again.bilm, again.indexer, SENTENCES),
        strict=True,
    ):
        assert np.array_equal(one, other)


def test_the_softmax_and_its_words_survive_the_round_trip(bilm_tf: Path, tmp_path: Path) -> None:
    model = load_pretrained(bilm_tf)
    write_native(model, tmp_path / "out")
    again = load_pretrained(tmp_path / "out")
    assert model.output_words is not None and again.output_words is not None
    assert again.output_words.vocabulary.words == model.output_words.vocabulary.words
    softmax = again.output_words.softmax
    assert torch.equal(softmax.weight, model.output_words.softmax.weight)
    assert torch.equal(softmax.bias, model.output_words.softmax.bias)
    assert load_pretrained(tmp_path / "out", need_softmax=False).output_words is None


def test_float16_halves_the_file_and_computes_in_float32(bilm_tf: Path, tmp_path: Path) -> None:
    model = load_pretrained(bilm_tf)
    write_native(model, tmp_path / "full")
    write_native(model, tmp_path / "half", dtype="float16")
    half = load_pretrained(tmp_path / "half")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.7 * sizes[0]
    for name, tensor in half.bilm.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, model.bilm.state_dict()[name].half().float())


def test_a_weight_beyond_float16_is_refused(bilm_tf: Path, tmp_path: Path) -> None:
    model = load_pretrained(bilm_tf)
    with torch.no_grad():
        model.bilm.forward_lstm.layers[0].bias[0] = 1e5
    with pytest.raises(InputError, match=r"bias does not fit into float16; store it in float32"):
        write_native(model, tmp_path / "out", dtype="float16")
    assert not (tmp_path / "out").exists()


def test_a_model_is_replaced_but_nothing_else_is(bilm_tf: Path, tmp_path: Path) -> None:
    model = load_pretrained(bilm_tf)
    out = tmp_path / "out"
    write_native(model, out)
    write_native(model, out)
    (out / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"holds thesis\.tex"):
        write_native(model, out)
    assert (out / "thesis.tex").read_text() == "precious"
    with pytest.raises(InputError, match="this is a file"):
        write_native(model, out / "thesis.tex")


def test_a_full_disk_is_one_sentence_and_leaves_nothing(bilm_tf: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from elmokit.errors import InputError\n"
        "from elmokit.weights.bilm_tf.write import write_bilm_tf\n"
        "from elmokit.weights.load import load_pretrained\n"
        "from elmokit.weights.native import write_native\n"
        "model = load_pretrained(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))\n"
        "for number, write in enumerate((write_native, write_bilm_tf)):\n"
        "    try:\n"
        "        write(model, Path(sys.argv[2]) / str(number))\n"
        "    except InputError as error:\n"
        "        print(error)\n"
    )
    out = tmp_path / "out"
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", script, str(bilm_tf), str(out)], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == 2 and all("no space is left" in line for line in lines)
    assert list(out.iterdir()) == []


def break_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_broken_folders_are_told_apart(bilm_tf: Path, tmp_path: Path) -> None:
    model = load_pretrained(bilm_tf)

    def fresh(name: str) -> Path:
        write_native(model, tmp_path / name)
        return tmp_path / name

    folder = fresh("version")
    break_config(folder, version=99)
    with pytest.raises(InputError, match=r"version 99.*install a newer elmokit"):
        read_native(folder)

    folder = fresh("setting")
    break_config(folder, model={"lstm": {"dims": 7}})
    with pytest.raises(InputError, match="unknown setting 'dims'"):
        read_native(folder)

    folder = fresh("absent")
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors: there is no such file"):
        read_native(folder)

    folder = fresh("cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="damaged safetensors"):
        read_native(folder)

    folder = fresh("other")
    config = json.loads((folder / "config.json").read_text())["model"]
    config["lstm"]["dim"] = 8
    break_config(folder, model=config)
    with pytest.raises(InputError, match=r"has shape .* but the config asks for"):
        read_native(folder)

    folder = fresh("vocabulary")
    (folder / "vocab.txt").unlink()
    with pytest.raises(InputError, match=r"needs its words in vocab\.txt"):
        read_native(folder)
