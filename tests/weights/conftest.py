"""Small models on disk, one of each kind."""

from pathlib import Path

import pytest
from random_files import BilmTfSpec, ManyLangsSpec, write_bilm_tf_files, write_manylangs_files

WORDS = ("<S>", "</S>", "<UNK>", "the", "cat", "naïve", "sat")


@pytest.fixture
def bilm_tf(tmp_path: Path) -> Path:
    """Characters, with a softmax and its vocabulary."""
    folder = tmp_path / "bilm-tf"
    write_bilm_tf_files(folder, BilmTfSpec(softmax_words=WORDS))
    return folder


@pytest.fixture
def word_model(tmp_path: Path) -> Path:
    folder = tmp_path / "words"
    write_bilm_tf_files(folder, BilmTfSpec(words=WORDS))
    return folder


@pytest.fixture
def manylangs(tmp_path: Path) -> Path:
    folder = tmp_path / "manylangs"
    write_manylangs_files(folder, ManyLangsSpec())
    return folder
