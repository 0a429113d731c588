"""Reading raw input: every kind of source, and nothing in it that could stop the reading."""

import bz2
import gzip
import hashlib
import io
import lzma
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.errors import InputError
from elmokit.pretrain.corpus.documents import DocumentReader, Source, find_sources

TEXT = b"First paragraph.\nSecond.\n\nAnother document.\n"
DOCUMENTS = [b"First paragraph.\nSecond.", b"Another document."]


def read(*inputs: Path | str, max_line: int = 1000, max_document: int = 1000) -> DocumentReader:
    return DocumentReader(find_sources([str(name) for name in inputs]), max_line, max_document)


def source_of(*chunks: bytes) -> Source:
    return Source("memory", lambda: ((chunk, len(chunk)) for chunk in chunks), None)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".txt", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)],
)
def test_packed_and_plain_files_hold_the_same_documents(tmp_path: Path, suffix, pack) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(TEXT))
    reader = read(path)
    assert list(reader) == DOCUMENTS
    assert reader.read[0].sha256 == hashlib.sha256(TEXT).hexdigest()
    assert reader.disk_bytes_read == path.stat().st_size


def test_zstandard_files_are_read(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    path = tmp_path / "text.zst"
    path.write_bytes(zstandard.compress(TEXT[:20]) + zstandard.compress(TEXT[20:]))
    assert list(read(path)) == DOCUMENTS


def test_a_broken_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    noise = b"".join(hashlib.sha256(bytes([n])).hexdigest().encode() + b"\n" for n in range(200))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(noise)[:-3000])
    (tmp_path / "junk.xz").write_bytes(b"no archive at all")
    (tmp_path / "last.txt").write_bytes(TEXT)
    reader = read(tmp_path, max_document=100)
    assert list(reader)[-2:] == DOCUMENTS
    assert set(reader.broken) == {str(tmp_path / "cut.gz"), str(tmp_path / "junk.xz")}


def test_a_folder_is_read_in_the_order_of_its_paths_without_hidden_and_other_files(
    tmp_path: Path,
) -> None:
    for name in [
        "b.txt",
        "a/z.txt",
        "a/b/y.TXT",
        ".hidden.txt",
        "x.py",
        "out/vocab.txt",
        "x.tar.gz",
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    sources = find_sources([str(tmp_path)], leave_out=tmp_path / "out")
    names = [str(Path(source.name).relative_to(tmp_path)) for source in sources]
    assert names == ["a/b/y.TXT", "a/z.txt", "b.txt"]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT)))
    assert list(read("-")) == DOCUMENTS


def test_a_row_of_a_hugging_face_dataset_is_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def load_dataset(*arguments: object, **options: object) -> list[dict[str, str]]:
        asked.append((arguments, options))
        return [{"text": "One.\n\nStill one."}, {"text": ""}, {"text": "Two. \ud800"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert list(read("hf:wiki,en:test")) == [b"One.\nStill one.", b"Two. ?"]
    assert asked == [(("wiki", "en"), {"split": "test", "streaming": True})]


def test_a_dataset_without_a_text_column_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(load_dataset=lambda *_, **__: [{"content": "x"}])
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(InputError, match="no column 'text', only content"):
        list(read("hf:wiki"))


def test_a_missing_library_for_datasets_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"elmokit\[datasets\]"):
        read("hf:wiki")


def test_bad_inputs_are_named_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "wide.txt").write_text("text", encoding="utf-16")
    (tmp_path / "empty").mkdir()
    for name, reason in [
        ("nowhere.txt", "no such file"), ("wide.txt", "UTF-16"), ("empty", r"no \.txt"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=f"{name}.*{reason}"):
            find_sources([str(tmp_path / name)])
    with pytest.raises(InputError, match="nothing to prepare"):
        find_sources([])


def test_a_byte_order_mark_is_no_text() -> None:
    assert list(DocumentReader([source_of(b"\xef\xbb\xbfa\n")], 100, 100)) == [b"a"]


@given(
    st.lists(
        st.sampled_from([b"word ", b"\n", b"\r\n", b" \n", "é".encode(), b"\xff", b"x" * 150])
    ),
    st.integers(1, 50),
)
def test_no_byte_is_lost_wherever_chunks_and_limits_fall(pieces: list[bytes], step: int) -> None:
    text = b"".join(pieces)
    chunks = [text[start : start + step] for start in range(0, len(text), step)]
    reader = DocumentReader([source_of(*chunks)], max_line_bytes=100, max_document_bytes=300)
    documents = list(reader)
    assert b"".join(b"".join(documents).split()) == b"".join(text.split())
    assert all(len(line) <= 100 for document in documents for line in document.split(b"\n"))
    assert all(len(document) <= 400 for document in documents)
    assert reader.counts["bytes"] == len(text)


def test_a_cut_never_falls_into_a_character() -> None:
    reader = DocumentReader([source_of("é".encode() * 500)], 101, 10_000)
    pieces = [line.decode() for document in reader for line in document.split(b"\n")]
    assert "".join(pieces) == "é" * 500
    assert reader.counts["line_cuts"] == 9
