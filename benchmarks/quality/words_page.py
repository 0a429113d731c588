"""Writes the results of words.sh into docs/guide/words.md.

    python benchmarks/quality/words_page.py RESULTS PAGE [--check]

A block of the page begins with ``<!-- from NAME.md -->`` and ends with ``<!-- end -->``; what
stands between them is replaced by RESULTS/NAME.md. Every result with a table must have a block, and
every block a result. ``--check`` writes nothing.
"""

import argparse
import re
from pathlib import Path

BLOCK = re.compile(r"(<!-- from (\S+)\.md -->\n).*?(<!-- end -->\n)", re.DOTALL)
LONG = 200
"""Lines of tables that are longer lose the spaces that align their columns."""


def filled(page: str, results: dict[str, str]) -> str:
    """The page with the results, by name, in its blocks."""
    blocks = [name for _, name, _ in BLOCK.findall(page)]
    wrong = sorted(set(blocks) ^ set(results))
    if wrong:
        raise SystemExit(f"not in both, the results and the blocks of the page: {', '.join(wrong)}")
    return BLOCK.sub(lambda block: f"{block[1]}\n{_text(results[block[2]])}\n\n{block[3]}", page)


def _text(result: str) -> str:
    lines = result.strip().split("\n")
    if max(map(len, lines)) > LONG:
        lines = [re.sub(r"(?: {2,}(?=\|)|(?<=\|-)-+(?=-\|))", _narrow, line) for line in lines]
    return "\n".join(lines)


def _narrow(found: re.Match[str]) -> str:
    return " " if found[0].startswith(" ") else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    texts = {path.stem: path.read_text() for path in sorted(options.results.glob("*.md"))}
    page = filled(options.page.read_text(), {name: text for name, text in texts.items() if text})
    if options.check:
        print(f"{options.page}: every block has its result")
    else:
        options.page.write_text(page)
        print(f"{options.page}: {len(BLOCK.findall(page))} blocks written")


if __name__ == "__main__":
    main()
