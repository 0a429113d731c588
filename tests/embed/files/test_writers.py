import errno
import json
import resource
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.embed.files import writers
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.writers import Layout, writing
from elmokit.errors import InputError

ITEMS = [
    Item("0", "a / b", ["a", "/", "b"]),
    Item("1", "", []),
    Item("2", "größe", ["größe"]),
    Item("3", "a / b", ["a", "/", "b"]),
]


def layers_of(item: Item) -> np.ndarray:
    generator = np.random.default_rng(int(item.key) + 5)
    return generator.standard_normal((2, len(item.tokens), 7), dtype=np.float32)


def write(path: Path, layout: Layout = Layout()) -> None:  # noqa: B008
    with writing(path, layout) as writer:
        for item in ITEMS:
            writer.add(item, layers_of(item))


def test_hdf5_is_laid_out_as_allennlp_wrote_it(tmp_path: Path) -> None:
    write(tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        assert sorted(file) == ["0", "1", "2", "3", "sentence_to_index"]
        for item in ITEMS:
            np.testing.assert_array_equal(file[item.key][...], layers_of(item))
            assert file[item.key].dtype == np.float32
        assert file["sentence_to_index"].shape == (1,)
        index = json.loads(file["sentence_to_index"][0])
    assert index == {"a / b": "3", "": "1", "größe": "2"}  # of equal sentences the last


def test_npz_holds_the_same_arrays(tmp_path: Path) -> None:
    write(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as arrays:
        for item in ITEMS:
            np.testing.assert_array_equal(arrays[item.key], layers_of(item))
        assert json.loads(arrays["sentence_to_index"][0])["größe"] == "2"


def test_parquet_has_a_row_a_token(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert table["sentence"] == ["0", "0", "0", "2", "3", "3", "3"]
    assert table["position"] == [0, 1, 2, 0, 0, 1, 2]
    assert table["token"] == ["a", "/", "b", "größe", "a", "/", "b"]
    np.testing.assert_array_equal(np.float32(table["layer_1"][3]), layers_of(ITEMS[2])[1, 0])


def test_parquet_of_pooled_vectors_has_a_row_a_sentence(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with writing(tmp_path / "out.parquet", Layout(is_pooled=True)) as writer:
        for item in ITEMS:
            writer.add(item, np.full(7, int(item.key), dtype=np.float32))
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert table["text"] == ["a / b", "", "größe", "a / b"]
    assert [row[0] for row in table["vector"]] == [0, 1, 2, 3]


def test_parquet_is_written_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(writers, "ROW_GROUP_ROWS", 3)
    write(tmp_path / "out.parquet")
    assert parquet.ParquetFile(tmp_path / "out.parquet").num_row_groups == 2


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet"])
def test_a_file_of_nothing_can_be_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    with writing(path):
        pass
    if suffix == ".h5":
        with h5py.File(path) as file:
            assert list(file) == ["sentence_to_index"]
    elif suffix == ".npz":
        assert np.load(path).files == ["sentence_to_index"]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(path).num_rows == 0


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet"])
def test_half_precision_halves_the_type(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write(path, Layout(dtype="float16"))
    if suffix == ".h5":
        with h5py.File(path) as file:
            assert file["0"].dtype == np.float16
    elif suffix == ".npz":
        assert np.load(path)["0"].dtype == np.float16
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        assert "halffloat" in str(parquet.read_schema(path).field("layer_0").type)


def test_sentences_can_be_left_out(tmp_path: Path) -> None:
    write(tmp_path / "out.h5", Layout(keep_sentences=False))
    with h5py.File(tmp_path / "out.h5") as file:
        assert "sentence_to_index" not in file


def test_keys_with_slashes_stay_one_dataset_in_hdf5(tmp_path: Path) -> None:
    with writing(tmp_path / "out.h5", Layout(keep_sentences=False)) as writer:
        writer.add(Item("a/b", "", []), np.ones(3, np.float32))
    with h5py.File(tmp_path / "out.h5") as file:
        assert list(file) == ["a_b"]


def test_keys_that_become_one_in_hdf5_are_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="'a_b' and an earlier name are both 'a_b'"),
        writing(tmp_path / "out.h5", Layout(keep_sentences=False)) as writer,
    ):
        for key in ("a/b", "a_b"):
            writer.add(Item(key, "", []), np.ones(3, np.float32))
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_way_is_seen_before_the_work(tmp_path: Path) -> None:
    path = tmp_path / "out.h5"
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="this is a folder"), writing(path):
        pytest.fail("the work began")


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet"])
def test_a_place_where_nothing_can_be_written_is_named(suffix: str) -> None:
    place = f"/proc/out{suffix}"
    with pytest.raises(OSError, match="cannot be written") as caught, writing(Path(place)):
        pytest.fail("the work began")
    assert caught.value.filename == place


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet"])
def test_a_failed_run_leaves_the_old_file_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), writing(path) as writer:
        writer.add(ITEMS[0], layers_of(ITEMS[0]))
        raise KeyboardInterrupt
    assert [child.name for child in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Files may not grow beyond 64 kB: writing fails as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".parquet"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, full_disk: None, suffix: str
) -> None:
    path = tmp_path / f"out{suffix}"
    noise = np.random.default_rng(0).standard_normal((3, 100, 64), dtype=np.float32)
    with pytest.raises(InputError, match="no space is left"), writing(path) as writer:
        for number in range(40):
            writer.add(Item(str(number), "text", ["w"] * 100), noise)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_recognised_in_what_hdf5_says_on_closing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no space is left"), writing(tmp_path / "out.h5"):
        raise RuntimeError(
            f"Can't decrement id ref count (file write failed: errno = "
            f"{errno.ENOSPC}, error message = 'No space left on device')"
        )


def test_other_errors_keep_their_own_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a defect"), writing(tmp_path / "out.h5"):
        raise RuntimeError("a defect")


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in one of \.h5, \.hdf5, \.npz, \.parquet"):
        write(tmp_path / "out.txt")


def test_npz_members_are_stored_plainly_and_can_be_large(tmp_path: Path) -> None:
    write(tmp_path / "out.npz")
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_tokens_are_kept_beside_the_vectors(tmp_path: Path) -> None:
    items = [Item("0", "It can't", ["It", "ca", "n't"]), Item("1", "", [])]
    long = Item("2", "a " * 5000, ["a"] * 5000)
    for suffix in (".h5", ".npz"):
        with writing(tmp_path / f"out{suffix}") as writer:
            for item in (*items, long):
                writer.add(item, np.zeros((len(item.tokens), 3), dtype=np.float32))
    with h5py.File(tmp_path / "out.h5") as file:
        assert list(file["0"].attrs["tokens"]) == ["It", "ca", "n't"]
        assert "tokens" not in file["1"].attrs and "tokens" not in file["2"].attrs
        assert sorted(file) == ["0", "1", "2", "sentence_to_index"]
    tokens = json.loads(np.load(tmp_path / "out.npz")["tokens"][0])
    assert tokens == {item.key: item.tokens for item in (*items, long)}
