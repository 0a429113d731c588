"""Token vectors: the shortcuts of the character CNN change nothing."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_bilm import INDEXER, small_bilm

from elmokit.model import token_encoder
from elmokit.model.token_encoder import lengths_before_tail

ENCODER = small_bilm().encoder
TOKENS = st.lists(st.text(max_size=14), min_size=1, max_size=9)


@given(tokens=TOKENS)
@settings(max_examples=60)
def test_no_further_than_the_longest_word_is_as_good_as_all_the_way(tokens: list[str]) -> None:
    ids = INDEXER.encode(tokens)
    with torch.no_grad():
        whole = ENCODER._encode(ids, longest=None, matrix_dtype=None)
        short = ENCODER(ids)
    assert torch.allclose(whole, short, atol=1e-6, rtol=1e-6)


@given(tokens=TOKENS)
@settings(max_examples=20)
def test_groups_of_similar_length_come_back_in_order(tokens: list[str]) -> None:
    before = token_encoder.ROWS_AT_ONCE
    token_encoder.ROWS_AT_ONCE = 2
    try:
        with torch.no_grad():
            together = ENCODER(INDEXER.encode(tokens))
            alone = torch.cat([ENCODER(INDEXER.encode([token])) for token in tokens])
    finally:
        token_encoder.ROWS_AT_ONCE = before
    assert torch.allclose(together, alone, atol=1e-6, rtol=0.0)


def test_a_row_is_as_long_as_it_is_before_its_padding() -> None:
    ids = INDEXER.encode(["", "a", "tenletters", "more than ten letters"]).characters
    assert lengths_before_tail(ids).tolist() == [2, 3, 11, 11]


def test_no_tokens_give_no_vectors() -> None:
    with torch.no_grad():
        assert ENCODER(INDEXER.encode([])).shape == (0, 5)
