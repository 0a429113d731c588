"""The weights of one LSTM layer as its kernels read them: float32 or narrower matrices.

A step with few rows is limited by memory bandwidth, so narrow matrices make it faster.

bfloat16 keeps the upper half of a float32. int8 keeps integers from -127 to 127 and one float32
scale for each column. Both are rounded once; ``widened`` returns the values that they represent,
with which PyTorch computes the same as the compiled kernel, up to the rounding of sums (and, for
int8, of rows to 16 bits).

A word of 32 bits holds consecutive rows of one column: one of float32, two of bfloat16 or four of
int8. Any processor can unpack them with shifts alone, a vector of columns at a time.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

Precision = Literal["float32", "bfloat16", "int8"]
"""How the LSTMs' matrices are stored and multiplied."""
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_LARGEST_INT8 = 127


class NarrowMatrix(NamedTuple):
    """A matrix of ``depth`` rows, as the compiled kernel reads it."""

    precision: Precision
    words: Tensor  # (ceil(depth / rows in a word), N), int32; zeros beyond the depth
    units: Tensor | None  # (N,): the scale of each column, for int8
    depth: int

    def widened(self) -> Tensor:
        """(depth, N), float32: the values that the words represent."""
        if self.precision == "float32":
            return self.words.view(torch.float32)
        dtype = torch.bfloat16 if self.precision == "bfloat16" else torch.int8
        per_word = 4 // dtype.itemsize
        num_words, width = self.words.shape
        rows = self.words.view(dtype).view(num_words, width, per_word).transpose(1, 2)
        values = rows.reshape(-1, width)[: self.depth].float()
        return values if self.units is None else values.mul_(self.units)


def narrow(matrix: Tensor, precision: Precision) -> NarrowMatrix:
    """Round a float32 matrix to ``precision``; for float32 nothing is copied."""
    matrix = matrix.detach().contiguous()
    if precision == "float32":
        return NarrowMatrix(precision, matrix.view(torch.int32), None, len(matrix))
    if precision == "bfloat16":
        return NarrowMatrix(precision, _in_words(matrix.to(torch.bfloat16)), None, len(matrix))
    units = matrix.abs().amax(dim=0) / _LARGEST_INT8
    units[units == 0] = 1.0  # a column of zeros
    whole = (matrix / units).round_().to(torch.int8)
    return NarrowMatrix(precision, _in_words(whole), units, len(matrix))


def _in_words(values: Tensor) -> Tensor:
    per_word = 4 // values.element_size()
    padded = torch.nn.functional.pad(values, (0, 0, 0, -len(values) % per_word))
    grouped = padded.view(-1, per_word, padded.shape[1]).transpose(1, 2)  # (words, N, rows of one)
    return grouped.contiguous().flatten(1).view(torch.int32)


class LstmWeights(NamedTuple):
    """One layer; the order of the gates' columns is i, f, o, j."""

    input_weight: Tensor  # (P, 4H)
    hidden_weight: Tensor  # (P, 4H)
    bias: Tensor  # (4H): the forget bias is in it
    projection: Tensor | None  # (H, P)
    cell_clip: float | None
    projection_clip: float | None

    def narrowed(self, precision: Precision) -> "NarrowWeights":
        """Round the matrices to ``precision``; for float32 they are shared."""
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
    """The same layer for inference, with matrices of any precision."""

    input_weight: NarrowMatrix
    hidden_weight: NarrowMatrix
    bias: Tensor  # float32
    projection: NarrowMatrix | None
    cell_clip: float | None
    projection_clip: float | None

    @property
    def precision(self) -> Precision:
        """The precision of all matrices."""
        return self.hidden_weight.precision

    def widened(self, dtype: torch.dtype = torch.float32) -> LstmWeights:
        """The values that the matrices represent, as tensors of ``dtype``; the bias is float32."""
        projection = None if self.projection is None else self.projection.widened().to(dtype)
        return LstmWeights(
            self.input_weight.widened().to(dtype),
            self.hidden_weight.widened().to(dtype),
            self.bias,
            projection,
            self.cell_clip,
            self.projection_clip,
        )
