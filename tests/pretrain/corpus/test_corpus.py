"""Opening a corpus: spelling of its types, and every way in which its files may disagree."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus, Split, warn_if_few
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.text.token_ids import Utf8Characters

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


def test_characters_are_counted_as_code_points(data: Path) -> None:
    lexicon = Corpus.open(data).lexicon
    ids = np.random.default_rng(0).permutation(np.tile(np.arange(lexicon.num_types), 2))
    assert lexicon.num_characters(ids).tolist() == [len(word) for word in lexicon.words(ids)]
    assert lexicon.num_characters(ids[:0]).tolist() == []


def numbered_sentences(num_sentences: int) -> Split:
    """Sentence i has 1 + i % 3 words and is of kind i // 10."""
    sentences = [[0, *[i + 1] * (1 + i % 3)] for i in range(num_sentences)]
    lengths = np.array([len(sentence) for sentence in sentences])
    kinds = np.arange(num_sentences) // 10
    return Split(np.concatenate(sentences).astype(np.uint32), np.cumsum(lengths) - lengths, kinds)


def test_a_sample_is_spread_evenly_over_the_text() -> None:
    split = numbered_sentences(60)
    assert split.spread(None) is split
    sample = split.spread(len(split.tokens) // 5)
    chosen = sample.tokens[sample.starts + 1] - 1
    assert chosen.tolist() == list(range(0, 60, 5))
    assert sample.kinds is not None and sample.kinds.tolist() == (chosen // 10).tolist()
    assert [len(part) - 1 for part in np.split(sample.tokens, sample.starts[1:])] == [
        1 + i % 3 for i in chosen
    ]
    stretches = split.spread(len(split.tokens) // 5, stretch=4)
    assert (stretches.tokens[stretches.starts + 1] - 1).tolist() == [
        *range(4), *range(20, 24), *range(40, 44),
    ]  # fmt: skip
    assert split.spread(1).num_sentences == 1


def test_a_shuffled_corpus_is_sampled_from_its_beginning(data: Path) -> None:
    corpus = Corpus.open(data)
    split = numbered_sentences(60)
    for shuffle, wanted in ((True, split.head(40)), (False, split.spread(40))):
        corpus.facts["settings"]["shuffle"] = shuffle
        assert np.array_equal(corpus.sample(split, 40).tokens, wanted.tokens)


def test_little_held_out_text_is_warned_of() -> None:
    assert warn_if_few(2_000) is None
    assert "only 900 tokens are held out" in str(warn_if_few(900))
    assert "about 12%" in str(warn_if_few(900))
    assert "about 100%" in str(warn_if_few(0))


@pytest.mark.parametrize("name", ["train/tokens.bin", "vocab.txt", "lexicon/counts.npy"])
def test_a_file_of_the_right_size_with_other_bytes_is_found(
    data: Path, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    Corpus.open(copy).verify()
    content = bytearray((copy / name).read_bytes())
    content[-1] ^= 1
    (copy / name).write_bytes(bytes(content))
    corpus = Corpus.open(copy)
    with pytest.raises(InputError, match=rf"{Path(name).name}: damaged"):
        corpus.verify()
    (copy / "SHA256SUMS").unlink()  # as in a corpus of the first edition
    corpus.verify()
