"""A warm start: sentences start from the mean state after running text instead of from zeros.

In training, a sentence nearly always followed another one. Starting every sentence from the mean
of the final states of sentences is closer to that than zeros, and just as reproducible. Users ask
for it with ``start="settled"``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from elmokit.embed.sample_sentences import SAMPLE_SENTENCES
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState

if TYPE_CHECKING:
    from elmokit.embed.embedder import Embedder

WARM_UP_SENTENCES = 2
"""Skipped, because the states after these still depend on the initial zeros."""


def settle(elmo: "Embedder", sentences: Sequence[Sequence[str]] = SAMPLE_SENTENCES) -> BiLmState:
    """One row: the mean of the states after each of ``sentences``, read one after the other.

    The built-in sentences are English; give a few dozen of your own for another language.
    """
    if len(sentences) <= WARM_UP_SENTENCES:
        raise InputError(
            f"settling needs more than {WARM_UP_SENTENCES} sentences, got {len(sentences)}"
        )
    state = None
    states: list[BiLmState] = []
    for sentence in sentences:
        state = elmo.carry([sentence], state).state
        states.append(state)
    return _mean(states[WARM_UP_SENTENCES:])


def _mean(states: Sequence[BiLmState]) -> BiLmState:
    def side(stacks: Sequence[LstmState]) -> LstmState:
        return LstmState(
            torch.cat([stack.hidden for stack in stacks], dim=1).mean(dim=1, keepdim=True),
            torch.cat([stack.cell for stack in stacks], dim=1).mean(dim=1, keepdim=True),
        )

    return BiLmState(side([s.forward for s in states]), side([s.backward for s in states]))
