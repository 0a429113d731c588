"""McNemar's test: which of two layers, judged on the same items, is right more often?

Most items are right or wrong for both layers and say nothing about which is better. The test uses
only the discordant items, which exactly one of the two layers gets right (McNemar, 1947).
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Booleans = npt.NDArray[np.bool_]


class McNemar(NamedTuple):
    """The two discordant cells of the test's 2 x 2 table.

    >>> McNemar(only_lower=300, only_upper=200).statistic
    20.0
    """

    only_lower: int
    """Items that only the lower of the two layers gets right."""
    only_upper: int
    """Items that only the upper one gets right."""

    @property
    def num_discordant(self) -> int:
        """Items that exactly one of the two layers gets right."""
        return self.only_lower + self.only_upper

    @property
    def statistic(self) -> float:
        """Chi-squared with one degree of freedom; above 3.84 the layers differ (p < 0.05)."""
        difference = self.only_lower - self.only_upper
        return difference**2 / self.num_discordant if self.num_discordant else 0.0

    def margin(self, num_items: int) -> float:
        """In percentage points: a smaller difference in accuracy is not significant at 5 %."""
        return 196 * math.sqrt(self.num_discordant) / max(num_items, 1)


def mcnemar(lower: Mapping[str, Booleans], upper: Mapping[str, Booleans]) -> dict[str, McNemar]:
    """The test's counts for each group of items; True means that the layer is right."""
    return {
        name: McNemar(int((below & ~upper[name]).sum()), int((~below & upper[name]).sum()))
        for name, below in lower.items()
    }
