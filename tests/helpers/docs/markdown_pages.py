"""The documentation as data: fenced blocks, commands, code spans, links and headings of a page."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "report.md"),
    *sorted((ROOT / "src/elmokit/models").glob("*/README.md")),
]
LINKED_PAGES = [
    *PAGES,
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    ROOT / "docs/report/report.md",  # written by `elmokit report`
]

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int
    """Of its fence, from 1."""
    not_run: str | None
    """Why it cannot be run in a test: `<!-- not run: REASON -->` on the line before it."""
    shown: str | None = None
    """The block of output right below it, if there is one."""

    @property
    def commands(self) -> list[str]:
        """What a reader pastes from a console block, comments included."""
        joined = self.text.replace("\\\n", " ")
        return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


@dataclass(frozen=True)
class Page:
    """A file of Markdown."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def blocks(self) -> list[Block]:
        found = list(_BLOCK.finditer(self.text))
        blocks = []
        for match, following in zip(found, [*found[1:], None], strict=False):
            is_output = (
                following is not None
                and following["language"] == "text"
                and not self.text[match.end() : following.start()].strip()
            )
            line = self.text.count("\n", 0, match.start("text"))
            shown = following["text"] if following is not None and is_output else None
            blocks.append(Block(match["language"], match["text"], line, match["reason"], shown))
        return blocks

    @property
    def prose(self) -> str:
        """The text outside of the blocks."""
        return _BLOCK.sub("", self.text)

    @property
    def spans(self) -> list[str]:
        """Code inside sentences and tables; a span may go over a line's end."""
        return [" ".join(span.split()) for span in _SPAN.findall(self.prose)]

    @property
    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What `#...` can point to, as GitHub makes it from the headings."""
        headings = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def read_page(path: Path) -> Page:
    return Page(path, path.read_text(encoding="utf-8"))


def split_command(command: str) -> list[list[str]]:
    """A command line as a shell splits it: the words of each part of a pipeline."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in lexer:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def elmokit_arguments(words: list[str]) -> list[str] | None:
    """What follows `elmokit`, also behind a launcher such as torchrun; None: another program."""
    return words[words.index("elmokit") + 1 :] if "elmokit" in words else None
