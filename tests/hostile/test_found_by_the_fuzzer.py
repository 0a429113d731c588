"""What hours of fuzzing found, one test each."""

import json
from pathlib import Path

import h5py
import pytest

from elmokit.config import LstmConfig
from elmokit.embed.verify.reference_vectors import read_expected
from elmokit.errors import InputError
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
