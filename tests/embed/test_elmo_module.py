"""Elmo as a part of a task model."""

import copy
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from replicas import replica_of
from running import run_fresh
from small_bilm import INDEXER, small_bilm
from twin import mix as twin_mix

from elmokit.embed.elmo import Elmo
from elmokit.embed.load import load
from elmokit.errors import InputError
from elmokit.model.packing import batch_tokens
from elmokit.model.scalar_mix import ScalarMix

SENTENCES = [["the", "cat", "sat"], [], ["a", "mat", "the", "cat"]]
BATCH = batch_tokens(SENTENCES, INDEXER)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_each_mix_is_gamma_times_the_softmax_weighted_sum(layer_norm: bool) -> None:
    elmo = Elmo(small_bilm(), num_mixes=2, dropout=0.0, layer_norm=layer_norm)
    weights = [[0.3, -1.0, 2.0], [0.0, 0.5, -0.5]]
    gammas = [1.5, 0.7]
    with torch.no_grad():
        for mix, raw, gamma in zip(elmo.mixes, weights, gammas, strict=True):
            mix.raw_weights.copy_(torch.tensor(raw))
            mix.gamma.fill_(gamma)
        outputs = elmo(BATCH)
    layers = run_fresh(elmo.bilm, INDEXER, SENTENCES)
    for output, raw, gamma in zip(outputs, weights, gammas, strict=True):
        for found, own, sentence in zip(output.numpy(), layers, SENTENCES, strict=True):
            expected = twin_mix(own.astype(np.float64), raw, gamma, layer_norm)
            assert np.allclose(found[: len(sentence)], expected, atol=1e-5)


def test_vectors_beyond_a_sentence_are_zero() -> None:
    [output] = Elmo(small_bilm(), dropout=0.0)(BATCH)
    assert output.shape == (3, 4, 10)
    assert not output[0, 3:].any() and not output[1].any() and output[2].any()


@given(raw=st.lists(st.floats(-20, 20), min_size=1, max_size=6))
def test_mix_weights_are_positive_and_sum_to_one(raw: list[float]) -> None:
    weights = ScalarMix(len(raw), initial_weights=raw).weights.detach()
    assert (weights >= 0).all() and float(weights.sum()) == pytest.approx(1.0, abs=1e-5)


def test_layer_norm_does_not_depend_on_batch_mates() -> None:
    elmo = Elmo(small_bilm(), dropout=0.0, layer_norm=True)
    [together] = elmo(BATCH)
    [alone] = elmo(batch_tokens([SENTENCES[0]], INDEXER))
    assert torch.allclose(together[0, :3], alone[0], atol=1e-5)


def test_the_penalty_is_the_sum_of_squared_raw_weights_without_gamma() -> None:
    elmo = Elmo(small_bilm(), num_mixes=2, initial_weights=[1.0, -2.0, 0.5])
    assert elmo.penalty().item() == pytest.approx(2 * (1.0 + 4.0 + 0.25))
    elmo.penalty().backward()
    assert elmo.mixes[0].raw_weights.grad.tolist() == [2.0, -4.0, 1.0]
    assert elmo.mixes[0].gamma.grad is None


def test_dropout_acts_in_training_only() -> None:
    elmo = Elmo(small_bilm(), dropout=0.5)
    [training] = elmo(BATCH)
    [evaluating] = elmo.eval()(BATCH)
    dropped = (training == 0) & (evaluating != 0)
    assert 0.2 < float(dropped.sum() / (evaluating != 0).sum()) < 0.8
    assert torch.allclose(training[~dropped], 2 * evaluating[~dropped])


def test_it_saves_and_loads_with_its_task_model() -> None:
    class Task(torch.nn.Module):
        def __init__(self, seed: int) -> None:
            super().__init__()
            self.elmo = Elmo(small_bilm(seed=seed), dropout=0.0)
            self.head = torch.nn.Linear(10, 3)

    first, second = Task(1), Task(2)
    with torch.no_grad():
        first.elmo.mixes[0].raw_weights.normal_()
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    before = second.elmo(BATCH)[0]
    second.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(first.elmo(BATCH)[0], second.elmo(BATCH)[0])
    assert not torch.allclose(before, second.elmo(BATCH)[0], atol=1e-3)


