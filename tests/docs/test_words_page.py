"""The tables of docs/guide/words.md stand in blocks that benchmarks/quality/words.sh fills."""

import re
import runpy
from pathlib import Path

import pytest
from markdown_pages import ROOT

QUALITY = ROOT / "benchmarks" / "quality"
FILLED = runpy.run_path(str(QUALITY / "words_page.py"))["filled"]


def test_a_block_takes_its_result_and_the_rest_stays() -> None:
    page = "A\n<!-- from x.md -->\n\nold\n\n<!-- end -->\nB\n"
    new = FILLED(page, {"x": "| a |\n|---|\n"})
    assert new == "A\n<!-- from x.md -->\n\n| a |\n|---|\n\n<!-- end -->\nB\n"
    assert FILLED(new, {"x": "| a |\n|---|\n"}) == new


def test_a_long_table_loses_the_spaces_that_align_it() -> None:
    long = "x" * 300
    given = f"| a   | b |\n|-----|---|\n| one | {long} |\n"
    new = FILLED("<!-- from x.md -->\n<!-- end -->\n", {"x": given})
    assert f"| a | b |\n|---|---|\n| one | {long} |" in new


def test_a_result_without_a_block_and_a_block_without_a_result_are_named() -> None:
    with pytest.raises(SystemExit, match="x, y"):
        FILLED("<!-- from x.md -->\n<!-- end -->\n", {"y": "b"})


def test_every_block_of_the_page_is_a_part_of_the_script() -> None:
    page = (ROOT / "docs" / "guide" / "words.md").read_text()
    blocks = set(re.findall(r"<!-- from (\S+)\.md -->", page))
    script = (QUALITY / "words.sh").read_text()
    parts = set(re.findall(r"^([a-z-]+)\(\) \{", script, re.MULTILINE))
    helpers = {"text", "compare", "part", "pseudo-change", "surprisal"}  # surprisal: a figure alone
    assert blocks == parts - helpers
    assert Path(ROOT / "docs" / "guide" / "figures" / "surprisal.svg").is_file()
