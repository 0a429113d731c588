"""Opening a corpus: spelling of its types, and every way in which its files may disagree."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from elmokit.errors import InputError
from elmokit.pretrain.corpus import Corpus
from elmokit.pretrain.prepare import PrepareConfig, prepare
from elmokit.text.characters import Utf8Characters

WORDS = ["a", "café", "😀", "x" * 60, "b\x00c"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text("\n\n".join([" ".join(WORDS)] * 3 + ["a held out"] * 9))
    config = PrepareConfig(pretokenized=True, heldout=0.1, vocabulary_size=6)
    prepare([folder / "text.txt"], folder / "data", config, num_workers=1, quiet=True)
    return folder / "data"


@pytest.mark.parametrize("max_characters", [5, 50])
def test_characters_of_types_are_those_of_their_words(data: Path, max_characters: int) -> None:
    lexicon = Corpus.open(data).lexicon
    characters = Utf8Characters(max_characters)
    ids = np.random.default_rng(0).permutation(np.tile(np.arange(lexicon.num_types), 2))
    expected = characters.encode(lexicon.words(ids))
    assert np.array_equal(lexicon.characters(ids, characters), expected)
    assert set(WORDS) | {"<S>", "</S>", "<UNK>"} <= set(lexicon.words(ids))


def test_no_types_have_no_characters(data: Path) -> None:
    lexicon = Corpus.open(data).lexicon
    none = np.zeros(0, dtype=np.int64)
    assert lexicon.characters(none, Utf8Characters(7)).shape == (0, 7)
    assert lexicon.words(none) == []


def test_nothing_is_read_into_memory(data: Path) -> None:
    corpus = Corpus.open(str(data))
    for array in (corpus.train.tokens, corpus.train.starts, corpus.lexicon.letters):
        assert not array.flags.writeable
        assert not array.flags.owndata


def truncate(path: Path, num_bytes: int) -> None:
    path.write_bytes(path.read_bytes()[:-num_bytes])


@pytest.mark.parametrize(
    "name",
    [
        "corpus.json", "vocab.txt", "lexicon/letters.bin", "lexicon/offsets.npy",
        "lexicon/counts.npy", "train/tokens.bin", "train/starts.npy", "heldout/tokens.bin",
        "heldout/starts.npy",
    ],
)  # fmt: skip
@pytest.mark.parametrize("damage", ["missing", "empty", "one byte short", "eight bytes short"])
def test_a_damaged_file_is_named(data: Path, tmp_path: Path, name: str, damage: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    match damage:
        case "missing":
            (copy / name).unlink()
        case "empty":
            (copy / name).write_bytes(b"")
        case "one byte short":
            truncate(copy / name, 1 if name.endswith((".bin", ".npy")) else 12)
        case _:
            truncate(copy / name, 8)
    with pytest.raises(InputError, match=Path(name).name.replace(".", r"\.")):
        Corpus.open(copy)


def test_a_corpus_of_another_version_is_refused(data: Path, tmp_path: Path) -> None:
    facts = json.loads((data / "corpus.json").read_text())
    for change in ({"version": 2}, {"format": "other"}):
        (tmp_path / "corpus.json").write_text(json.dumps(facts | change))
        with pytest.raises(InputError, match=r"corpus\.json.*this elmokit reads"):
            Corpus.open(tmp_path)


def test_a_vocabulary_without_markers_first_is_refused(data: Path, tmp_path: Path) -> None:
    shutil.copytree(data, tmp_path / "copy")
    words = (data / "vocab.txt").read_text().splitlines()
    (tmp_path / "copy/vocab.txt").write_text("\n".join(words[::-1]) + "\n")
    with pytest.raises(InputError, match="must begin with <S>"):
        Corpus.open(tmp_path / "copy")


def test_a_folder_that_is_no_corpus_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="elmokit prepare"):
        Corpus.open(tmp_path)
