"""Files of static vectors: every kind reads alike, broken ones are refused."""

import struct
from pathlib import Path

import numpy as np
import pytest

from elmokit.errors import InputError
from elmokit.text.static_vectors import read_static_vectors

WORDS = ["the", "cat", "Paris"]
ROWS = np.array([[1, 0], [0.5, -2], [3, 4]], dtype=np.float32)


def test_static_text_with_and_without_header_reads_alike(tmp_path: Path) -> None:
    lines = "the 1 0\ncat 0.5 -2\nParis 3 4\n"
    (tmp_path / "glove.txt").write_text(lines)
    (tmp_path / "w2v.txt").write_text("3 2\n" + lines)
    for name in ("glove.txt", "w2v.txt"):
        vectors = read_static_vectors(tmp_path / name)
        assert vectors.words == WORDS
        assert np.array_equal(vectors.vectors, ROWS)


def test_static_text_allows_a_word_with_spaces(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("the 1 0\n. . . 0.5 -2\n")
    vectors = read_static_vectors(tmp_path / "glove.txt")
    assert vectors.words == ["the", ". . ."]
    assert np.array_equal(vectors.vectors, ROWS[:2])


def test_word2vec_binary_reads_back(tmp_path: Path) -> None:
    data = b"3 2\n"
    for word, row in zip(WORDS, ROWS, strict=True):
        data += word.encode() + b" " + struct.pack("<2f", *row) + b"\n"
    (tmp_path / "w2v.bin").write_bytes(data)
    vectors = read_static_vectors(tmp_path / "w2v.bin")
    assert vectors.words == WORDS
    assert np.array_equal(vectors.vectors, ROWS)


def test_truncated_binary_is_refused_with_its_count(tmp_path: Path) -> None:
    data = b"3 2\nthe " + struct.pack("<2f", 1e-30, 2e-30) + b"\ncat \x01"
    (tmp_path / "w2v.bin").write_bytes(data)
    with pytest.raises(InputError, match="after 1 of 3 vectors"):
        read_static_vectors(tmp_path / "w2v.bin")


def test_folder_of_words_and_array_reads(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    np.save(tmp_path / "vectors.npy", ROWS.astype(np.float16))
    assert np.array_equal(read_static_vectors(tmp_path).vectors, ROWS)
    np.save(tmp_path / "vectors.npy", ROWS[:2])
    with pytest.raises(InputError, match="3 words"):
        read_static_vectors(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("the 1 0\ncat 1\n", "line 2"), ("the 1 0\ncat x 1\n", "line 2"), ("", "no vectors")],
)
def test_bad_static_text_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "glove.txt").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_static_vectors(tmp_path / "glove.txt")


@pytest.mark.parametrize("name", ["glove.txt", "w2v.bin", "folder"])
def test_reading_stops_after_as_many_words_as_are_wanted(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "words.txt").write_text("\n".join(WORDS))
        np.save(path / "vectors.npy", ROWS)
    elif name == "w2v.bin":
        rows = zip(WORDS, ROWS, strict=True)
        path.write_bytes(
            b"3 2\n" + b"".join(w.encode() + b" " + struct.pack("<2f", *row) for w, row in rows)
        )
    else:
        path.write_text("the 1 0\ncat 0.5 -2\nParis 3 4\n")
    found = read_static_vectors(path, max_words=2)
    assert found.words == WORDS[:2]
    assert np.array_equal(found.vectors, ROWS[:2])
