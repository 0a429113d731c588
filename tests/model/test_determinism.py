"""A sentence's vectors depend on that sentence alone, within what floating point costs."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from running import run_carried, run_fresh
from small_bilm import INDEXER, small_bilm

from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.packing import batch_tokens

TOKENS = st.sampled_from(["the", "cat", "sat", "on", "a", "mat", ".", "antidisestablish", "é", ""])
SENTENCES = st.lists(st.lists(TOKENS, max_size=9), min_size=1, max_size=7)
BILM = small_bilm()
TOLERANCE = 1e-5


def assert_close(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        if one.size:
            assert np.abs(one - other).max() <= TOLERANCE


def alone(bilm: BiLm, sentences: list[list[str]]) -> list[np.ndarray]:
    return [run_fresh(bilm, INDEXER, [sentence])[0] for sentence in sentences]


@given(sentences=SENTENCES)
@settings(max_examples=40)
def test_batch_mates_do_not_change_vectors(sentences: list[list[str]]) -> None:
    assert_close(run_fresh(BILM, INDEXER, sentences), alone(BILM, sentences))


@given(sentences=SENTENCES, seed=st.integers(0, 99))
@settings(max_examples=25)
def test_order_does_not_change_vectors(sentences: list[list[str]], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(sentences))
    shuffled = run_fresh(BILM, INDEXER, [sentences[place] for place in order])
    straight = run_fresh(BILM, INDEXER, sentences)
    assert_close(shuffled, [straight[place] for place in order])


@given(sentences=SENTENCES, batch_size=st.integers(1, 5))
@settings(max_examples=25)
def test_batch_size_does_not_change_vectors(sentences: list[list[str]], batch_size: int) -> None:
    found = []
    for start in range(0, len(sentences), batch_size):
        found += run_fresh(BILM, INDEXER, sentences[start : start + batch_size])
    assert_close(found, run_fresh(BILM, INDEXER, sentences))


@given(sentences=SENTENCES, extra=st.integers(1, 5))
@settings(max_examples=25)
def test_padding_does_not_change_vectors_and_is_zero_itself(
    sentences: list[list[str]], extra: int
) -> None:
    batch = batch_tokens(sentences, INDEXER)
    lengths = batch.lengths.tolist()
    padded = torch.nn.functional.pad(
        batch.rows, (0, extra), value=int(batch.ids.characters.shape[0]) - 1
    )
    with torch.no_grad():
        table = BILM.encoder(batch.ids)
        narrow = BILM.layers(table, batch.rows, lengths)
        wide = BILM.layers(table, padded, lengths)
    width = batch.rows.shape[1]
    assert torch.allclose(wide[:, :, :width], narrow, atol=TOLERANCE, rtol=0.0)
    for row, length in enumerate(lengths):
        assert not wide[row, :, length:].any()


def test_thread_count_does_not_change_vectors() -> None:
    sentences = [["the", "cat", "sat"], ["a", "mat", "."], ["on"] * 9]
    before = torch.get_num_threads()
    found = []
    try:
        for num_threads in (1, 2, 3):
            torch.set_num_threads(num_threads)
            found.append(run_fresh(BILM, INDEXER, sentences))
    finally:
        torch.set_num_threads(before)
    assert_close(found[1], found[0])
    assert_close(found[2], found[0])


def test_what_ran_before_does_not_change_vectors() -> None:
    sentence = ["the", "cat", "sat"]
    [first] = run_fresh(BILM, INDEXER, [sentence])
    run_carried(BILM, INDEXER, [["a", "mat"]], BILM.zero_state(1))
    run_fresh(BILM, INDEXER, [["on"] * 9])
    [again] = run_fresh(BILM, INDEXER, [sentence])
    assert np.array_equal(first, again)


def test_carried_from_zeros_is_fresh() -> None:
    sentences = [["the", "cat", "sat"], [], ["a", "mat", ".", "on"]]
    carried, _ = run_carried(BILM, INDEXER, sentences, BILM.zero_state(3))
    assert_close(carried, run_fresh(BILM, INDEXER, sentences))


def test_a_start_is_what_every_sentence_carries_on_from() -> None:
    sentences = [["the", "cat", "sat"], ["a", "mat", ".", "on"]]
    _, state = run_carried(BILM, INDEXER, [["on", "a", "mat"]], BILM.zero_state(1))
    started = run_fresh(BILM, INDEXER, sentences, start=state)
    for sentence, found in zip(sentences, started, strict=True):
        carried, _ = run_carried(BILM, INDEXER, [sentence], state)
        assert_close([found], carried)
    assert np.abs(started[0] - run_fresh(BILM, INDEXER, sentences)[0]).max() > 0.01


def test_another_start_at_the_same_address_is_not_mistaken_for_the_first() -> None:
    bilm = small_bilm(seed=5)
    sentence = ["the", "cat"]
    states = []
    for word in ("on", "mat"):
        _, state = run_carried(bilm, INDEXER, [[word]], bilm.zero_state(1))
        states.append(state)
    expected = [run_carried(bilm, INDEXER, [sentence], state)[0] for state in states]
    for turn in range(20):  # each copy is freed at once, so the next may stand where it stood
        found = run_fresh(bilm, INDEXER, [sentence], start=BiLmState(*states[turn % 2]))
        assert_close(found, expected[turn % 2])


def test_vectors_follow_the_weights() -> None:
    bilm = small_bilm(seed=1)
    sentence = ["the", "cat", "sat"]
    [before] = run_fresh(bilm, INDEXER, [sentence])
    bilm.load_state_dict(small_bilm(seed=2).state_dict())
    [after] = run_fresh(bilm, INDEXER, [sentence])
    assert_close([after], run_fresh(small_bilm(seed=2), INDEXER, [sentence]))
    assert np.abs(before - after).max() > 0.01


def test_vectors_follow_weights_that_autograd_did_not_see_change() -> None:
    """As moving averages are swapped in: through ``.data``, then ``eval()``."""
    bilm = small_bilm(seed=1)
    sentence = ["the", "cat", "sat"]
    run_fresh(bilm, INDEXER, [sentence])
    for weight, other in zip(bilm.parameters(), small_bilm(seed=2).parameters(), strict=True):
        weight.data.copy_(other)
    found = run_fresh(bilm.eval(), INDEXER, [sentence])
    assert_close(found, run_fresh(small_bilm(seed=2), INDEXER, [sentence]))


def test_a_model_made_in_inference_mode_runs() -> None:
    with torch.inference_mode():
        [found] = run_fresh(small_bilm(seed=2), INDEXER, [["the", "cat"]])
    assert_close([found], run_fresh(small_bilm(seed=2), INDEXER, [["the", "cat"]]))


def test_a_batch_without_tokens_gives_layers_without_tokens() -> None:
    [one, other] = run_fresh(BILM, INDEXER, [[], []])
    assert one.shape == other.shape == (3, 0, 10)
    assert run_fresh(BILM, INDEXER, []) == []
