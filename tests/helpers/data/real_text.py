"""Real text of many kinds, for tests that compare us with NLTK on it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ELMOKIT_CORPUS", "/root/data/corpus"))
"""Plain text files, one per kind; not part of the repository."""
_BYTES_PER_FILE = 120_000


def real_texts() -> Iterator[str]:
    """Some of each file, from its middle."""
    files = sorted(FOLDER.glob("*.txt"))
    if not files:
        pytest.skip(f"{FOLDER} holds no text (ELMOKIT_CORPUS names a folder of .txt files)")
    for path in files:
        with path.open("rb") as file:
            file.seek(path.stat().st_size // 2)
            yield file.read(_BYTES_PER_FILE).decode(errors="replace")
