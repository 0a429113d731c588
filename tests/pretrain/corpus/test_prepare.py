"""From raw text to a corpus: what it holds, that it is always the same, and what it reports."""

import gzip
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.errors import InputError
from elmokit.pretrain.corpus import split_text
from elmokit.pretrain.corpus.corpus import Corpus, Split
from elmokit.pretrain.corpus.prepare import PrepareConfig, PrepareReport, prepare
from elmokit.pretrain.corpus.writer import NumberedDocuments, assign_parts
from elmokit.text.vocabulary import Vocabulary

MARKERS = ["<S>", "</S>", "<UNK>"]


def sentences_of(corpus: Corpus, split: Split) -> list[list[str]]:
    """The slow way back: one sentence at a time."""
    bounds = [*split.starts, len(split.tokens)]
    found = []
    for start, end in pairwise(bounds):
        assert split.tokens[start] == 0
        ids = np.asarray(split.tokens[start + 1 : end], dtype=np.int64)
        assert (ids != 0).all()
        found.append(corpus.lexicon.words(ids))
    return found


def make(folder: Path, text: str | bytes, **settings: object) -> tuple[Corpus, PrepareReport]:
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "text.txt").write_bytes(data)
    options = {"quiet": True, "num_workers": 1}
    options |= {name: settings.pop(name) for name in ("vocabulary",) if name in settings}
    config = PrepareConfig(**{"heldout": 0.0, "sentences": "default", **settings})
    report = prepare([folder / "text.txt"], folder / "data", config, **options)
    return Corpus.open(folder / "data"), report


def files_of(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in paths if p.name != "report.json"}


def test_raw_text_becomes_sentences_of_tokens(tmp_path: Path) -> None:
    corpus, _ = make(tmp_path, "Mr. Doe left. He can't stay!\nA new paragraph.\n\nAnd a document.")
    assert sentences_of(corpus, corpus.train) == [
        ["Mr.", "Doe", "left", "."],
        ["He", "ca", "n't", "stay", "!"],
        ["A", "new", "paragraph", "."],
        ["And", "a", "document", "."],
    ]
    assert (corpus.train.num_sentences, corpus.train.num_tokens) == (4, 17)
    assert (corpus.heldout.num_sentences, corpus.heldout.num_tokens) == (0, 0)


def test_the_vocabulary_is_sorted_by_count_then_code_point(tmp_path: Path) -> None:
    corpus, _ = make(tmp_path, "b a a\né z b a\nZ", pretokenized=True, vocabulary_size=7)
    assert corpus.vocabulary.words == [*MARKERS, "a", "b", "Z", "z"]
    assert corpus.lexicon.words(np.arange(corpus.lexicon.num_types)) == [
        *MARKERS, "a", "b", "Z", "z", "é",
    ]  # fmt: skip
    assert corpus.lexicon.counts.tolist() == [3, 0, 0, 3, 2, 1, 1, 1]
    assert corpus.facts["train"]["num_unknown"] == 1


def test_rare_words_are_inputs_but_no_targets(tmp_path: Path) -> None:
    corpus, _ = make(tmp_path, "a a b", pretokenized=True, min_count=2)
    assert corpus.vocabulary.words == [*MARKERS, "a"]
    assert sentences_of(corpus, corpus.train) == [["a", "a", "b"]]


def test_a_given_vocabulary_keeps_its_order_behind_the_markers(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["</S>", "zebra", "<S>", "a", "<UNK>", "zebra"])
    corpus, report = make(tmp_path, "a a b", pretokenized=True, vocabulary=vocabulary)
    assert corpus.vocabulary.words == [*MARKERS, "zebra", "a"]
    assert corpus.lexicon.words(np.arange(3, 6)) == ["zebra", "a", "b"]
    assert corpus.lexicon.counts.tolist()[3:] == [0, 2, 1]
    assert report.counts["vocabulary_duplicates"] == 1


def test_words_that_spell_a_marker_are_unknown_and_counted(tmp_path: Path) -> None:
    corpus, report = make(tmp_path, "<S> a </S>\n<UNK> a", pretokenized=True)
    assert sentences_of(corpus, corpus.train) == [["<UNK>", "a", "<UNK>"], ["<UNK>", "a"]]
    assert report.counts["literal_markers"] == 3
    assert corpus.lexicon.counts[:3].tolist() == [2, 0, 3]


