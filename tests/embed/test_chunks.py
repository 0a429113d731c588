from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed.chunks import SENTENCES_AT_ONCE, chunks_of, windows_of


@given(st.lists(st.integers(0, 50), max_size=400), st.integers(1, 300))
def test_chunks_hold_every_sentence_once_and_keep_to_their_budget(
    lengths: list[int], batch_tokens: int
) -> None:
    chunks = list(chunks_of(lengths, batch_tokens))
    assert sorted(number for chunk in chunks for number in chunk) == list(range(len(lengths)))
    for chunk in chunks:
        longest = max(lengths[number] for number in chunk)
        assert len(chunk) <= SENTENCES_AT_ONCE
        assert len(chunk) == 1 or longest * len(chunk) <= batch_tokens


@given(st.lists(st.lists(st.just("w"), max_size=9), max_size=40), st.integers(1, 30))
def test_windows_keep_order_and_close_soon_after_their_budget(
    sentences: list[list[str]], window_tokens: int
) -> None:
    windows = list(windows_of(sentences, window_tokens))
    assert [sentence for window in windows for sentence in window] == sentences
    for window in windows:
        assert sum(len(sentence) + 1 for sentence in window[:-1]) < window_tokens
