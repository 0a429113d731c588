"""Matrices in fewer bits: a step of few rows waits for memory, and so reads narrow ones sooner.

bfloat16 keeps the upper half of a float32. int8 keeps whole numbers from -127 to 127 and one
float32 for each column, the size of its unit. Both are rounded once; ``widened`` returns the values
they stand for, with which PyTorch computes the same as the compiled kernel, up to the rounding of
sums (and, for int8, of rows to 16 bits).

A word of 32 bits holds consecutive rows of one column: one of float32, two of bfloat16, four of
int8. Any processor takes them apart with shifts alone, a vector of columns at a time.
"""

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

Precision = Literal["float32", "bfloat16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_LARGEST_INT8 = 127


class NarrowMatrix(NamedTuple):
    """A matrix of ``depth`` rows, as the compiled kernel reads it."""

    precision: Precision
    words: Tensor  # (ceil(depth / rows in a word), N), int32; zeros beyond the depth
    units: Tensor | None  # (N,): int8's, by column
    depth: int

    def widened(self) -> Tensor:
        """(depth, N), float32: the values that the words stand for."""
        if self.precision == "float32":
            return self.words.view(torch.float32)
        dtype = torch.bfloat16 if self.precision == "bfloat16" else torch.int8
        per_word = 4 // dtype.itemsize
        num_words, width = self.words.shape
        rows = self.words.view(dtype).view(num_words, width, per_word).transpose(1, 2)
        values = rows.reshape(-1, width)[: self.depth].float()
        return values if self.units is None else values.mul_(self.units)


def narrow(matrix: Tensor, precision: Precision) -> NarrowMatrix:
    """Round a float32 matrix; at float32 nothing is copied."""
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
