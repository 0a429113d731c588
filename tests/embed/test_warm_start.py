"""The settled state: repeatable, and away from zero."""

from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.embed.embedder import Embedder
from elmokit.embed.sample_sentences import SAMPLE_SENTENCES
from elmokit.embed.warm_start import WARM_UP_SENTENCES, settle
from elmokit.errors import InputError
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native


def test_settling_is_repeatable_and_moves_the_state(bilm_tf: Path) -> None:
    elmo = Embedder(load_pretrained(bilm_tf))
    first, second = settle(elmo), settle(elmo)
    for side, again in zip(first, second, strict=True):
        for one, other in zip(side, again, strict=True):
            assert torch.equal(one, other) and one.abs().max() > 1e-3
    assert first.num_rows == 1


def test_it_is_the_mean_of_the_states_after_the_warm_up(bilm_tf: Path) -> None:
    elmo = Embedder(load_pretrained(bilm_tf))
    state, cells = elmo.bilm.zero_state(1), []
    for sentence in SAMPLE_SENTENCES:
        state = elmo.carry([sentence], state).state
        cells.append(state.backward.cell.numpy())
    expected = np.mean(cells[WARM_UP_SENTENCES:], axis=0)
    assert np.abs(settle(elmo).backward.cell.numpy() - expected).max() <= 1e-6


def test_sentences_of_ones_own_settle_elsewhere(bilm_tf: Path) -> None:
    elmo = Embedder(load_pretrained(bilm_tf))
    own = settle(elmo, [["東京", "都"], ["山"], ["川", "と", "海"]])
    assert (own.forward.cell - settle(elmo).forward.cell).abs().max() > 1e-3
    with pytest.raises(InputError, match="more than 2 sentences, got 1"):
        settle(elmo, [["東京"]])


def test_a_settled_start_changes_vectors_most_near_the_start(bilm_tf: Path) -> None:
    elmo = Embedder(load_pretrained(bilm_tf))
    sentence = ["the", "cat", "sat"] * 8
    [fresh] = elmo.layers([sentence])
    [settled] = elmo.layers([sentence], start=settle(elmo))
    forward = np.abs(fresh - settled)[1, :, :5].max(axis=-1)
    assert forward[0] > 10 * forward[-1]


def test_a_state_of_another_model_is_refused(bilm_tf: Path, tmp_path: Path) -> None:
    elmo = Embedder(load_pretrained(bilm_tf))
    state = settle(elmo)
    wrong = state.backward._replace(cell=state.forward.hidden.clone())
    elmo.pretrained.settled = state._replace(backward=wrong)
    write_native(elmo.pretrained, tmp_path / "out")
    with pytest.raises(InputError, match=r"backward\.cell of shape \(2, 1, 7\) is missing"):
        load_pretrained(tmp_path / "out")
