import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.layers.spans import candidate_spans, prune


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 4))
def test_every_span_inside_a_sentence_is_a_candidate_and_no_other(
    lengths: list[int], max_width: int
) -> None:
    expected, begin = set(), 0
    for length in lengths:
        for first, last in itertools.combinations_with_replacement(range(length), 2):
            if last - first < max_width:
                expected.add((begin + first, begin + last))
        begin += length
    spans = candidate_spans(lengths, max_width)
    found = {(int(a), int(a + w)) for a, w in spans.is_span.nonzero()}
    assert found == expected
    assert all(spans.window[a, b - a] == b for a, b in expected)


def crossing(one: tuple[int, int], other: tuple[int, int]) -> bool:
    (a, b), (c, d) = sorted([one, other])
    return a < c <= b < d


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_pruning_keeps_the_best_that_cross_nothing_better(seed: int, num_kept: int) -> None:
    is_span = candidate_spans([5, 3], 4).is_span
    scores = torch.randn(is_span.shape, generator=torch.Generator().manual_seed(seed))
    by_score = sorted((-float(scores[a, w]), int(a), int(a + w)) for a, w in is_span.nonzero())
    expected: list[tuple[int, int]] = []
    for _, first, last in by_score:
        if len(expected) < num_kept and not any(crossing((first, last), e) for e in expected):
            expected.append((first, last))
    first, width = prune(scores, is_span, num_kept)
    assert list(zip(first.tolist(), (first + width).tolist(), strict=True)) == sorted(expected)
