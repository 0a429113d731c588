"""The weights of one LSTM layer as its kernels read them: tensors, or narrow matrices."""

from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.narrow import NarrowMatrix, Precision, narrow


class LstmWeights(NamedTuple):
    """One layer; the order of the gates' columns is i, f, o, j."""

    input_weight: Tensor  # (P, 4H)
    hidden_weight: Tensor  # (P, 4H)
    bias: Tensor  # (4H): the forget bias is in it
    projection: Tensor | None  # (H, P)
    cell_clip: float | None
    projection_clip: float | None

    def narrowed(self, precision: Precision) -> "NarrowWeights":
        """Round the matrices; at float32 they are shared."""
        projection = None if self.projection is None else narrow(self.projection, precision)
        return NarrowWeights(
            narrow(self.input_weight, precision),
            narrow(self.hidden_weight, precision),
            self.bias.detach(),
            projection,
            self.cell_clip,
            self.projection_clip,
        )


class NarrowWeights(NamedTuple):
    """The same, for inference."""

    input_weight: NarrowMatrix
    hidden_weight: NarrowMatrix
    bias: Tensor  # float32
    projection: NarrowMatrix | None
    cell_clip: float | None
    projection_clip: float | None

    @property
    def precision(self) -> Precision:
        """Of all matrices."""
        return self.hidden_weight.precision

    def widened(self, dtype: torch.dtype = torch.float32) -> LstmWeights:
        """The values that the matrices stand for, as tensors of ``dtype``; the bias is float32."""
        projection = None if self.projection is None else self.projection.widened().to(dtype)
        return LstmWeights(
            self.input_weight.widened().to(dtype),
            self.hidden_weight.widened().to(dtype),
            self.bias,
            projection,
            self.cell_clip,
            self.projection_clip,
        )
