import gzip
import io
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from elmokit.embed.files.fasta import count_proteins, read_fasta
from elmokit.embed.files.inputs import count_lines, read_sentences
from elmokit.errors import InputError


def test_lines_are_numbered_through_all_files_blank_ones_too(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_bytes(b"One two.\r\n\n a/b \n")
    second.write_bytes("größe".encode())
    items = list(read_sentences([str(first), str(second)], pretokenized=True))
    assert [(item.key, item.text, item.tokens) for item in items] == [
        ("0", "One two.", ["One", "two."]),
        ("1", "", []),
        ("2", "a/b", ["a/b"]),
        ("3", "größe", ["größe"]),
    ]
    assert count_lines([str(first), str(second)]) == 4


def test_raw_lines_are_tokenised(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("It can't be.\n")
    (item,) = read_sentences([str(path)], pretokenized=False)
    assert item.tokens == ["It", "ca", "n't", "be", "."]


def test_standard_input_is_read_where_a_dash_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(b"a b\nc\n"))
    monkeypatch.setattr("sys.stdin", stdin)
    items = list(read_sentences(["-"], pretokenized=True))
    assert [item.tokens for item in items] == [["a", "b"], ["c"]]
    assert count_lines(["-"]) is None


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("gut\ngrün\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin1\.txt: line 2 is not UTF-8"):
        list(read_sentences([str(path)], pretokenized=True))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: there is no such file"):
        count_lines([str(tmp_path / "none.txt")])


def test_a_folder_is_not_an_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a folder; name the files in it"):
        count_lines([str(tmp_path)])


def test_gzipped_text_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a b\n\nc"))
    items = read_sentences([str(path)], pretokenized=True)
    assert [item.tokens for item in items] == [["a", "b"], [], ["c"]]
    assert count_lines([str(path)]) == 3
    path.write_bytes(gzip.compress(b"a b c" * 99)[:-9])
    with pytest.raises(InputError, match=r"a\.txt\.gz: damaged gzip file"):
        list(read_sentences([str(path)], pretokenized=True))


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One two\nthree\n", encoding="utf-8-sig")
    items = read_sentences([str(path), str(path)], pretokenized=True)
    assert [item.text for item in items] == ["One two", "three"] * 2


def test_a_pipe_is_read_once_and_not_counted(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert count_lines([str(pipe)]) is None
    writer = threading.Thread(target=pipe.write_text, args=("a b\nc\n",))
    writer.start()
    assert [item.text for item in read_sentences([str(pipe)], pretokenized=True)] == ["a b", "c"]
    writer.join()


FASTA = ">sp|P1|ONE of a kind\nMKV\n l t*\n\n>tr|P2|TWO\n>sp|P3|THREE\nACD"


def test_fasta_records_become_sentences_of_residues(tmp_path: Path) -> None:
    path = tmp_path / "p.fasta"
    path.write_text(FASTA)
    items = list(read_fasta([str(path)]))
    assert [(item.key, "".join(item.tokens)) for item in items] == [
        ("P1", "MKVLT*"), ("P2", ""), ("P3", "ACD"),
    ]  # fmt: skip
    assert count_proteins([str(path)]) == 3


def test_fasta_may_be_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "p.fasta.gz"
    path.write_bytes(gzip.compress(FASTA.encode()))
    assert [item.key for item in read_fasta([str(path)])] == ["P1", "P2", "P3"]


def test_ids_come_from_the_field_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "p.fasta"
    path.write_text(FASTA)
    keys = [item.key for item in read_fasta([str(path)], id_field=-1)]
    assert keys == ["sp|P1|ONE of a kind", "tr|P2|TWO", "sp|P3|THREE"]
    keys = [item.key for item in read_fasta([str(path)], id_field=0, split_char=" ")]
    assert keys == ["sp|P1|ONE", "tr|P2|TWO", "sp|P3|THREE"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">plain\nMK\n", "no field 1 when split at '|'"),
        (">a|x\nM\n>b|x\nK\n", "line 3: a second sequence with the id 'x'"),
        ("MKV\n", "expected a FASTA header"),
    ],
)
def test_bad_fasta_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.fasta"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        list(read_fasta([str(path)]))
    assert message in str(caught.value) and "p.fasta: line " in str(caught.value)
