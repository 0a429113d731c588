"""Matrix products whose factors are rounded to 16-bit integers, in C; see ``int16_products``."""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from elmokit.model.kernels.compiled.build import COUNT, POINTER, address, library
from elmokit.model.kernels.int16_products import STRETCH
from elmokit.model.kernels.products import Products, Take


class _Packed(NamedTuple):
    """A factor as the C functions read it."""

    words: Tensor  # int32: two integers each
    units: Tensor  # (stretches, rows or columns)
    next_row: int  # how many words lie between those of two rows of a left factor ...
    next_pair: int  # ... between two words of one row ...
    next_stretch: int  # ... and between two stretches


@cache
def compiled_int16_products() -> Products | None:
    """For float32 tensors on the CPU; None without a compiler or the instructions."""
    found = library("int16_products")
    if found is None:
        return None
    panel_columns = COUNT.in_dll(found, "PANEL_COLUMNS").value
    pack_columns, pack_rows, multiply = found.pack_columns, found.pack_rows, found.multiply
    for function in (pack_columns, pack_rows, multiply):
        function.restype = None
    pack_columns.argtypes = [COUNT, COUNT, POINTER, COUNT, *3 * [POINTER]]
    pack_rows.argtypes = [COUNT, COUNT, POINTER, POINTER, POINTER]
    multiply.argtypes = [
        *3 * [COUNT], POINTER, *3 * [COUNT], POINTER, COUNT, POINTER, POINTER, COUNT, POINTER,
    ]  # fmt: skip

    def pack_by_columns(matrix: Tensor, take: Take, name: str, panel: int | None = None) -> _Packed:
        """For sums over the rows. ``panel``: columns stored together; by default, all of them."""
        matrix = matrix.contiguous()
        depth, width = matrix.shape
        panel = panel or _next_multiple(width, 16)
        width = _next_multiple(width, panel)
        words = take(f"{name} words", _INTEGERS, (depth + 1) // 2, width)
        units = take(f"{name} units", matrix, -(-depth // STRETCH), width)
        inverse = take(f"{name} inverse", matrix, width)
        pack_columns(
            *matrix.shape, address(matrix), panel, address(words, torch.int32), address(units),
            address(inverse),
        )  # fmt: skip
        return _Packed(words, units, 1, panel, STRETCH // 2 * panel)

    def pack_by_rows(matrix: Tensor, take: Take, name: str) -> _Packed:
        """For sums over the columns."""
        matrix = matrix.contiguous()
        count, depth = matrix.shape
        words = take(f"{name} words", _INTEGERS, -(-depth // STRETCH), count, STRETCH // 2)
        units = take(f"{name} units", matrix, len(words), count)
        pack_rows(*matrix.shape, address(matrix), address(words, torch.int32), address(units))
        return _Packed(words, units, STRETCH // 2, 1, count * STRETCH // 2)

    class CompiledFactor:
        """See Factor."""

        def __init__(self, matrix: Tensor, take: Take, name: str) -> None:
            self.shape, self.take, self.name = matrix.shape, take, name
            self.packed = pack_by_columns(matrix, take, name, panel_columns)

        def product(self, left: Tensor, out: Tensor, adds: bool = False) -> None:
            """See Factor."""
            self._multiply(pack_by_rows(left, self.take, f"{self.name} left"), out, adds)

        def product_of_transposed(self, left: Tensor) -> Tensor:
            """See Factor."""
            out = left.new_empty(left.shape[1], self.shape[1])
            self._multiply(pack_by_columns(left, self.take, f"{self.name} left"), out, False)
            return out

        def _multiply(self, left: _Packed, out: Tensor, adds: bool) -> None:
            multiply(
                len(out), *self.shape, address(left.words, torch.int32), left.next_row,
                left.next_pair, left.next_stretch, address(left.units), left.units.shape[1],
                address(self.packed.words, torch.int32), address(self.packed.units), adds,
                address(out),
            )  # fmt: skip

    return CompiledFactor


_INTEGERS = torch.empty(0, dtype=torch.int32)


def _next_multiple(number: int, of: int) -> int:
    return -(-number // of) * of
