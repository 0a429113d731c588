"""Forward vectors never see the future, backward vectors never see the past."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from running import run_fresh
from small_bilm import INDEXER, small_bilm

from elmokit.model.packing import batch_tokens

BILM = small_bilm(num_layers=3).double()
WIDTH = BILM.config.lstm.projection_dim
SAME, MOVED = 1e-12, 1e-3  # another table of tokens rounds differently; float32 by up to 1e-5
WORDS = ["the", "cat", "sat", "on", "a", "mat"]


@given(
    sentence=st.lists(st.sampled_from(WORDS), min_size=2, max_size=8),
    data=st.data(),
)
@settings(max_examples=40)
def test_a_changed_token_moves_forward_vectors_from_it_on_and_backward_ones_up_to_it(
    sentence: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(sentence) - 1))
    changed = [*sentence]
    changed[place] = "zebra"
    [before] = run_fresh(BILM, INDEXER, [sentence])
    [after] = run_fresh(BILM, INDEXER, [changed])
    moved = np.abs(before - after)  # (L + 1, T, D)
    forward, backward = moved[1:, :, :WIDTH].max(-1), moved[1:, :, WIDTH:].max(-1)
    assert np.all(forward[:, :place] <= SAME)
    assert np.all(backward[:, place + 1 :] <= SAME)
    assert np.all(forward[:, place] > MOVED) and np.all(backward[:, place] > MOVED)
    assert np.all(np.delete(moved[0], place, axis=0) <= SAME)


def test_a_longer_sentence_leaves_the_forward_vectors_of_its_beginning() -> None:
    [short] = run_fresh(BILM, INDEXER, [WORDS[:4]])
    [long] = run_fresh(BILM, INDEXER, [WORDS])
    assert np.abs(short[:, :, :WIDTH] - long[:, :4, :WIDTH]).max() <= SAME
    assert np.abs(short[1:, :, WIDTH:] - long[1:, :4, WIDTH:]).max() > 0.01


def test_by_gradients_no_forward_output_depends_on_a_later_token_vector() -> None:
    bilm = small_bilm(num_layers=2).double()
    batch = batch_tokens([WORDS], INDEXER)
    table = bilm.encoder(batch.ids).detach().requires_grad_()
    layers = bilm.layers(table, batch.rows, [len(WORDS)])[0]  # (L + 1, T, D)
    rows = batch.rows[0].tolist()
    for place in range(len(WORDS)):
        for side, hidden_places in (
            (slice(0, WIDTH), range(place + 1, len(WORDS))),
            (slice(WIDTH, None), range(place)),
        ):
            [gradient] = torch.autograd.grad(
                layers[1:, place, side].square().sum(), table, retain_graph=True
            )
            touched = gradient.abs().sum(-1)
            assert all(touched[rows[hidden]] == 0.0 for hidden in hidden_places)
            assert touched[rows[place]] > 0.0
