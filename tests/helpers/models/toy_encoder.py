"""An encoder whose every vector a test decides."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt


class ToyEncoder:
    """``layer_of(layer, sentence, place)`` gives each vector."""

    name = "toy"
    fingerprint = "toy"

    def __init__(
        self,
        layer_of: Callable[[int, Sequence[str], int], Sequence[float]],
        num_layers: int = 1,
        known: set[str] | None = None,
    ) -> None:
        self.layer_of = layer_of
        self.layer_names = tuple(f"layer {number}" for number in range(num_layers))
        self.known = known

    def covers(self, token: str) -> bool:
        return self.known is None or token in self.known

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[npt.NDArray[np.float32]]:
        return [
            np.array(
                [
                    [self.layer_of(layer, sentence, place) for place in range(len(sentence))]
                    for layer in range(len(self.layer_names))
                ],
                dtype=np.float32,
            )
            for sentence in sentences
        ]
