"""spaCy finds the component and the layer by itself, through the package's entry points."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

SCRIPT = """
import sys
import spacy
nlp = spacy.blank("en")
nlp.add_pipe("elmokit", config={"model": sys.argv[1]})
print(nlp("The cat sat.").tensor.shape)
print(spacy.registry.architectures.get("elmokit.Tok2Vec.v1")(width=8).get_dim("nO"))
"""


def test_spacy_knows_elmokit_without_an_import(model: Path) -> None:
    if not any(entry.name == "elmokit" for entry in entry_points(group="spacy_factories")):
        pytest.skip("elmokit was installed before it had entry points: pip install -e . again")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(model)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(4, 8)", "8"]
