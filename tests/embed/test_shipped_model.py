"""The shipped model gives the same vectors on every machine.

After a new model was put into the package: python tests/embed/test_shipped_model.py
"""

import json
from pathlib import Path

import numpy as np

import elmokit
from elmokit.files import write_json

STORED = Path(__file__).parent / "shipped_vectors.json"
SENTENCES = ["I'd like to eat an apple.", "Zyzzogeton, Ärzte & 東京 — naïve co-operation in 1984!"]
EVERY = 37
"""Of the 512 numbers of a vector, each 37th is stored."""


def measured() -> list[list[list[list[float]]]]:
    """By sentence, layer and token."""
    layers = elmokit.load().layers(SENTENCES)
    return [array[:, :, ::EVERY].tolist() for array in layers]


def test_vectors_are_those_of_every_other_machine() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    for found, wanted in zip(measured(), stored, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-5)


if __name__ == "__main__":
    write_json(STORED, measured())
