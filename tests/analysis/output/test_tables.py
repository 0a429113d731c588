"""Tables: Markdown in a pipe, drawn on a terminal, never wider than it."""

import sys

import pytest

from elmokit.analysis.output.tables import Table, draw_table, print_tables

TABLE = Table(
    "Scores",
    ("", "a column with a long title", "F1"),
    (
        ("en-small, carried, the second layer of two", "12.5", "1,234"),
        ("paper: biLM | layer 2", "", "69.0"),
    ),
    "first line  \nsecond line",
)


def test_a_pipe_gets_markdown_with_bars_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables([TABLE])
    out = capsys.readouterr().out
    assert out == TABLE.markdown() + "\n"
    assert "paper: biLM \\| layer 2" in out


def test_a_terminal_gets_a_drawn_table_unless_markdown_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    print_tables([TABLE])
    drawn = capsys.readouterr().out
    assert "|" not in drawn.replace("biLM | layer", "")
    assert "─" in drawn
    print_tables([TABLE], markdown=True)
    assert capsys.readouterr().out.startswith("**Scores**")


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_drawn_table_fits_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], width: int
) -> None:
    draw_table(TABLE, width)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    for word in ("en-small,", "carried,", "second", "12.5", "1,234", "biLM", "title", "69.0"):
        assert any(word in line for line in lines), word
    assert any(line.rstrip() == "second line" for line in lines)


def test_numbers_are_aligned_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    draw_table(Table("t", ("name", "count"), (("a", "5"), ("b", "1,234"))), 60)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    (short,) = (line for line in lines if line.startswith("a"))
    (long,) = (line for line in lines if line.startswith("b"))
    assert len(short) == len(long)


def test_an_empty_table_has_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    draw_table(Table("t", ("cosine", "word"), (), "nothing here"), 60)
    out = capsys.readouterr().out
    assert "cosine" in out
    assert "nothing here" in out
