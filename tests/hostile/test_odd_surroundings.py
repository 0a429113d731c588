"""Odd places, odd streams and odd names: each in one sentence, and nothing is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import elmokit
from elmokit.embed.files.fasta import read_fasta
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.writers import Layout, writing
from elmokit.errors import InputError
from elmokit.files import is_full_disk, replacing_folder
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare


def test_what_cannot_be_opened_in_a_folder_is_counted_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("One two three.\n\nFour five.\n")
    (folder / "loop").symlink_to(folder)
    (folder / "self.txt").symlink_to(folder / "self.txt")
    (folder / "gone.txt").symlink_to(folder / "nowhere")
    report = prepare([folder], tmp_path / "out", PrepareConfig(), num_workers=1, quiet=True)
    assert sorted(Path(name).name for name in report.broken_sources) == ["gone.txt", "self.txt"]
    assert any("self.txt: broken or unreadable (a link that leads" in one for one in report.lines())
    assert len(report.sources) == 3


def test_a_folder_that_may_not_be_read_is_counted_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts" / "private").mkdir(parents=True)
    (tmp_path / "texts" / "a.txt").write_text("One two three.\n")
    private = str(tmp_path / "texts" / "private")
    scan = os.scandir

    def refusing(path: str) -> object:  # permissions do not stop root
        if str(path) == private:
            raise PermissionError(13, "Permission denied", private)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    texts = [tmp_path / "texts"]
    report = prepare(texts, tmp_path / "out", PrepareConfig(), num_workers=1, quiet=True)
    assert report.broken_sources == {private: "Permission denied"}


def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    for error in (OSError(28, "No space left on device"), OSError("9 requested and 3 written")):
        assert is_full_disk(error)
        with (
            pytest.raises(InputError, match="no space is left on the disk; nothing was written"),
            replacing_folder(tmp_path / "out"),
        ):
            raise error
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_works_without_its_streams(closed: str) -> None:
    command = f"{sys.executable} -m elmokit --version {closed}"
    assert subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0


def test_closed_standard_input_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed; give a file"):
        prepare(["-"], tmp_path / "out", quiet=True)


def test_names_of_proteins_may_be_long_but_not_for_npz(tmp_path: Path) -> None:
    item = Item("y" * 100_000, "", ["M"])
    vectors = torch.ones(1, 4).numpy()
    with writing(tmp_path / "a.h5", Layout(keep_sentences=False)) as writer:
        writer.add(item, vectors)
    with (
        pytest.raises(InputError, match="100,000 characters, more than a name in an npz file"),
        writing(tmp_path / "a.npz", Layout(keep_sentences=False)) as writer,
    ):
        writer.add(item, vectors)
    assert [path.name for path in tmp_path.iterdir()] == ["a.h5"]


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(InputError, match="--split-char is empty"):
        next(read_fasta(["a.fasta"], split_char=""))


def test_a_mix_of_no_numbers_is_refused() -> None:
    for weights in (("a", 1, 1), None, (float("nan"), 1, 1)):
        with pytest.raises(InputError, match="mix"):
            elmokit.Mix(weights)  # type: ignore[arg-type]


def test_a_tensor_is_no_sentence(model: Path) -> None:
    with pytest.raises(InputError, match=r"list of strings, got tensor\(1\)"):
        elmokit.load(model).embed([torch.tensor(1)])  # type: ignore[list-item]


def test_a_message_that_quotes_a_huge_value_keeps_its_end() -> None:
    sentence = str(InputError(f"x.json: {'9' * 10**6} is no size; download it again"))
    assert len(sentence) < 3000
    assert sentence.startswith("x.json: 9") and sentence.endswith("download it again")
