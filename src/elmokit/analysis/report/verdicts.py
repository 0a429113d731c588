"""Is a difference more than noise? What differences, taken together, say to a claim."""

import math
from collections.abc import Iterable, Sequence
from statistics import mean, variance
from typing import NamedTuple

from elmokit.analysis.discordant import Discordant


class Difference(NamedTuple):
    """Of two scores in percent points: positive where the claim holds."""

    value: float
    margin: float | None
    """Two standard errors, within which it says nothing; None: nothing is known of the noise."""
    is_one_seed: bool = False

    @property
    def sign(self) -> int:
        if abs(self.value) <= (self.margin or 0.0):
            return 0
        return 1 if self.value > 0 else -1


def verdict(differences: Sequence[Difference]) -> str:
    """Confirmed only where every difference is clear; what stands on one seed says so."""
    signs = {difference.sign for difference in differences}
    is_one_seed = any(difference.is_one_seed for difference in differences)
    return _word(signs) + (" (one seed)" if is_one_seed else "")


def _word(signs: set[int]) -> str:
    if signs == {0}:
        return "no clear difference"
    if {1, -1} <= signs:
        return "mixed"
    word = "confirmed" if 1 in signs else "contradicted"
    return f"{word} in part" if 0 in signs else word


def noise(differences: Sequence[Difference]) -> str:
    """What a reader must be told beside the numbers; mostly nothing."""
    if any(difference.margin is None for difference in differences):
        return "; nothing is known of the noise"
    if any(difference.is_one_seed for difference in differences):
        return "; the noise of one seed is taken from the cells with several"
    return ""


def deviation(cells: Iterable[Sequence[float]]) -> float | None:
    """Over seeds, pooled over the cells of an exhibit that have several; None: none has.

    >>> deviation([[1.0, 3.0], [5.0]]) == math.sqrt(2)
    True
    """
    several = [cell for cell in cells if len(cell) > 1]
    if not several:
        return None
    squares = sum(variance(cell) * (len(cell) - 1) for cell in several)
    return math.sqrt(squares / sum(len(cell) - 1 for cell in several))


def of_seeds(better: Sequence[float], worse: Sequence[float], pooled: float | None) -> Difference:
    """Of two cells of scores, one a seed; ``pooled`` is the deviation where one has but one."""
    value = mean(better) - mean(worse)
    is_one_seed = len(better) == 1 or len(worse) == 1
    if not is_one_seed:
        squares = variance(better) / len(better) + variance(worse) / len(worse)
    elif pooled is not None:
        squares = pooled**2 / len(better) + pooled**2 / len(worse)
    else:
        return Difference(value, None, is_one_seed)
    return Difference(value, 2 * math.sqrt(squares), is_one_seed)


def of_shares(better: float, worse: float, number: int) -> Difference:
    """Of two shares in percent, as if of ``number`` items each: wider than need be on the same."""
    squares = sum(share / 100 * (1 - share / 100) / max(number, 1) for share in (better, worse))
    return Difference(better - worse, 200 * math.sqrt(squares))


def of_layers(
    better: float, worse: float, discordant: Discordant | None, number: int
) -> Difference:
    """Of two layers on the same items: what counts is where only one of them is right."""
    if discordant is None:
        return of_shares(better, worse, number)
    return Difference(better - worse, 200 * math.sqrt(sum(discordant)) / max(number, 1))
