"""Random models of every published variant, read by us and by the NumPy twin."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_files import BilmTfSpec, ManyLangsSpec, write_bilm_tf_files, write_manylangs_files
from random_specs import CLIPPED, GENTLE, WILD, Level, bilm_tf_specs
from running import run_carried, run_fresh
from twin import BilmTfTwin, ManyLangsTwin, Twin

from elmokit.weights.load import load_pretrained
from elmokit.weights.pretrained import PretrainedModel

LEVELS = pytest.mark.parametrize(
    "level", [GENTLE, CLIPPED, WILD], ids=["gentle", "clipped", "wild"]
)

PLAIN = ("the", "cat", "sat", "naïve", "a")
ODD = ("東京", "🙂", "", "incomprehensibilities", "<S>", "\x00", "\ud800")
TOKENS = st.sampled_from(PLAIN + ODD)
SENTENCES = st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=3)


def read_both(folder: Path, spec: BilmTfSpec) -> tuple[PretrainedModel, Twin]:
    write_bilm_tf_files(folder, spec)
    embedding = folder / "embedding.hdf5" if spec.separate_embedding else None
    twin = BilmTfTwin(
        folder / "weights.hdf5", folder / "options.json", folder / "vocab.txt", embedding
    )
    return load_pretrained(folder), twin


def prepare(model: PretrainedModel, level: Level) -> None:
    if level.is_double:
        model.bilm.double()


def assert_same(found: np.ndarray, twin: np.ndarray, level: Level) -> None:
    assert found.shape == twin.shape
    if found.size == 0:
        return
    if level.relative_rms is None:
        assert np.abs(found - twin).max() <= 1e-5
    else:
        size = max(np.sqrt(np.mean(twin**2)), 1e-6)
        assert np.sqrt(np.mean((found - twin) ** 2)) <= level.relative_rms * size


@LEVELS
def test_any_bilm_tf_model_agrees_with_the_twin(level: Level) -> None:
    @given(spec=bilm_tf_specs(level), sentences=SENTENCES)
    @settings(max_examples=40)
    def check(spec: BilmTfSpec, sentences: list[list[str]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            model, twin = read_both(Path(folder), spec)
        prepare(model, level)
        layers = run_fresh(model.bilm, model.indexer, sentences)
        for found, sentence in zip(layers, sentences, strict=True):
            assert_same(found, twin.layers(sentence)[0], level)

    check()


def test_clipping_bites_on_all_but_gentle_weights(tmp_path: Path) -> None:
    """Otherwise the tests above would say nothing about clips."""
    changes = []
    for level in (GENTLE, CLIPPED, WILD):
        layers = []
        for clip in (level.clips[1], None):
            folder = tmp_path / f"{level.scale}-{clip}"
            spec = BilmTfSpec(scale=level.scale, cell_clip=clip, proj_clip=clip)
            _, twin = read_both(folder, spec)
            layers.append(twin.layers(["the", "cat", "sat", "naïve"])[0])
        changes.append(np.abs(layers[0] - layers[1]).max())
    assert changes[0] == 0.0 and changes[1] > 0.1 and changes[2] > 0.1


@LEVELS
def test_carried_state_agrees_with_the_twin(level: Level) -> None:
    @given(spec=bilm_tf_specs(level), batches=st.lists(SENTENCES, min_size=2, max_size=3))
    @settings(max_examples=12)
    def check(spec: BilmTfSpec, batches: list[list[list[str]]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            model, twin = read_both(Path(folder), spec)
        prepare(model, level)
        num_rows = min(map(len, batches))
        state = model.bilm.zero_state(num_rows)
        expected = [twin.zero_state()] * num_rows
        for batch in batches:
            layers, state = run_carried(model.bilm, model.indexer, batch[:num_rows], state)
            for row, found in enumerate(layers):
                by_twin, expected[row] = twin.layers(batch[row], expected[row])
                assert_same(found, by_twin, level)

    check()


@st.composite
def manylangs_specs(draw: st.DrawFn, level: Level) -> ManyLangsSpec:
    word_dim, char_dim = draw(st.sampled_from([(3, 4), (3, 0), (0, 4)]))
    return ManyLangsSpec(
        num_layers=draw(st.integers(1, 3)),
        dim=draw(st.integers(1, 7)),
        word_dim=word_dim,
        char_dim=char_dim,
        num_highway=draw(st.integers(0, 2)),
        activation=draw(st.sampled_from(["relu", "tanh"])),
        max_characters=draw(st.sampled_from([7, 12])),
        clip=draw(st.sampled_from(level.clips)),
        scale=level.scale,
        seed=draw(st.integers(0, 10_000)),
    )


LANGUAGE_TOKENS = st.sampled_from(
    ["abc", "bad", "東京", "zzz", "\u3000", "éñ", "", "abcdeabcdeabcdeabcde", "<bos>", "🙂"]
)


@LEVELS
def test_any_model_of_many_languages_agrees_with_the_twin(level: Level) -> None:
    sentences_of = st.lists(st.lists(LANGUAGE_TOKENS, max_size=6), min_size=1, max_size=3)

    @given(spec=manylangs_specs(level), sentences=sentences_of)
    @settings(max_examples=25)
    def check(spec: ManyLangsSpec, sentences: list[list[str]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings_of = write_manylangs_files(Path(folder), spec)
            twin = ManyLangsTwin(Path(folder), settings_of)
            model = load_pretrained(folder)
        prepare(model, level)
        layers = run_fresh(model.bilm, model.indexer, sentences)
        for found, sentence in zip(layers, sentences, strict=True):
            assert_same(found, twin.layers(sentence)[0], level)

    check()
