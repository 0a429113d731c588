"""Every snippet of the documentation runs, pasted as it is.

The blocks of a page run in order in one folder, which holds the small files that the page mentions
(tests/helpers/docs/page_files.py). A block that cannot run here has a comment above it in the page,
``<!-- not run: REASON -->``; its commands are still parsed, in the other file of this folder.
"""

from pathlib import Path

import pytest
from markdown_pages import PAGES, ROOT, read_page
from page_files import FILES_OF
from pasted import run_page

RUNNABLE = [
    path
    for path in PAGES
    if any(b.language in ("console", "python") and not b.not_run for b in read_page(path).blocks)
]


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_page_runs(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELMOKIT_CACHE", str(tmp_path / "cache"))
    page = read_page(path)
    FILES_OF.get(page.name, lambda: None)()
    run_page(page, monkeypatch, capsys)


def test_files_are_prepared_only_for_pages_that_run() -> None:
    assert set(FILES_OF) <= {str(path.relative_to(ROOT)) for path in RUNNABLE}
