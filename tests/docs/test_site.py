"""The web site of `make docs`: complete, whole, and without a request to anybody else."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_pages import ROOT

import elmokit
import elmokit.tasks

DOCS = ROOT / "docs"
SOURCE = ROOT / "src/elmokit"
API_PAGES = sorted((DOCS / "reference/api").glob("*.md"))
INTERNAL = {"shared"}
"""Modules of integrations/ that serve the others."""


def public_definitions(folder: str) -> set[str]:
    """Dotted names of the functions and classes in the modules of a folder."""
    found = set()
    for path in (SOURCE / folder).glob("[!_]*.py"):
        if path.stem in INTERNAL:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if is_definition and not node.name.startswith("_"):
                found.add(f"elmokit.{folder}.{path.stem}.{node.name}")
    return found


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in API_PAGES)
    shown = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    public = {f"elmokit.{name}" for name in elmokit.__all__}
    public |= {f"elmokit.tasks.{name}" for name in elmokit.tasks.__all__}
    public |= public_definitions("compat") | public_definitions("integrations")
    assert public - set(shown) == set()
    assert len(shown) == len(set(shown)), "a name is shown twice"


def test_the_navigation_names_every_page() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"^ +- [^:]+: (\S+\.md)$", settings, re.MULTILINE))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    notebooks = (ROOT / "examples/notebooks").glob("*.ipynb")
    assert named == pages | {f"source/examples/notebooks/{path.name}.md" for path in notebooks}


def test_files_of_the_documentation_that_other_files_name_exist() -> None:
    """In docstrings, messages, settings and scripts; Markdown pages have tests of their own."""
    folders = ("src", "tests", "benchmarks", "reliability", "examples", ".github")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [ROOT / name for name in ("Makefile", "CHANGELOG.md", "CONTRIBUTING.md")]
    missing = []
    for path in files:
        if path.suffix in (".py", ".toml", ".sh", ".yml", ".md", "") and path.stat().st_size:
            text = path.read_text(encoding="utf-8", errors="replace")
            named = re.findall(r"(?<![\w/.\"])docs/[\w./-]*\w\.(?:md|html|png|svg)", text)
            missing += [f"{path}: {name}" for name in named if not (ROOT / name).exists()]
    assert not missing, "\n".join(missing)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    built = subprocess.run(
        [*command, "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    page = (tmp_path / "site/reference/api/embedding.html").read_text(encoding="utf-8")
    assert 'id="elmokit.Embedder.embed_text"' in page
    commands = (tmp_path / "site/reference/command-line.html").read_text(encoding="utf-8")
    assert "elmokit task train" in commands and "--pretokenized" in commands
    example = (tmp_path / "site/source/examples/task_model.py.html").read_text(encoding="utf-8")
    assert "Tagger" in example
    for path in (tmp_path / "site").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<(?:script|img|iframe|link)[^>]+(?:src|href)=\"?https?://", text), (
            path
        )
