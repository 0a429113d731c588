"""A sentence alone and in a batch: what docs/guide/how-elmo-works.md promises, for en-small.

Batches of other sizes add in another order, so float32 vectors differ by rounding. On text the
LSTMs forget it, however long the sentence is. One token repeated may put them where they do not:
there float64 shows that nothing but rounding is the cause.
"""

import copy

import numpy as np
import pytest
from running import run_fresh

import elmokit
from elmokit.embed.embedder import Embedder
from elmokit.embed.sample_sentences import SAMPLE_SENTENCES

PROMISED = 1e-5
"""Of the RMS of a layer; measured: 6e-7."""
PROMISED_FLOAT64 = 1e-9


@pytest.fixture(scope="module")
def shipped() -> Embedder:
    return elmokit.load()


def relative_rms(one: np.ndarray, other: np.ndarray) -> float:
    """The largest of the layers (L + 1, T, D)."""
    difference = np.sqrt(np.square(one - other, dtype=np.float64).mean(axis=(1, 2)))
    size = np.sqrt(np.square(one, dtype=np.float64).mean(axis=(1, 2)))
    return float((difference / size).max())


def mates(sentence: list[str], number: int) -> list[list[str]]:
    """Sentences of other lengths around it."""
    return [sentence[: 1 + (7 * place) % len(sentence)] for place in range(number)]


@pytest.mark.parametrize(("num_tokens", "num_mates"), [(12, 40), (70, 20), (400, 3)])
def test_on_text_a_batch_changes_1e_5_of_a_layer_at_most_whatever_its_length(
    shipped: Embedder, num_tokens: int, num_mates: int
) -> None:
    words = [token for sentence in SAMPLE_SENTENCES for token in sentence]
    words += [token for sentence in SAMPLE_SENTENCES[::-1] for token in sentence]
    text = (words * 2)[:num_tokens]
    assert len(text) == num_tokens
    [alone] = shipped.layers([text])
    together = shipped.layers([text, *mates(text, num_mates)])[0]
    assert relative_rms(alone, together) <= PROMISED


@pytest.mark.parametrize("token", ["A", "I"])
def test_on_a_repeated_token_a_batch_changes_nothing_but_rounding(
    shipped: Embedder, token: str
) -> None:
    bilm = copy.deepcopy(shipped.bilm).double()
    sentence = [token] * 70
    [alone] = run_fresh(bilm, shipped.indexer, [sentence])
    together = run_fresh(bilm, shipped.indexer, [sentence, *mates(sentence, 5)])[0]
    assert alone.dtype == np.float64
    assert relative_rms(alone, together) <= PROMISED_FLOAT64
