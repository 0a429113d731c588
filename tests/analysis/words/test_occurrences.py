"""One word in its sentence: found, compared, drawn, and looked up among its neighbours."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.output.pictures import write_picture
from elmokit.analysis.probes.sense_data import SenseInstance, SenseSentence
from elmokit.analysis.words.build_index import build_index, index_texts
from elmokit.analysis.words.compare import compare_occurrences, comparison_picture, comparison_table
from elmokit.analysis.words.demo import CASES, demo, demo_picture, demo_tables
from elmokit.analysis.words.index import open_index
from elmokit.analysis.words.neighbours import context_neighbours, neighbours_tables
from elmokit.analysis.words.occurrences import Occurrence, cosine, find_marked, find_word
from elmokit.analysis.words.sense_map import (
    NO_SENSE,
    occurrences_in_semcor,
    occurrences_in_text,
    principal_components,
    sense_map,
    sense_map_picture,
    sense_map_table,
)
from elmokit.analysis.words.texts import read_sentences
from elmokit.cli.words import parse_layers
from elmokit.errors import InputError
from elmokit.text.static_vectors import StaticVectors

pytest.importorskip("usearch")


def vector(layer: int, sentence: Sequence[str], place: int) -> list[float]:
    """Layer 0: the word alone. Layer 1: the word, and the one before it twice as strong."""
    here = [float(sentence[place].casefold() == word) for word in ("play", "ball", "broadway")]
    if layer == 0:
        return [*here, 0.0, 0.1]
    before = sentence[place - 1].casefold() if place else ""
    return [*here, 2.0 * (before == "ball"), 2.0 * (before == "broadway")]


TOY = ToyEncoder(vector, 2)
TEXT = [
    ["A", "ball", "play", "ended", "it", "."],
    ["The", "Broadway", "play", "ended", "."],
    [],
    ["Their", "ball", "play", "was", "fine", "."],
]


def test_word_is_found_whatever_its_case() -> None:
    assert find_word("apple", "I like the products of Apple.").place == 5


def test_marked_word_is_found_among_several() -> None:
    occurrence = find_word("play", "They *play* a play.")
    assert (occurrence.tokens, occurrence.place) == (["They", "play", "a", "play", "."], 1)
    assert occurrence.text() == "They *play* a play ."


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        ("They sing.", "is not a token of"),
        ("They play a play.", "2 times"),
        ("They *sing* a play.", "'sing' is marked"),
    ],
)
def test_word_that_is_not_there_once_is_refused(sentence: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        find_word("play", sentence)


@pytest.mark.parametrize(
    ("sentence", "complaint"),
    [
        ("no mark", "mark one word with asterisks"),
        ("*two* *marks*", "only one word"),
        ("I *can't* go", r"2 tokens \(ca \+ n't\)"),
    ],
)
def test_marks_that_are_not_one_word_are_refused(sentence: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        find_marked(sentence)


def test_cosine_of_nothing_is_zero() -> None:
    assert cosine(np.zeros(3, np.float32), np.ones(3, np.float32)) == 0
    assert cosine(np.array([3, 4], np.float32), np.array([6, 8], np.float32)) == pytest.approx(1)


def test_uses_in_other_contexts_drift_apart_above_the_token_layer() -> None:
    sentences = ["A ball play.", "A Broadway play.", "The ball play."]
    result = compare_occurrences(TOY, "play", sentences)
    assert [(pair.first, pair.second) for pair in result.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert [pair.similarity for pair in result.pairs] == [
        pytest.approx((1, 0.2)),
        pytest.approx((1, 1)),
        pytest.approx((1, 0.2)),
    ]
    assert all(pair.static == 1 for pair in result.pairs)
    assert "| 1 and 2 " in comparison_table(result).markdown()
    assert "</svg>" in comparison_picture(result).svg


def test_static_vectors_of_a_file_stand_beside() -> None:
    rows = np.array([[1, 0], [0, 1]], dtype=np.float32)
    sentences = ["A play.", "The Play."]
    cased = compare_occurrences(
        TOY, "play", sentences, StaticVectors(["play", "Play"], rows, "toy")
    )
    assert cased.pairs[0].static == 0
    folded = compare_occurrences(TOY, "play", sentences, StaticVectors(["play", "x"], rows, "toy"))
    assert folded.pairs[0].static == 1
    with pytest.raises(InputError, match="no vector for 'play'"):
        compare_occurrences(TOY, "play", sentences, StaticVectors(["a", "b"], rows, "toy"))
    with pytest.raises(InputError, match="at least two"):
        compare_occurrences(TOY, "play", sentences[:1])


def test_demo_compares_both_senses_of_both_words(tmp_path: Path) -> None:
    result = demo(TOY)
    assert [found.case.word for found in result.cases] == ["apple", "play"]
    played = result.cases[1]
    assert played.apart == pytest.approx((1, 1 / np.sqrt(5)))  # "Broadway play"
    assert played.alike[0] == pytest.approx((1, 1))
    assert len(demo_tables(result)) == 2
    assert "“play”, same sense: sport: 1.00 at static (uncased), 1.00 at layer 1" in (
        demo_picture(result).alt
    )
    write_picture(demo_picture(result), tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match=r"end in \.png or \.svg"):
        write_picture(demo_picture(result), tmp_path / "demo.pdf")


def test_every_sentence_of_the_demo_has_its_word_once() -> None:
    for case in CASES:
        for sentence in (*case.sentences, *case.alike[0], *case.alike[1]):
            assert find_word(case.word, sentence).word.casefold() == case.word


def test_pictures_are_the_same_every_time() -> None:
    assert demo_picture(demo(TOY)) == demo_picture(demo(TOY))


@pytest.mark.parametrize("exact_tokens", [100, 0])
def test_nearest_uses_share_the_context(tmp_path: Path, exact_tokens: int) -> None:
    report = build_index(TOY, TEXT, tmp_path / "index", exact_tokens=exact_tokens, quiet=True)
    assert (report.num_sentences, report.num_tokens, report.layers) == (3, 17, (1,))
    assert report.is_exact == (exact_tokens == 100)
    index = open_index(tmp_path / "index")
    found = index.neighbours(TOY, find_marked("A new ball *play* came."), number=3)
    assert {found[0].occurrence.text(), found[1].occurrence.text()} == {
        "A ball *play* ended it .",
        "Their ball *play* was fine .",
    }
    assert found[0].similarity == pytest.approx(1, abs=1e-3)
    assert found[2].similarity < 0.9


def test_the_sentence_itself_is_no_neighbour(tmp_path: Path) -> None:
    build_index(TOY, TEXT * 30, tmp_path / "index", quiet=True)
    occurrence = Occurrence(TEXT[0], 2)
    found = open_index(tmp_path / "index").neighbours(TOY, occurrence, number=5)
    texts = [neighbour.occurrence.text() for neighbour in found]
    assert texts[0] == "Their ball *play* was fine ."
    assert len(set(texts)) == 5  # thirty of each, told once


def test_index_knows_its_model_and_its_text(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A ball play. The Broadway play.\n")
    report = index_texts(TOY, [str(text)], tmp_path / "index", max_tokens=7, quiet=True)
    assert report.num_tokens == 4  # the second sentence would make it eight
    index = open_index(tmp_path / "index")
    assert index.is_of(TOY, [str(text)], 7)
    assert not index.is_of(TOY, [str(text)])
    assert not index.is_of(TOY, ["other.txt"], 7)
    (tmp_path / "index" / "index.json").write_text('{"format": ')
    with pytest.raises(InputError, match="make the index again"):
        open_index(tmp_path / "index")


def test_static_neighbours_stand_beside_those_in_context(tmp_path: Path) -> None:
    build_index(TOY, TEXT, tmp_path / "index", quiet=True)
    index = open_index(tmp_path / "index")
    found = context_neighbours(index, TOY, "A ball *play*.", number=2)
    context, static = neighbours_tables(found)
    assert len(context.rows) == len(static.rows) == 2
    assert "token layer" in static.title
    unknown = context_neighbours(index, TOY, "A *xyz*.")
    assert "no vector there" in neighbours_tables(unknown)[1].note


def test_index_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to index"):
        build_index(TOY, [[], []], tmp_path / "index", quiet=True)
    assert not (tmp_path / "index").exists()
    with pytest.raises(InputError, match="no index here"):
        open_index(tmp_path / "index")


def test_only_an_index_is_replaced_and_never_read_as_text(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("A ball play.\n")
    with pytest.raises(InputError, match="texts: holds other files"):
        index_texts(TOY, [str(texts)], texts, quiet=True)
    with pytest.raises(InputError, match=r"a\.txt: is a file"):
        index_texts(TOY, [str(texts)], texts / "a.txt", quiet=True)
    for _ in range(2):  # the second time an index lies inside the folder
        report = index_texts(TOY, [str(texts)], texts / "index", quiet=True)
        assert report.num_tokens == 4


def test_index_refuses_other_models_layers_and_cut_files(tmp_path: Path) -> None:
    build_index(TOY, TEXT, tmp_path / "index", quiet=True)
    index, occurrence = open_index(tmp_path / "index"), Occurrence(["play"], 0)
    other = ToyEncoder(vector, 2)
    other.fingerprint = "other"
    with pytest.raises(InputError, match="another model"):
        index.neighbours(other, occurrence)
    with pytest.raises(InputError, match="holds layers 1, not 0"):
        index.neighbours(TOY, occurrence, layer=0)
    (tmp_path / "index" / "layer-1.f16").write_bytes(b"x")
    with pytest.raises(InputError, match="cut short"):
        index.neighbours(TOY, occurrence)
    with pytest.raises(InputError, match="layers 0 to 1, not 2"):
        build_index(TOY, TEXT, tmp_path / "index", layers=[2], quiet=True)
    assert parse_layers("1,2") == [1, 2]
    with pytest.raises(InputError, match="got '1;2'"):
        parse_layers("1;2")


def test_plain_and_pretokenized_text_become_sentences(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("He left. She can't go.\n\nThe end.\n")
    assert list(read_sentences([str(tmp_path / "a.txt")])) == [
        ["He", "left", "."],
        ["She", "ca", "n't", "go", "."],
        ["The", "end", "."],
    ]
    (tmp_path / "b.txt").write_text("ca n't go . x\n" + "w " * 500 + "\n")
    found = list(read_sentences([str(tmp_path / "b.txt")], pretokenized=True))
    assert [len(sentence) for sentence in found] == [5, 400, 100]


PLAYS = [
    SenseSentence(["ball", "play"], [SenseInstance("play", "NOUN", ("play%1:04:00::",), 1, 2)]),
    SenseSentence(["Broadway", "play"], [SenseInstance("play", "NOUN", ("play%1:10:01::",), 1, 2)]),
    SenseSentence(["Play", "it"], []),
    SenseSentence(["it", "plays"], [SenseInstance("play", "VERB", ("play%2:33:00::",), 1, 2)]),
    SenseSentence(
        ["play", "group"], [SenseInstance("play_group", "NOUN", ("play_group%1:14:00::",), 0, 2)]
    ),
]


def test_uses_are_coloured_by_their_sense() -> None:
    occurrences = occurrences_in_semcor(PLAYS, "play")
    assert [occurrence.sense for occurrence in occurrences] == [
        "play%1:04:00::",
        "play%1:10:01::",
        NO_SENSE,
        NO_SENSE,
    ]
    occurrences += occurrences_in_text([["a", "ball", "play", "."]], "play")
    result = sense_map(TOY, "play", occurrences)
    assert result.layer == "layer 1"
    assert result.points.shape == (5, 2)
    assert np.allclose(result.points[0], result.points[4])  # the same context
    assert "5 occurrences of" in sense_map_picture(result).caption
    assert sense_map_table(result).rows[-1][:2] == (NO_SENSE, "3")


def test_uses_with_a_sense_are_drawn_before_those_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmokit.analysis.words.sense_map.MAX_OCCURRENCES", 4)
    text = occurrences_in_text([["a", "ball", "play"]] * 9, "play")
    result = sense_map(TOY, "play", [*text, *occurrences_in_semcor(PLAYS, "play")])
    assert [occurrence.sense for occurrence in result.occurrences[:2]] == [
        "play%1:04:00::",
        "play%1:10:01::",
    ]
    assert len(result.occurrences) == 4
    assert "4 of 13 occurrences of" in sense_map_picture(result).caption


def test_maps_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(InputError, match="at least 3 occurrences"):
        sense_map(TOY, "play", occurrences_in_semcor(PLAYS, "play")[:2])
    with pytest.raises(InputError, match="layers 0 to 1"):
        sense_map(TOY, "play", occurrences_in_semcor(PLAYS, "play"), layer=5)


def test_principal_components_find_the_long_axis() -> None:
    generator = np.random.default_rng(0)
    points = generator.standard_normal((200, 3)) * [0.1, 5, 1]
    found, explained = principal_components(points)
    centred = points - points.mean(axis=0)
    assert abs(np.corrcoef(found[:, 0], centred[:, 1])[0, 1]) > 0.999
    assert explained[0] > 0.9
    flat, shares = principal_components(np.zeros((4, 1)))
    assert flat.shape == (4, 2)
    assert shares == (0, 0)


@pytest.mark.parametrize("text", ["[]", '{"format": "elmokit-index", "version": 1}', "\x00"])
def test_damaged_description_of_an_index_is_one_sentence(tmp_path: Path, text: str) -> None:
    build_index(TOY, TEXT, tmp_path / "index", quiet=True)
    (tmp_path / "index" / "index.json").write_text(text)
    with pytest.raises(InputError, match=r"index\.json.*make the index again"):
        open_index(tmp_path / "index")


@pytest.mark.parametrize("name", ["tokens.npy", "sentences.npy", "sentences.txt", "words.npy"])
@pytest.mark.parametrize("damage", [b"", b"junk"])
def test_damaged_file_of_an_index_is_named(tmp_path: Path, name: str, damage: bytes) -> None:
    build_index(TOY, TEXT, tmp_path / "index", quiet=True)
    (tmp_path / "index" / name).write_bytes(damage)
    with pytest.raises(InputError, match=f"{name}: missing or .*; make the index again"):
        context_neighbours(open_index(tmp_path / "index"), TOY, "A ball *play*.")


def test_damaged_graph_of_an_index_is_named(tmp_path: Path) -> None:
    build_index(TOY, TEXT, tmp_path / "index", exact_tokens=0, quiet=True)
    (tmp_path / "index" / "layer-1.usearch").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"layer-1\.usearch: missing or damaged"):
        context_neighbours(open_index(tmp_path / "index"), TOY, "A ball *play*.")
