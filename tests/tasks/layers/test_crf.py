"""The CRF against brute force: every tag sequence of tiny sentences, one by one."""

from itertools import pairwise, product

import torch
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.layers.crf import Crf
from elmokit.tasks.models.ner import _may_follow


def random_crf(num_tags: int, seed: int, is_constrained: bool) -> Crf:
    torch.manual_seed(seed)
    allowed = torch.rand(num_tags, num_tags) < 0.6
    allowed[0] = allowed[:, 0] = True  # so that some path is always open
    ends = torch.rand(num_tags) < 0.7
    ends[0] = True
    crf = Crf(num_tags, starts=ends, steps=allowed, ends=ends) if is_constrained else Crf(num_tags)
    with torch.no_grad():
        for weight in crf.parameters():
            weight.copy_(torch.randn_like(weight))
    return crf.double()


def score_of(crf: Crf, emissions: torch.Tensor, path: tuple[int, ...]) -> float:
    """One sentence's score, as the formula says; forbidden steps make it hopeless."""
    start, step, end = crf._weights()
    total = start[path[0]] + end[path[-1]]
    total = total + sum(emissions[place, tag] for place, tag in enumerate(path))
    return float((total + sum(step[a, b] for a, b in pairwise(path))).detach())


SIZES = st.tuples(st.integers(2, 4), st.lists(st.integers(1, 4), min_size=1, max_size=3))


@given(SIZES, st.integers(0, 1000), st.booleans())
def test_likelihood_and_best_path_equal_brute_force(
    sizes: tuple[int, list[int]], seed: int, is_constrained: bool
) -> None:
    num_tags, lengths = sizes
    crf = random_crf(num_tags, seed, is_constrained)
    emissions = torch.randn(len(lengths), max(lengths), num_tags, dtype=torch.float64)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    tags = torch.zeros_like(mask, dtype=torch.long)
    decoded = crf.decode(emissions, mask)
    best_paths, likelihoods = [], []
    for number, length in enumerate(lengths):
        paths = list(product(range(num_tags), repeat=length))
        scores = torch.tensor([score_of(crf, emissions[number], path) for path in paths])
        best_paths.append(list(paths[int(scores.argmax())]))
        gold = paths[seed % len(paths)]
        tags[number, :length] = torch.tensor(gold)
        likelihoods.append(float(scores[seed % len(paths)] - scores.logsumexp(dim=0)))
    assert decoded == best_paths
    found = crf(emissions, tags, mask)
    torch.testing.assert_close(
        found, torch.tensor(likelihoods, dtype=torch.float64), rtol=1e-5, atol=1e-5
    )


def test_forbidden_steps_are_never_decoded() -> None:
    tags = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"]
    crf = Crf(
        len(tags),
        starts=torch.tensor([_may_follow("O", tag) for tag in tags]),
        steps=torch.tensor([[_may_follow(a, b) for b in tags] for a in tags]),
        ends=torch.tensor([_may_follow(tag, "O") for tag in tags]),
    )
    emissions = 5 * torch.randn(20, 7, len(tags))
    for path in crf.decode(emissions, torch.ones(20, 7, dtype=torch.bool)):
        names = ["O", *(tags[tag] for tag in path), "O"]
        assert all(_may_follow(a, b) for a, b in pairwise(names))


def test_an_empty_sentence_beside_others_is_certain_and_has_no_tags() -> None:
    crf = random_crf(3, 1, False)
    emissions = torch.randn(2, 4, 3, dtype=torch.float64)
    mask = torch.tensor([[True, True, False, False], [False, False, False, False]])
    likelihood = crf(emissions, torch.zeros(2, 4, dtype=torch.long), mask)
    assert float(likelihood[1].detach()) == 0.0
    assert [len(path) for path in crf.decode(emissions, mask)] == [2, 0]


def test_padding_changes_nothing() -> None:
    crf = random_crf(3, 2, True)
    short = torch.randn(1, 3, 3, dtype=torch.float64)
    long = torch.cat([short, 9 * torch.randn(1, 2, 3, dtype=torch.float64)], dim=1)
    tags = torch.zeros(1, 5, dtype=torch.long)
    mask = torch.tensor([[True, True, True, False, False]])
    torch.testing.assert_close(crf(short, tags[:, :3], mask[:, :3]), crf(long, tags, mask))
    assert crf.decode(short, mask[:, :3]) == crf.decode(long, mask)
