"""Which occurrences of a word a map shows, and what it calls their senses."""

from pathlib import Path

import pytest

from elmokit.analysis.probes.wordnet import read_wordnet
from elmokit.analysis.words.sense_map import NO_SENSE, read_occurrences, sense_name
from elmokit.errors import InputError


def test_senses_are_named_as_people_say_them(wsd: Path) -> None:
    wordnet = read_wordnet(wsd / "wordnet30")
    assert sense_name("play%1:10:01::", wordnet) == "play, noun 1"
    assert sense_name("play%1:04:00::", wordnet) == "play, noun 2"
    assert sense_name("single%5:00:00:individual:00", wordnet) == "single, adj 2"
    assert sense_name(NO_SENSE, wordnet) == NO_SENSE


def test_uses_are_read_from_semcor_and_from_text(wsd: Path, tmp_path: Path) -> None:
    found = read_occurrences(wsd, "play")
    assert [
        (occurrence.occurrence.tokens[occurrence.occurrence.place], occurrence.sense)
        for occurrence in found
    ] == [
        ("play", "play, noun 1"),
        ("play", "play, noun 2"),
        ("Play", NO_SENSE),  # of the Play Group, a name
    ]
    text = tmp_path / "text.txt"
    text.write_text("They play ball. He plays.\n")
    more = read_occurrences(wsd, "play", [str(text)])
    assert more[:3] == found
    assert [occurrence.occurrence.tokens for occurrence in more[3:]] == [
        ["They", "play", "ball", "."]
    ]


def test_a_word_without_senses_needs_text(wsd: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SemCor has no occurrence of 'ball' with a sense"):
        read_occurrences(wsd, "ball")
    text = tmp_path / "text.txt"
    text.write_text("They play ball.\n")
    assert [occurrence.sense for occurrence in read_occurrences(wsd, "ball", [str(text)])] == [
        NO_SENSE,
        NO_SENSE,
    ]
