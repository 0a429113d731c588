"""What MkDocs cannot do by itself, for `make docs`.

- Links in docs/ are relative to their file, as on GitHub. Where one leads out of docs/ (an example,
  a notebook, SECURITY.md), the site gets a page ``source/PATH`` that shows that file, and the link
  leads there.
- ``<!-- README.md: HEADING -->`` stands for that section of the README.
- ``<!-- commands -->`` stands for the reference of the command line.
"""

import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs/report/report.html"
"""The report as one file; on the site, report.md has this address."""
_ESCAPED = {"<": "&lt;", **{character: f"\\{character}" for character in "|*_[]"}}
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file outside of docs/ that a page links to."""
    waiting = [Path(config.docs_dir, file.src_uri) for file in files.documentation_pages()]
    waiting += sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
    for path in waiting:  # grows: a file outside may link to another
        uri = site_uri(path)
        if uri.startswith("source/") and files.get_file_from_path(uri) is None:
            files.append(File.generated(config, uri, content=as_markdown(path)))
        waiting += [
            target for target in linked_files(path) if site_uri(target).startswith("source/")
        ]
    files.append(File.generated(config, site_uri(REPORT), abs_src_path=str(REPORT)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what the page only names, then point its links into the site."""
    markdown = re.sub(
        r"<!-- README\.md: (.+?) -->", lambda match: readme_section(match[1]), markdown
    )
    markdown = markdown.replace("<!-- commands -->", "\n".join(command_reference()))
    if page.parent is None:
        page.meta["hide"] = ["navigation"]  # a list of one page
    here = page.file.src_uri
    origin = repository_path(here)

    def link(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(origin.parent / match[1]))
        if not target.is_file():
            return match[0]  # not one of ours; MkDocs warns if it should be
        return os.path.relpath(site_uri(target), os.path.dirname(here) or ".") + (match[2] or "")

    return _LINK.sub(link, markdown)


def site_uri(path: Path) -> str:
    """Where the site shows a file of the repository."""
    if path == REPORT:
        return "report/one-file.html"
    if path.is_relative_to(ROOT / "docs"):
        return path.relative_to(ROOT / "docs").as_posix()
    suffix = "" if path.suffix == ".md" else ".md"
    return f"source/{path.relative_to(ROOT).as_posix()}{suffix}"


def repository_path(uri: str) -> Path:
    """The inverse of ``site_uri``."""
    if not uri.startswith("source/"):
        return ROOT / "docs" / uri
    path = ROOT / uri.removeprefix("source/")
    return path if path.exists() else path.with_suffix("")


def linked_files(path: Path) -> Iterator[Path]:
    """Files of the repository that a Markdown file links to."""
    text = as_markdown(path) if path.suffix in (".md", ".ipynb") else ""
    for name, _ in _LINK.findall(text):
        target = Path(os.path.normpath(path.parent / name))
        if target.is_file():
            yield target


def as_markdown(path: Path) -> str:
    """A file as a page: Markdown as it is, a notebook cell by cell, code in one block."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        return text
    if path.suffix != ".ipynb":
        return f"# {name}\n\n```{path.suffix.removeprefix('.')}\n{text}```\n"
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join([*parts, f"This page is the notebook `{name}`.\n"])


def readme_section(heading: str) -> str:
    """The text below a heading of the README, up to the next one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0].strip()


def command_reference() -> Iterator[str]:
    """Every command with its arguments and options, asked from the command line itself."""
    cli = import_module("elmokit.cli")
    for module in iter_modules(cli.__path__):  # each adds its commands to ``app``
        import_module(f"elmokit.cli.{module.name}")
    root = typer.main.get_command(cli.app)
    commands = [command for command in root.commands.values() if not command.hidden]  # type: ignore[attr-defined]
    for panel in (cli.EMBED, cli.WORDS, cli.PRETRAIN, cli.ANALYSE):
        yield f"## {panel}\n"
        for command in commands:
            if command.rich_help_panel == panel:
                yield from describe_command(command, "elmokit")


def describe_command(command: Any, parent: str) -> Iterator[str]:
    """A command, or the commands of a group."""
    name = f"{parent} {command.name}"
    for below in getattr(command, "commands", {}).values():
        yield from describe_command(below, name)
    if hasattr(command, "commands"):
        return
    context = command.context_class(command, info_name=name)
    usage = " ".join(command.get_usage(context).split()[1:])
    yield f"### {name}\n\n{as_written(command.help)}\n\n```text\n{usage}\n```\n"
    rows = [
        parameter.get_help_record(context) for parameter in command.params if not parameter.hidden
    ]
    if any(rows):
        yield "| | |\n|---|---|"
        for names, says in filter(None, rows):
            yield f"| `{names}` | {as_written(' '.join(says.split()))} |"
        yield ""


def as_written(text: str) -> str:
    """Text in which only backticks are markup, as in the help on a terminal."""
    return re.sub(r"`[^`]+`|[|*_<\[\]]", lambda match: _ESCAPED.get(match[0], match[0]), text)
