"""The order of Ascend's vector reductions: a tree of pairs inside each 256-byte repeat, then over the repeats.

    way 1, outer = in-order    acc = +0;  acc = round(acc + tree(repeat))      A2/A3, count interface
    way 2, outer = tree        the repeats' results are reduced again, 256 bytes at a time, up to one value

Source: CANN asc-devkit, ReduceSum and WholeReduceSum. A repeat holds 128 numbers of 16 bits or 64 of 32 bits: the width
is that of the stored data, whatever the accumulator. Masked-off elements count as 0 (same source). An incomplete repeat
therefore adds +0 wherever an element is missing: no value changes but -0, which becomes +0, and in saturation mode NaN,
which becomes +0 on its own; the tree shows such a node with one child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from precdiff.device.orders.adjacent import add_adjacent
from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.sequential import chain
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import Array, Format, get_format

OUTER = ("in-order", "tree")


@dataclass(frozen=True)
class Repeats(SummationOrder):
    """Trees of `bytes` of data each, combined by `outer`; `elements` a repeat is fixed by `for_data`.

    >>> Repeats("tree", bytes=8).for_data("fp16").tree(3)
    [[0, 1], [2]]
    """

    kind = "repeats"

    outer: str = "in-order"
    bytes: int = 256
    elements: int | None = None

    def __post_init__(self) -> None:
        if self.outer not in OUTER:
            raise UnknownNameError("outer order of repeats", self.outer, OUTER)
        if self.elements is not None and (self.elements < 2 or self.elements & (self.elements - 1)):
            raise PrecDiffError(f"repeats: found {self.elements} elements; allowed is a power of two from 2 on")

    @property
    def label(self) -> str:
        """Name and outer order."""
        return f"repeats-{self.outer}"

    def for_data(self, fmt: str | Format) -> SummationOrder:
        """Fix the number of elements for data of that width."""
        return self if self.elements else Repeats(self.outer, self.bytes, 8 * self.bytes // get_format(fmt).bits)

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the padded trees and what joins them."""
        roots = self._roots(list(range(n)))
        if self.outer == "in-order":
            return reduce(lambda total, root: [total, root], roots[1:], [n, roots[0]] if start else [roots[0]])
        while len(roots) > 1:
            roots = self._roots(roots)
        return [n, roots[0]] if start else roots[0]

    def _roots(self, leaves: list[Tree]) -> list[Tree]:
        size = self._size()
        return [_padded(leaves[first : first + size], size) for first in range(0, len(leaves), size)]

    def _size(self) -> int:
        if self.elements is None:
            raise PrecDiffError("repeats: the number of elements follows the data; call for_data('fp16') first")
        return self.elements

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Reduce all repeats at once, then what is left of each."""
        sums = _add_repeats(terms.take(slice(None)), self._size(), node)
        if self.outer == "in-order":
            return chain(sums, node, np.zeros(sums.shape[1:], sums.dtype) if start is None else start)
        while len(sums) > 1:
            sums = _add_repeats(sums, self._size(), node)
        return sums[0] if start is None else node.add(start, sums[0])


def _padded(leaves: Sequence[Tree], size: int) -> Tree:
    """Return the tree of pairs over `size` places of which the first are `leaves` and the others add +0."""
    if size == 1:
        return leaves[0]
    half = size // 2
    left = _padded(leaves[:half], half)
    if len(leaves) > half:
        return [left, _padded(leaves[half:], half)]
    # +0 added twice is +0 added once
    return left if isinstance(left, list) and len(left) == 1 else [left]


def _add_repeats(columns: Array, size: int, node: Node) -> Array:
    """Return the value of each repeat of `size` terms, repeats on axis 0."""
    count, shape = len(columns), columns.shape[1:]
    alone = 1 << (count - 1).bit_length()  # a lone short repeat needs no more places, only one +0 more
    places = min(size, alone) if count < size else -(-count // size) * size
    padded = np.concatenate([columns, np.zeros((places - count, *shape), columns.dtype)])
    sums = add_adjacent(np.swapaxes(padded.reshape(-1, min(size, places), *shape), 0, 1), node)
    return node.add(sums, np.zeros_like(sums)) if places < size else sums
