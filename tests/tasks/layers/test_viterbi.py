import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.tasks.layers.viterbi import BioViterbi, allowed_transitions

TAGS = ["B-A", "I-A", "O", "I-B", "B-B"]


def is_allowed(path: tuple[int, ...]) -> bool:
    """By the definition: every I-X stands just after B-X or I-X."""
    names = ["O", *(TAGS[number] for number in path)]
    return all(
        not now.startswith("I-") or before in (f"B-{now[2:]}", now)
        for before, now in itertools.pairwise(names)
    )


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_it_finds_what_brute_force_finds(seed: int, lengths: list[int]) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(len(lengths), max(lengths), len(TAGS), generator=generator)
    found = BioViterbi(TAGS).decode(scores, lengths)
    for row, length in enumerate(lengths):
        paths = [p for p in itertools.product(range(len(TAGS)), repeat=length) if is_allowed(p)]
        best = max(paths, key=lambda p: sum(float(scores[row, t, tag]) for t, tag in enumerate(p)))
        assert found[row] == list(best)


def test_a_sentence_may_not_start_inside_a_span() -> None:
    _, first = allowed_transitions(TAGS)
    assert first.tolist() == [True, False, True, False, True]


def test_padding_after_a_sentence_changes_nothing() -> None:
    scores = torch.randn(1, 3, len(TAGS), generator=torch.Generator().manual_seed(2))
    padded = torch.cat([scores, torch.full((1, 4, len(TAGS)), 9.0)], dim=1)
    decoder = BioViterbi(TAGS)
    assert decoder.decode(padded, [3]) == decoder.decode(scores, [3])


def test_a_sentence_without_tokens_has_an_empty_path() -> None:
    assert BioViterbi(TAGS).decode(torch.zeros(2, 1, len(TAGS)), [0, 1])[0] == []


def test_tags_that_never_can_start_are_refused() -> None:
    with pytest.raises(ValueError, match="no tag can start"):
        BioViterbi(["I-A", "I-B"])