def test_types_beyond_the_limit_become_unknown_and_are_counted(tmp_path: Path) -> None:
    corpus, report = make(
        tmp_path, "a a b b c d e", pretokenized=True, vocabulary_size=5, max_types=6
    )
    assert corpus.lexicon.num_types == 6
    assert sentences_of(corpus, corpus.train) == [["a", "a", "b", "b", "c", "<UNK>", "<UNK>"]]
    assert report.counts["types_dropped"] == 2


def test_overlong_tokens_and_sentences_are_cut_and_counted(tmp_path: Path) -> None:
    corpus, report = make(
        tmp_path, "aaaaa b\nc d e f g", pretokenized=True, max_token_characters=3,
        max_sentence_tokens=2,
    )  # fmt: skip
    assert sentences_of(corpus, corpus.train) == [
        ["aaa", "b"], ["c", "d"], ["e", "f"], ["g"],
    ]  # fmt: skip
    assert (report.counts["tokens_cut"], report.counts["sentences_cut"]) == (1, 1)


def test_pretokenized_text_is_split_at_ascii_space_only(tmp_path: Path) -> None:
    corpus, _ = make(tmp_path, " 10\u00a0000  euros.\tNo\u2028w \r\n", pretokenized=True)
    assert sentences_of(corpus, corpus.train) == [["10\u00a0000", "euros.", "No\u2028w"]]


def test_broken_utf8_a_huge_line_and_control_characters_are_survived(tmp_path: Path) -> None:
    text = b"bad \xff\xfe bytes\n\n" + b"word " * 100_000 + b"\n\nx\x00y " + b"z" * 300_000
    corpus, report = make(tmp_path, text)
    assert report.counts["invalid_utf8"] == 2
    assert report.counts["line_cuts"] > 5
    assert report.counts["tokens_cut"] >= 3
    assert corpus.lexicon.counts[corpus.vocabulary.id_of("word")] == 100_000
    assert corpus.facts["train"] == corpus.facts["train"] | {"num_unknown": 0}
    assert any("invalid UTF-8" in line for line in report.lines())


def test_an_empty_file_among_others_is_reported(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/empty.txt").touch()
    (tmp_path / "texts/full.txt").write_text("Some words.")
    report = prepare([tmp_path / "texts"], tmp_path / "data", quiet=True, num_workers=1)
    assert report.counts["empty_sources"] == 1
    assert "1 empty inputs" in list(report.lines())


def test_no_text_at_all_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"text\.txt: no words in"):
        make(tmp_path, " \n\n")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


words = st.sampled_from(["a", "b", "cc", "é", "<S>", "😀", "d" * 9])
documents = st.lists(st.lists(st.lists(words, min_size=1), min_size=1), min_size=1, max_size=30)


@settings(max_examples=30)
@given(documents, st.booleans(), st.floats(0, 0.9), st.integers(0, 3))
def test_every_sentence_is_in_one_part_with_its_document(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[list[list[str]]],
    shuffle: bool,
    heldout: float,
    seed: int,
) -> None:
    text = "\n\n".join("\n".join(map(" ".join, document)) for document in documents)
    corpus, _ = make(
        tmp_path_factory.mktemp("corpus"), text, pretokenized=True, heldout=heldout,
        shuffle=shuffle, seed=seed,
    )  # fmt: skip
    parts = [sentences_of(corpus, part) for part in (corpus.train, corpus.heldout)]
    expected = [
        [word if word != "<S>" else "<UNK>" for word in sentence]
        for document in documents
        for sentence in document
    ]
    assert sorted(parts[0] + parts[1]) == sorted(expected)
    counts = np.bincount(corpus.train.tokens, minlength=corpus.lexicon.num_types)
    assert corpus.lexicon.counts.tolist() == counts.tolist()
    if not shuffle and heldout == 0:
        assert parts[0] == expected
    if len(expected) > 1 and heldout > 0 and len(set(map(tuple, expected))) > 1:
        assert parts[0]


