"""What hours of fuzzing found, one test each."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from tiny_corpus import prepare_tiny

from elmokit.config import LstmConfig
from elmokit.embed.verify.reference_vectors import read_expected
from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.run_folder import Checkpoints
from elmokit.recipe import from_plain
from elmokit.text.static_vectors import read_static_vectors
from elmokit.weights.bilm_tf.options import _get


def test_an_integer_beyond_all_floats_is_refused() -> None:
    with pytest.raises(InputError, match="too large a number"):
        from_plain(LstmConfig, {"cell_clip": 10**400}, "config.json")
    with pytest.raises(InputError, match=r"lstm\.proj_clip must be float"):
        _get({"proj_clip": 10**400}, "proj_clip", float, Path("options.json"), "lstm.")


def test_a_binary_file_of_vectors_wider_than_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w2v.bin"
    path.write_bytes(b"3 99999999999999\nthe \x00\x01\xff\xfe")
    with pytest.raises(InputError, match="announces 3 vectors"):
        read_static_vectors(path)


def test_the_best_checkpoint_is_one_of_the_run(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=1)
    for name in ("0" * 5000, "../../etc/passwd"):
        (tmp_path / "best.json").write_text(json.dumps({"checkpoint": name, "perplexity": 1.0}))
        assert checkpoints.best() is None


def test_datasets_whose_names_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(b"\xff\xfe", data=[[1.0]])
    with pytest.raises(InputError, match="without readable names"):
        read_expected(path, None, 5)


def test_settings_of_a_corpus_are_a_table(tmp_path: Path) -> None:
    file = prepare_tiny(tmp_path, 20) / "corpus.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"settings": "none"}))
    with pytest.raises(InputError, match="settings is str"):
        Corpus.open(file.parent)


def test_sentences_that_begin_nowhere_ask_for_no_memory(tmp_path: Path) -> None:
    data = prepare_tiny(tmp_path, 60)
    starts = np.load(data / "train" / "starts.npy")
    starts[len(starts) // 2] = 1 << 40  # eight terabytes of positions
    np.save(data / "train" / "starts.npy", starts)
    corpus = Corpus.open(data)
    with pytest.raises(InputError, match="offsets point outside"):
        corpus.train.spread(len(corpus.train.tokens) - 1)
