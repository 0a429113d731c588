"""CoNLL columns in every scheme, and what is wrong with broken ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.errors import InputError
from elmokit.tasks.data.entities import (
    Entity,
    RawSentence,
    bioes_tags,
    entities_of,
    parse_sentences,
    read_entities,
)


@st.composite
def flat_entities(draw: st.DrawFn) -> tuple[list[Entity], int]:
    """Entities that do not overlap, and the number of tokens."""
    pieces = draw(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("OXY")), max_size=6))
    place, entities = 0, []
    for length, label in pieces:
        if label != "O":
            entities.append(Entity(place, place + length, label))
        place += length
    return entities, place


def iob2_tags(entities: list[Entity], num_tokens: int) -> list[str]:
    """What most programs write."""
    tags = ["O"] * num_tokens
    for start, end, label in entities:
        tags[start:end] = [f"I-{label}"] * (end - start)
        tags[start] = f"B-{label}"
    return tags


@given(flat_entities())
def test_spans_survive_every_scheme(case: tuple[list[Entity], int]) -> None:
    entities, num_tokens = case
    assert list(entities_of(bioes_tags(entities, num_tokens))) == entities
    assert list(entities_of(iob2_tags(entities, num_tokens))) == entities


def test_iob1_marks_a_beginning_only_where_it_must() -> None:
    assert entities_of(["I-X", "I-X", "B-X", "O", "I-Y"]) == (
        Entity(0, 2, "X"),
        Entity(2, 3, "X"),
        Entity(4, 5, "Y"),
    )


def test_bilou_is_read_too() -> None:
    assert entities_of(["B-X", "L-X", "U-Y"]) == (Entity(0, 2, "X"), Entity(2, 3, "Y"))


def test_columns_between_word_and_tag_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text("-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nsaid VBD I-VP O\n\n\nOK UH O O")
    first, second = read_entities(path)
    assert first.tokens == ("EU", "said")
    assert first.entities == (Entity(0, 1, "ORG"),)
    assert second.tokens == ("OK",)


def test_a_line_of_a_tab_ends_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text("a\tO\n\t\nb\tB-x\r\n")
    assert [sentence.tokens for sentence in read_entities(path)] == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a O\nb\n", "line 2: one column"),
        ("EU I-ORG NNP\n", "line 1: the last column must be a tag.*'NNP'"),
        ("a\tB-\n", "line 1: the last column must be a tag"),
    ],
)
def test_a_wrong_column_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_entities(path)


def test_what_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.conll"
    path.write_bytes(b"caf\xe9 O\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_entities(path)


def test_plain_text_is_one_sentence_per_line() -> None:
    found = list(parse_sentences(["I saw Rome.\n", "\n", "So?\n"], "here"))
    assert [sentence.tokens for sentence in found] == [("I", "saw", "Rome", "."), (), ("So", "?")]


def test_tokens_of_raw_text_know_their_characters() -> None:
    (found,) = parse_sentences(["  I saw  New York.\r\n"], "here")
    assert isinstance(found, RawSentence)
    assert [found.text[first:end] for first, end in found.offsets] == list(found.tokens)
    assert found.offsets[2] == (9, 12)


def test_wnut_has_the_sentences_its_readme_counts(shared_data: Path) -> None:
    files = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    counts = [len(read_entities(shared_data / "wnut17" / name)) for name in files]
    assert counts == [3394, 1009, 1287]
