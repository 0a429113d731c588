"""``elmokit static``: means over occurrences, and files that other libraries read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import elmokit
from elmokit import InputError
from elmokit.integrations.word2vec import StaticOptions, run_static
from elmokit.text.static_vectors import read_static_vectors

TEXT = "The cat sat . the cat\nnaïve cat sat\na dog\n"
SENTENCES = [line.split() for line in TEXT.splitlines()]
OPTIONS = StaticOptions(min_count=2, pretokenized=True, quiet=True)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def means(model: Path, mix: object, lowercase: bool = False) -> dict[str, np.ndarray]:
    """The slow twin: every vector of every word, then their means."""
    vectors: dict[str, list[np.ndarray]] = {}
    arrays = elmokit.load(model).embed(SENTENCES, mix)  # type: ignore[arg-type]
    for sentence, array in zip(SENTENCES, arrays, strict=True):
        for token, row in zip(sentence, array, strict=True):
            vectors.setdefault(token.lower() if lowercase else token, []).append(row)
    return {word: np.mean(rows, axis=0) for word, rows in vectors.items()}


@pytest.mark.parametrize("suffix", [".txt", ".vec", ".bin"])
@pytest.mark.parametrize("layers", ["average", "top", "concat", "0", "1", "-1"])
def test_vectors_are_means_over_occurrences(
    model: Path, text: Path, tmp_path: Path, suffix: str, layers: str
) -> None:
    out = tmp_path / f"vectors{suffix}"
    run_static(model, [str(text)], out, StaticOptions(layers, 2, pretokenized=True, quiet=True))
    found = read_static_vectors(out)
    expected = means(model, int(layers) if layers.lstrip("-").isdigit() else layers)
    assert found.words == ["cat", "sat"]
    for word in found.words:
        assert np.allclose(found.vector(word), expected[word], rtol=1e-5, atol=1e-6)


def test_lower_case_joins_the_occurrences_of_both_spellings(
    model: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "vectors.bin"
    options = StaticOptions(min_count=1, lowercase=True, pretokenized=True, quiet=True)
    run_static(model, [str(text)], out, options)
    found = read_static_vectors(out)
    expected = means(model, "average", lowercase=True)
    assert found.words == ["cat", "sat", "the", ".", "a", "dog", "naïve"]
    assert np.allclose(found.vectors, [expected[word] for word in found.words], atol=1e-6)


def test_running_text_is_split_into_sentences(model: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("The cat sat. The cat can't go.\n")
    out = tmp_path / "vectors.txt"
    run_static(model, [str(tmp_path / "text.txt")], out, StaticOptions(min_count=1, quiet=True))
    found = read_static_vectors(out)
    elmo = elmokit.load(model)
    first, second = elmo.embed([["The", "cat", "sat", "."], ["The", "cat", "ca", "n't", "go", "."]])
    assert np.allclose(found.vector("cat"), (first[1] + second[1]) / 2, atol=1e-5)
    assert found.words == [".", "The", "cat", "ca", "go", "n't", "sat"]


def test_sentences_of_words_met_often_enough_are_skipped(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a b\nb a\na c\n")
    options = StaticOptions(min_count=1, occurrences=1, pretokenized=True, quiet=True)
    run_static(model, [str(text)], tmp_path / "vectors.bin", options)
    found = read_static_vectors(tmp_path / "vectors.bin")
    first, last = elmokit.load(model).embed([["a", "b"], ["a", "c"]])
    expected = {"a": (first[0] + last[0]) / 2, "b": first[1], "c": last[1]}
    for word, vector in expected.items():
        assert np.allclose(found.vector(word), vector, atol=1e-6)


def test_the_commonest_words_are_kept(model: Path, text: Path, tmp_path: Path) -> None:
    options = StaticOptions(min_count=1, max_words=1, pretokenized=True, quiet=True)
    run_static(model, [str(text)], tmp_path / "vectors.txt", options)
    assert read_static_vectors(tmp_path / "vectors.txt").words == ["cat"]


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.bin"])
def test_gensim_reads_them(model: Path, text: Path, tmp_path: Path, name: str) -> None:
    gensim = pytest.importorskip("gensim.models", reason="needs gensim")
    run_static(model, [str(text)], tmp_path / name, OPTIONS)
    vectors = gensim.KeyedVectors.load_word2vec_format(
        str(tmp_path / name), binary=name.endswith(".bin")
    )
    ours = read_static_vectors(tmp_path / name)
    assert vectors.index_to_key == ours.words
    assert np.allclose(vectors["cat"], ours.vector("cat"))


def test_gensim_reads_them_without_a_header(model: Path, text: Path, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models", reason="needs gensim")
    out = tmp_path / "vectors.txt"
    options = StaticOptions(min_count=2, pretokenized=True, has_header=False, quiet=True)
    run_static(model, [str(text)], out, options)
    assert out.read_text().startswith("cat ")
    vectors = gensim.KeyedVectors.load_word2vec_format(str(out), no_header=True)
    assert vectors["sat"].shape == (8,)


def test_spacy_reads_them(model: Path, text: Path, tmp_path: Path) -> None:
    import spacy
    from spacy.training.initialize import convert_vectors

    run_static(model, [str(text)], tmp_path / "vectors.txt", OPTIONS)
    nlp = spacy.blank("en")
    convert_vectors(nlp, tmp_path / "vectors.txt", truncate=0, prune=-1)
    ours = read_static_vectors(tmp_path / "vectors.txt")
    assert np.allclose(nlp("cat")[0].vector, ours.vector("cat"))


def test_the_command_writes_and_says_so(model: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "vectors.txt"
    command = ["static", str(model), str(text), "-o", str(out), "--min-count", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "elmokit", *command], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [f"{out}: 2 words, 8 dimensions"]
    assert out.read_text().splitlines()[0] == "2 8"


def test_what_cannot_be_done_is_said_before_any_work(
    model: Path, text: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"must end in one of \.txt, \.vec, \.bin"):
        run_static(model, [str(text)], tmp_path / "vectors.h5", OPTIONS)
    with pytest.raises(InputError, match="one layer or a mix of them, got '0,2'"):
        run_static(model, [str(text)], tmp_path / "vectors.txt", StaticOptions("0,2"))
    with pytest.raises(InputError, match="a pipe cannot do"):
        run_static(model, ["-"], tmp_path / "vectors.txt", OPTIONS)
    with pytest.raises(InputError, match="no word occurs 9 times"):
        run_static(model, [str(text)], tmp_path / "vectors.txt", StaticOptions(min_count=9))
    with pytest.raises(InputError, match=r"missing\.txt: no such file"):
        run_static(model, ["missing.txt"], tmp_path / "vectors.txt", OPTIONS)
    assert not list(tmp_path.glob("vectors*"))
