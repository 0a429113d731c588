"""Checkpoints that TensorFlow wrote hold the values that TensorFlow says; types and blocks."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from tensor_bundles import Bundle, Entry, bundle_of

from elmokit.weights.tensor_bundle.bundle import prefix_of, read_bundle


@pytest.mark.parametrize("folder", ["trained", "sharded"])
def test_every_variable_of_tensorflows_checkpoints(from_tensorflow: Path, folder: str) -> None:
    found = read_bundle(from_tensorflow / folder / "model.ckpt-7")
    assert len(found) == 2 * 31 + 1  # a slot for each, and the step
    cell = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"
    names = {
        "lm/char_embed": "char_embed",
        "lm/CNN/W_cnn_2": "CNN/W_cnn_2",
        "lm/softmax/b": "softmax/b",
        "lm/RNN_1/rnn/multi_rnn_cell/cell_1/lstm_cell/projection/kernel": f"{cell}/W_P_0",
    }
    with h5py.File(from_tensorflow / "dumped" / "weights.hdf5", "r") as file:
        for name, dataset in names.items():
            assert found[name].shape == file[dataset].shape
            np.testing.assert_array_equal(found[name].read().numpy(), file[dataset][()])


def test_compressed_indexes_are_read(tmp_path: Path) -> None:
    bundle = bundle_of({"lm/a": np.arange(6).reshape(2, 3), "lm/ab": np.ones(2)})
    for compression in (0, 1):
        bundle.compression = compression
        bundle.write(tmp_path / "x")
        found = read_bundle(tmp_path / "x")
        assert found["lm/a"].read().tolist() == [[0, 1, 2], [3, 4, 5]]
        assert found["lm/ab"].read().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (1, np.array([1.5, -2], "<f4").tobytes()),
        (2, np.array([1.5, -2], "<f8").tobytes()),
        (19, np.array([1.5, -2], "<f2").tobytes()),
        (14, bytes.fromhex("c03f00c0")),  # bfloat16
    ],
)
def test_weights_of_every_type_become_float32(tmp_path: Path, kind: int, content: bytes) -> None:
    Bundle({"w": Entry((2,), content, kind)}).write(tmp_path / "x")
    values = read_bundle(tmp_path / "x")["w"].read()
    assert values.tolist() == [1.5, -2]
    assert str(values.dtype) == "torch.float32"


def test_a_checkpoint_is_named_by_any_of_its_files() -> None:
    for name in ("model.ckpt-7", "model.ckpt-7.index", "model.ckpt-7.data-00012-of-00034"):
        assert prefix_of(Path("run") / name) == Path("run/model.ckpt-7")
