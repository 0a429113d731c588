"""Without its library an integration names the pip command, and nothing else of elmokit cares."""

import subprocess
import sys

import pytest

NEEDS = {
    "spacy": ("spacy", "spacy"),
    "spacy_layer": ("spacy", "spacy"),
    "sklearn": ("sklearn", "sklearn"),
    "hub": ("huggingface_hub", "hub"),
    "sentence_transformers": ("sentence_transformers", "sentence-transformers"),
    "ray": ("ray", "ray"),
    "ray_index": ("ray", "ray"),
}
SCRIPT = """
import sys
from importlib import import_module
for module, package in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.modules[package] = None  # importing it fails, as if it were not installed
import elmokit
for module in sys.argv[1::2]:
    try:
        import_module(f"elmokit.integrations.{module}")
    except elmokit.InputError as error:
        print(f"{module}: {error}")
try:
    elmokit.load("user/model")
except elmokit.InputError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def messages() -> list[str]:
    arguments = [part for module, (package, _) in NEEDS.items() for part in (module, package)]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_integration_names_its_extra(messages: list[str]) -> None:
    for line, (module, (_, extra)) in zip(messages, NEEDS.items(), strict=False):
        assert line.startswith(f"{module}: ")
        assert line.endswith(f"install it with  pip install 'elmokit[{extra}]'")


def test_a_hub_id_names_the_extra_too(messages: list[str]) -> None:
    assert messages[-1] == (
        "user/model: there is no such file or folder; a model of the Hugging Face Hub needs "
        "huggingface-hub: install it with  pip install 'elmokit[hub]'"
    )