def test_a_copy_is_independent() -> None:
    elmo = Elmo(small_bilm(), dropout=0.0)
    [before] = elmo(BATCH)
    other = copy.deepcopy(elmo)
    with torch.no_grad():
        for weight in other.bilm.parameters():
            weight.mul_(0.5)
    assert not torch.allclose(other(BATCH)[0], before, atol=1e-3)
    assert torch.equal(elmo(BATCH)[0], before)


@pytest.mark.parametrize("trainable", [False, True])
def test_a_replica_computes_the_same_and_its_gradient_comes_home(trainable: bool) -> None:
    elmo = Elmo(small_bilm(), dropout=0.0, trainable=trainable)
    [expected] = elmo(BATCH)
    expected.square().sum().backward()
    gradients = {name: weight.grad for name, weight in elmo.named_parameters()}
    elmo.zero_grad()
    [found] = replica_of(elmo)(BATCH)
    torch.testing.assert_close(found, expected)
    found.square().sum().backward()
    for name, weight in elmo.named_parameters():
        torch.testing.assert_close(weight.grad, gradients[name])


def test_a_compiled_module_gives_the_same() -> None:
    elmo = Elmo(small_bilm(), num_mixes=2, dropout=0.0)
    compiled = torch.compile(elmo, backend="aot_eager")
    for sentences in (SENTENCES, SENTENCES[:1]):
        batch = batch_tokens(sentences, INDEXER)
        torch.testing.assert_close(compiled(batch), elmo(batch))
    torch._dynamo.reset()


def test_a_compiled_mix_still_drops_in_training() -> None:
    mix = ScalarMix(2, dropout=0.5)
    compiled = torch.compile(mix, backend="aot_eager", fullgraph=True)
    mixed = compiled(torch.ones(3, 2, 40, 5))
    assert 0.3 < float((mixed == 0).float().mean()) < 0.7
    torch._dynamo.reset()


def test_another_number_of_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 3 layers, got 2"):
        ScalarMix(3)(torch.zeros(1, 2, 4, 5))
    with pytest.raises(ValueError, match="initial_weights must have 3 values, got 2"):
        Elmo(small_bilm(), initial_weights=[0.0, 1.0])


@pytest.mark.parametrize("dropout", [2, 1.0, -0.1, float("nan")])
def test_a_dropout_that_is_no_probability_below_one_is_refused(dropout: float) -> None:
    with pytest.raises(InputError, match="dropout must be at least 0 and less than 1, got"):
        Elmo(small_bilm(), dropout=dropout)


def test_no_mixes_are_refused() -> None:
    with pytest.raises(InputError, match="num_mixes must be at least 1, got 0"):
        Elmo(small_bilm(), num_mixes=0)


def test_a_module_names_what_makes_its_batches() -> None:
    with pytest.raises(InputError, match=r"got a list; make one with elmo\.batch\(sentences\)"):
        Elmo(small_bilm())(["text"])
    with pytest.raises(InputError, match=r"its name, its path or a pair .*, got 3"):
        Elmo(3)  # type: ignore[arg-type]


def test_the_mask_of_a_batch_is_true_where_there_are_tokens() -> None:
    batch = batch_tokens([["a", "b", "c"], [], ["d"]], INDEXER)
    assert batch.mask.tolist() == [[True] * 3, [False] * 3, [True, False, False]]


def test_strings_are_not_read_letter_by_letter() -> None:
    for sentences in (["I like apples."], "I like apples."):
        with pytest.raises(InputError, match="takes lists of tokens, got the string 'I like"):
            batch_tokens(sentences, INDEXER)


@pytest.mark.parametrize("trainable", [False, True])
def test_autocast_changes_nothing_inside_the_bilm(trainable: bool) -> None:
    elmo = Elmo(small_bilm(), dropout=0.0, trainable=trainable)
    wanted = elmo.layers(BATCH)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = elmo.layers(BATCH)
        [mixed] = elmo(BATCH)
    assert torch.equal(found, wanted)
    assert torch.isfinite(mixed).all()


def test_a_module_is_made_from_a_name_a_path_an_embedder_or_a_bilm(model: Path) -> None:
    embedder = load(model)
    sentences = ["It can't be.", ["two", "tokens"]]
    wanted = embedder.layers(sentences)
    for source in (model, str(model), embedder, embedder.bilm):
        elmo = Elmo(source, dropout=0.0)
        layers = elmo.layers(elmo.batch(sentences))
        for row, array in enumerate(wanted):
            np.testing.assert_allclose(layers[row, :, : array.shape[1]], array, atol=1e-5)
    assert Elmo().bilm.num_layers == 3  # the model that ships
