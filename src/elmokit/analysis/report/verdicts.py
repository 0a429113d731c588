"""Whether a difference is more than noise, and what several differences say together."""

import math
from collections.abc import Iterable, Sequence
from statistics import mean, variance
from typing import NamedTuple

from elmokit.analysis.probes.mcnemar import McNemar
from elmokit.errors import missing_extra


class Difference(NamedTuple):
    """A difference of two scores in percentage points; positive if it supports the claim."""

    value: float
    margin: float | None
    """Half the 95 % interval; a smaller difference is not clear. None if the noise is unknown."""
    is_one_seed: bool = False

    @property
    def sign(self) -> int:
        """0 if the difference is not clear; without a margin, simply its sign."""
        if abs(self.value) <= (self.margin or 0.0):
            return 0
        return 1 if self.value > 0 else -1


def verdict(differences: Sequence[Difference]) -> str:
    """One or a few words; "confirmed" only if every difference is clear."""
    signs = {difference.sign for difference in differences}
    if signs == {0}:
        return _qualified("no clear difference", differences)
    if {1, -1} <= signs:
        return _qualified("mixed", differences)
    word = "confirmed" if 1 in signs else "contradicted"
    return _qualified(f"{word} in part" if 0 in signs else word, differences)


def _qualified(word: str, differences: Sequence[Difference]) -> str:
    """Without a margin, nothing is confirmed; with only one seed, the verdict says so."""
    if any(difference.margin is None for difference in differences):
        word = word.replace("confirmed", "agrees").replace("contradicted", "disagrees")
    is_one_seed = any(difference.is_one_seed for difference in differences)
    return f"{word} (one seed)" if is_one_seed else word


def noise(differences: Sequence[Difference]) -> str:
    """A note about the noise, to be appended to the numbers; often empty."""
    if any(difference.margin is None for difference in differences):
        return "; nothing is known of the noise"
    if any(difference.is_one_seed for difference in differences):
        return "; the noise of one seed is taken from cells with several, here or in Table 1"
    return ""


class Deviation(NamedTuple):
    """The standard deviation of scores over seeds, and its degrees of freedom."""

    value: float
    degrees: int


def deviation(cells: Iterable[Sequence[float]]) -> Deviation | None:
    """The standard deviation pooled over cells with several seeds; None if there are none.

    >>> deviation([[1.0, 3.0], [5.0]]) == Deviation(math.sqrt(2), 1)
    True
    """
    several = [cell for cell in cells if len(cell) > 1]
    if not several:
        return None
    degrees = sum(len(cell) - 1 for cell in several)
    squares = sum(variance(cell) * (len(cell) - 1) for cell in several)
    return Deviation(math.sqrt(squares / degrees), degrees)


def of_seeds(
    better: Sequence[float], worse: Sequence[float], pooled: Deviation | None
) -> Difference:
    """The difference of two cells of scores, one score per seed.

    ``pooled``: the deviation of other cells, for a cell with a single seed.
    """
    value = mean(better) - mean(worse)
    is_one_seed = len(better) == 1 or len(worse) == 1
    found = pooled if is_one_seed else deviation([better, worse])
    if found is None:
        return Difference(value, None, is_one_seed)
    error = found.value * math.sqrt(1 / len(better) + 1 / len(worse))
    return Difference(value, _student(found.degrees) * error, is_one_seed)


def of_sample(values: Sequence[float]) -> Difference:
    """The mean of differences that were observed once for each seed."""
    found = deviation([values])
    if found is None:
        return Difference(mean(values), None, is_one_seed=True)
    return Difference(mean(values), _student(found.degrees) * found.value / math.sqrt(len(values)))


def _student(degrees: int) -> float:
    """How many standard errors make a 95 % interval, by Student's t distribution."""
    try:
        from scipy.stats import t
    except ImportError:
        raise missing_extra("scipy", "analysis", "a verdict") from None
    return float(t.ppf(0.975, degrees))


def of_shares(better: float, worse: float, number: int) -> Difference:
    """The difference of two shares in percent, each of ``number`` independent items.

    If both are shares of the same items, the margin is wider than necessary.
    """
    squares = sum(share / 100 * (1 - share / 100) / max(number, 1) for share in (better, worse))
    return Difference(better - worse, 196 * math.sqrt(squares))


def of_layers(better: float, worse: float, test: McNemar | None, number: int) -> Difference:
    """The difference of two layers on the same ``number`` items, by McNemar's test if given."""
    if test is None:
        return of_shares(better, worse, number)
    return Difference(better - worse, test.margin(number))
