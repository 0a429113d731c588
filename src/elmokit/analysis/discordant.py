"""Two layers judged on the same items: where they differ, which of them is right?

Most items both get right or both get wrong, and say nothing of which is better: what a comparison
may rest on (McNemar) are the few that only one gets right.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Booleans = npt.NDArray[np.bool_]


class Discordant(NamedTuple):
    """How many items only the lower, and only the upper of two layers gets right."""

    only_lower: int
    only_upper: int


def discordant(
    lower: Mapping[str, Booleans], upper: Mapping[str, Booleans]
) -> dict[str, Discordant]:
    """By group of items; True: the layer is right."""
    return {
        name: Discordant(int((below & ~upper[name]).sum()), int((~below & upper[name]).sum()))
        for name, below in lower.items()
    }