def test_the_held_out_share_is_dealt_by_document_and_copies_stay_together(tmp_path: Path) -> None:
    document = "{0} begins\n{0} goes on\n{0} ends"
    numbers = [*range(1000), *range(1000)]
    text = "\n\n".join(document.format(number) for number in numbers)
    corpus, report = make(tmp_path, text, pretokenized=True, heldout=0.2)
    parts = [
        [sentence[0] for sentence in sentences_of(corpus, part)]
        for part in (corpus.train, corpus.heldout)
    ]
    assert not set(parts[0]) & set(parts[1])
    assert all(part.count(name) == 6 for part in parts for name in set(part))
    assert 0.16 < report.facts["heldout"]["num_documents"] / len(numbers) < 0.24


def test_documents_are_counted_not_their_pieces(tmp_path: Path) -> None:
    documents = [f"the start of {n}\n" + "again and again\n" * 9 for n in range(7)]
    text = "\n".join([*documents, documents[0]])  # a copy is a document too
    _, report = make(tmp_path, text, pretokenized=True)
    assert report.facts["heldout_unit"] == "sentence"
    assert report.facts["train"]["num_documents"] == 8
    assert report.facts["heldout"]["num_documents"] == 0
    assert "train: 8 documents, 80 sentences" in next(iter(report.lines()))

    _, report = make(tmp_path, text, pretokenized=True, heldout=0.3)
    counts = [report.facts[part]["num_documents"] for part in ("train", "heldout")]
    assert all(0 < number <= 8 for number in counts) and sum(counts) >= 8

    long = "\n\n".join(f"number {n}\n" + "and so on\n" * 30 for n in range(12))
    _, report = make(tmp_path, long, pretokenized=True, max_document_bytes=100)
    assert report.facts["train"]["num_documents"] == 12
    assert json.loads((tmp_path / "data" / "corpus.json").read_text()) == report.facts


def test_a_single_document_is_held_out_by_sentence(tmp_path: Path) -> None:
    text = "\n".join(f"sentence number {n}" for n in range(40))
    corpus, _ = make(tmp_path, text, pretokenized=True, heldout=0.001)
    assert (corpus.train.num_sentences, corpus.heldout.num_sentences) == (39, 1)
    assert corpus.facts["heldout_unit"] == "sentence"


def test_words_seen_only_in_the_held_out_part_are_no_targets(tmp_path: Path) -> None:
    text = "\n\n".join(f"all w{n}" for n in range(300))
    corpus, _ = make(tmp_path, text, pretokenized=True, heldout=0.1)
    held_out = {sentence[1] for sentence in sentences_of(corpus, corpus.heldout)}
    assert held_out
    assert not held_out & set(corpus.vocabulary.words)
    assert corpus.facts["heldout"]["num_unknown"] == len(held_out)


def test_shuffling_moves_documents_as_a_whole(tmp_path: Path) -> None:
    text = "\n\n".join(f"{n} one\n{n} two" for n in range(50))
    corpus, _ = make(tmp_path, text, pretokenized=True, shuffle=True, seed=3)
    names = [sentence[0] for sentence in sentences_of(corpus, corpus.train)]
    assert names[::2] == names[1::2]
    assert names != sorted(names, key=int)
    assert sorted(set(names), key=int) == [str(n) for n in range(50)]


def test_the_result_does_not_depend_on_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_text, "_BLOCK_BYTES", 2000)
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join(f"Mr. {n} came. He saw {n % 7} of {n % 31}." for n in range(900)))
    config = PrepareConfig(heldout=0.1, vocabulary_size=50, max_types=300)
    for workers in (1, 3):
        prepare([text], tmp_path / f"data{workers}", config, num_workers=workers, quiet=True)
    assert files_of(tmp_path / "data1") == files_of(tmp_path / "data3")


def test_an_earlier_corpus_is_replaced_but_nothing_else_ever_is(tmp_path: Path) -> None:
    make(tmp_path, "one", pretokenized=True)
    corpus, _ = make(tmp_path, "two", pretokenized=True)
    assert sentences_of(corpus, corpus.train) == [["two"]]
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").touch()
    for name in ("home", "text.txt"):
        with pytest.raises(InputError, match=f"{name}: (holds other files|is a file)"):
            prepare([tmp_path / "text.txt"], tmp_path / name)
    assert (tmp_path / "home/thesis.tex").exists()


def test_the_checksum_follows_the_text_not_its_packing(tmp_path: Path) -> None:
    corpus, _ = make(tmp_path, "some words", pretokenized=True)
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(b"some words"))
    report = prepare(
        [packed], tmp_path / "other", PrepareConfig(pretokenized=True), num_workers=1, quiet=True
    )
    assert report.facts["inputs"] == corpus.facts["inputs"]
    saved = json.loads((tmp_path / "other/report.json").read_text())
    assert saved["sources"][0]["name"] == str(packed)


