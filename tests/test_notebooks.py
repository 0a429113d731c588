"""The notebooks run from top to bottom, and are stored without what they print."""

import json
from pathlib import Path

import pytest

import elmokit

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples/notebooks").glob("*.ipynb"))
LEAVES = {
    "first_steps": [],
    "pretrain": ["corpus", "run/log.jsonl", "model/model.safetensors"],
    "explore_a_word": ["bank.html"],
}
"""What a notebook has written when it is through."""

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@every_notebook
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("PYTHONPATH", str(Path(elmokit.__file__).parents[1]))  # for the kernel
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
    assert all((tmp_path / name).exists() for name in LEAVES[path.stem])


@every_notebook
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
