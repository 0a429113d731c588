"""Is a difference more than noise? What differences, taken together, say to a claim."""

import math
from collections.abc import Iterable, Sequence
from statistics import mean, variance
from typing import NamedTuple

from elmokit.analysis.discordant import Discordant
from elmokit.errors import missing_extra


class Difference(NamedTuple):
    """Of two scores in percent points: positive where the claim holds."""

    value: float
    margin: float | None
    """Of 95 % confidence, within which it says nothing; None: nothing is known of the noise."""
    is_one_seed: bool = False

    @property
    def sign(self) -> int:
        """Where nothing is known of the noise, merely which way it points."""
        if abs(self.value) <= (self.margin or 0.0):
            return 0
        return 1 if self.value > 0 else -1


def verdict(differences: Sequence[Difference]) -> str:
    """Confirmed only where every difference is clear."""
    signs = {difference.sign for difference in differences}
    if signs == {0}:
        return _qualified("no clear difference", differences)
    if {1, -1} <= signs:
        return _qualified("mixed", differences)
    word = "confirmed" if 1 in signs else "contradicted"
    return _qualified(f"{word} in part" if 0 in signs else word, differences)


def _qualified(word: str, differences: Sequence[Difference]) -> str:
    """Without a margin nothing is confirmed; and what stands on one seed says so."""
    if any(difference.margin is None for difference in differences):
        word = word.replace("confirmed", "agrees").replace("contradicted", "disagrees")
    is_one_seed = any(difference.is_one_seed for difference in differences)
    return f"{word} (one seed)" if is_one_seed else word


def noise(differences: Sequence[Difference]) -> str:
    """What a reader must be told beside the numbers; mostly nothing."""
    if any(difference.margin is None for difference in differences):
        return "; nothing is known of the noise"
    if any(difference.is_one_seed for difference in differences):
        return "; the noise of one seed is taken from cells with several, here or in Table 1"
    return ""


class Deviation(NamedTuple):
    """Of scores over seeds, estimated with so many degrees of freedom."""

    value: float
    degrees: int


def deviation(cells: Iterable[Sequence[float]]) -> Deviation | None:
    """Pooled over the cells that have several seeds; None: none has.

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
    """Of two cells of scores, one a seed; ``pooled``: of other cells, where one has but one."""
    value = mean(better) - mean(worse)
    is_one_seed = len(better) == 1 or len(worse) == 1
    found = pooled if is_one_seed else deviation([better, worse])
    if found is None:
        return Difference(value, None, is_one_seed)
    error = found.value * math.sqrt(1 / len(better) + 1 / len(worse))
    return Difference(value, _student(found.degrees) * error, is_one_seed)


def of_sample(values: Sequence[float]) -> Difference:
    """Of differences that were seen one a seed."""
    found = deviation([values])
    if found is None:
        return Difference(mean(values), None, is_one_seed=True)
    return Difference(mean(values), _student(found.degrees) * found.value / math.sqrt(len(values)))


def _student(degrees: int) -> float:
    """How many standard errors make 95 %, where they are estimated from a few seeds."""
    try:
        from scipy.stats import t
    except ImportError:
        raise missing_extra("scipy", "analysis", "a verdict") from None
    return float(t.ppf(0.975, degrees))


def of_shares(better: float, worse: float, number: int) -> Difference:
    """Of two shares in percent, as if of ``number`` items each: wider than need be on the same."""
    squares = sum(share / 100 * (1 - share / 100) / max(number, 1) for share in (better, worse))
    return Difference(better - worse, 196 * math.sqrt(squares))


def of_layers(
    better: float, worse: float, discordant: Discordant | None, number: int
) -> Difference:
    """Of two layers on the same items: what counts is where only one of them is right."""
    if discordant is None:
        return of_shares(better, worse, number)
    return Difference(better - worse, 196 * math.sqrt(sum(discordant)) / max(number, 1))