def test_a_killed_run_leaves_no_corpus_and_no_process_behind(tmp_path: Path) -> None:
    """Standard input stays open, so that the run is killed in the middle of its work."""
    program = (
        "from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare\n"
        f"prepare(['-'], {str(tmp_path / 'data')!r}, PrepareConfig(pretokenized=True),"
        " num_workers=2, quiet=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"some words of text\n" * 500_000)  # more blocks than may wait
    process.stdin.flush()
    process.kill()
    process.communicate(timeout=300)  # returns when the last process that holds the pipe has gone
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("vocabulary_size", 3), ("heldout", 1.0), ("heldout", -0.1), ("min_count", 0),
        ("max_types", 10), ("max_line_bytes", 5), ("max_sentence_tokens", 0),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_named(setting: str, value: float) -> None:
    with pytest.raises(InputError, match=setting):
        PrepareConfig(**{setting: value})


def heldout_documents(folder: Path, inputs: dict[str, list[str]], **settings: object) -> Corpus:
    for name, texts in inputs.items():
        (folder / f"{name}.txt").write_text("\n\n".join(texts))
    config = PrepareConfig(pretokenized=True, **settings)
    names = [folder / f"{name}.txt" for name in inputs]
    prepare(names, folder / "data", config, quiet=True, num_workers=1)
    return Corpus.open(folder / "data")


def numbered_documents(name: str, num_documents: int, num_words: int) -> list[str]:
    return [" ".join(f"{name}{d}" for _ in range(num_words)) for d in range(num_documents)]


def test_every_kind_of_text_has_a_held_out_part_and_a_small_corpus_gives_more(
    tmp_path: Path,
) -> None:
    corpus = heldout_documents(
        tmp_path,
        {"news": numbered_documents("n", 400, 50), "tales": numbered_documents("t", 60, 20)},
    )
    assert corpus.facts["kinds"] == ["news", "tales"]
    shares = {}
    for kind, name in enumerate(corpus.facts["kinds"]):
        heldout, train = (split.of_kind(kind) for split in (corpus.heldout, corpus.train))
        shares[name] = heldout.num_tokens / (heldout.num_tokens + train.num_tokens)
        first_letters = {words[0][0] for words in sentences_of(corpus, heldout)}
        assert first_letters == {name[0]}
    assert 0.04 < shares["news"] < 0.06 and 0.04 < shares["tales"] < 0.07  # five per cent of each


def test_the_kinds_of_all_sentences_make_up_the_whole(tmp_path: Path) -> None:
    corpus = heldout_documents(
        tmp_path, {"a": numbered_documents("a", 30, 3), "b": numbered_documents("b", 20, 4)},
        shuffle=True, heldout=0.3,
    )  # fmt: skip
    for split in (corpus.train, corpus.heldout):
        together = [s for kind in range(2) for s in sentences_of(corpus, split.of_kind(kind))]
        assert sorted(together) == sorted(sentences_of(corpus, split))


def test_no_more_is_held_out_of_a_large_corpus_than_measures_well() -> None:
    num_pieces = 2_000_000
    hashes = np.random.default_rng(1).integers(0, 2**64, num_pieces, dtype=np.uint64)
    lengths = np.full(num_pieces, 500)
    kinds = np.zeros(num_pieces, dtype=np.int64)
    stream = NumberedDocuments(Path("none"), lengths, hashes, hashes, kinds, ["text"])
    assignment = assign_parts(stream, None, None)
    assert lengths[assignment.is_heldout].sum() == pytest.approx(500_000, rel=0.1)


def test_all_pieces_of_a_long_document_go_the_same_way(tmp_path: Path) -> None:
    texts = ["\n".join(f"w{d}" for _ in range(200)) for d in range(40)]
    corpus = heldout_documents(tmp_path, {"novels": texts}, max_document_bytes=100, heldout=0.2)
    assert corpus.facts["heldout_unit"] == "document"
    words_of = [
        {words[0] for words in sentences_of(corpus, split)}
        for split in (corpus.train, corpus.heldout)
    ]
    assert words_of[1] and not words_of[0] & words_of[1]
