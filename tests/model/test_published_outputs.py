"""The tiny published biLM: our vectors are the ones AllenNLP recorded."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from running import run_carried, run_fresh
from twin import BilmTfTwin

from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

NUM_STREAMS, NUM_SENTENCES = 3, 10


@pytest.fixture(scope="module")
def model(published: Path) -> PretrainedModel:
    return load_pretrained(published / "lm_weights.hdf5")


@pytest.fixture(scope="module")
def streams(published: Path) -> list[list[list[str]]]:
    text = json.loads((published / "sentences.json").read_text())
    return [[sentence.split() for sentence in stream] for stream in text]


@pytest.fixture(scope="module")
def recorded(published: Path) -> list[list[np.ndarray]]:
    """(T, D) top layers, by stream and sentence."""
    found = []
    for stream in range(NUM_STREAMS):
        with h5py.File(published / f"lm_embeddings_{stream}.hdf5") as file:
            sides = [file[str(number)][()] for number in range(NUM_SENTENCES)]
        found.append([np.concatenate([forward, backward], -1) for forward, backward in sides])
    return found


def test_carried_vectors_are_the_recorded_ones_within_2e_6(
    model: PretrainedModel, streams: list[list[list[str]]], recorded: list[list[np.ndarray]]
) -> None:
    state = model.bilm.zero_state(NUM_STREAMS)
    for number in range(NUM_SENTENCES):
        batch = [stream[number] for stream in streams]
        layers, state = run_carried(model.bilm, model.indexer, batch, state)
        for stream, found in enumerate(layers):
            assert np.abs(found[-1] - recorded[stream][number]).max() <= 2e-6


def test_rows_carried_alone_are_the_recorded_ones_too(
    model: PretrainedModel, streams: list[list[list[str]]], recorded: list[list[np.ndarray]]
) -> None:
    for stream, sentences in enumerate(streams):
        state = model.bilm.zero_state(1)
        for number, sentence in enumerate(sentences):
            [layers], state = run_carried(model.bilm, model.indexer, [sentence], state)
            assert np.abs(layers[-1] - recorded[stream][number]).max() <= 2e-6


def test_fresh_vectors_are_the_recorded_ones_of_the_first_batch_only(
    model: PretrainedModel, streams: list[list[list[str]]], recorded: list[list[np.ndarray]]
) -> None:
    first = run_fresh(model.bilm, model.indexer, [stream[0] for stream in streams])
    second = run_fresh(model.bilm, model.indexer, [stream[1] for stream in streams])
    for stream in range(NUM_STREAMS):
        assert np.abs(first[stream][-1] - recorded[stream][0]).max() <= 2e-6
        assert np.abs(second[stream][-1] - recorded[stream][1]).max() > 0.01


def test_token_vectors_are_the_recorded_ones_within_1e_6(
    model: PretrainedModel, published: Path
) -> None:
    words = (published / "vocab_test.txt").read_text(encoding="utf-8").split("\n")
    with h5py.File(published / "elmo_token_embeddings.hdf5") as file:
        recorded = file["embedding"][()]
    words = words[: len(recorded)]
    with torch.no_grad():
        vectors = model.bilm.encoder(model.indexer.encode(words)).numpy()
    assert len(words) > 400
    assert np.abs(vectors - recorded[: len(words)])[3:].max() <= 1e-6


def test_the_twin_gives_the_recorded_vectors(
    published: Path, streams: list[list[list[str]]], recorded: list[list[np.ndarray]]
) -> None:
    """Two short sentences in a row: the twin is slow, but it too must be right."""
    twin = BilmTfTwin(published / "lm_weights.hdf5", published / "options.json")
    state = None
    stream = min(range(NUM_STREAMS), key=lambda k: sum(map(len, streams[k][:2])))
    for number in range(2):
        layers, state = twin.layers(streams[stream][number], state)
        assert np.abs(layers[-1] - recorded[stream][number]).max() <= 2e-6
