"""Batches hold every example once, within their bounds, the same for the same seed."""

from hypothesis import given
from hypothesis import strategies as st

from elmokit.embed.chunks import shuffled_batches, sorted_batches

LENGTHS = st.lists(st.integers(0, 60), max_size=50)


@given(LENGTHS, st.integers(1, 9), st.integers(1, 200))
def test_every_example_is_in_one_batch_that_is_not_too_large(
    lengths: list[int], batch_size: int, max_tokens: int
) -> None:
    for batches in (
        shuffled_batches(lengths, batch_size, max_tokens, seed=3, epoch=1),
        sorted_batches(lengths, batch_size, max_tokens),
    ):
        assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
        for batch in batches:
            assert len(batch) <= batch_size
            longest = max(lengths[number] for number in batch)
            assert len(batch) == 1 or longest * len(batch) <= max_tokens


def test_epochs_differ_and_seeds_repeat() -> None:
    lengths = list(range(40))
    first = shuffled_batches(lengths, 4, 1000, seed=1, epoch=0)
    assert first == shuffled_batches(lengths, 4, 1000, seed=1, epoch=0)
    assert first != shuffled_batches(lengths, 4, 1000, seed=1, epoch=1)
    assert first != shuffled_batches(lengths, 4, 1000, seed=2, epoch=0)


def test_a_batch_holds_similar_lengths() -> None:
    lengths = [5] * 20 + [50] * 20
    for batch in shuffled_batches(lengths, 4, 10_000, seed=1, epoch=0):
        assert len({lengths[number] for number in batch}) == 1
