"""Groups of K0 products and the running accumulator: how matrix units are thought to add along K.

    Groups       acc = round(acc + x_1 + ... + x_K0)                  one exact node a group
    GroupTrees   acc = round(acc + tree of pairs of x_1 ... x_K0)     a rounding at every node

K0 may differ for fp32 data, of which a unit takes fewer at a time; `for_data` decides. An incomplete last group is
shorter: nothing is added for the missing terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from precdiff.device.orders.adjacent import add_adjacent, adjacent_pairs
from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.errors import PrecDiffError
from precdiff.formats import Array, Format, get_format

#: the most one Ascend matrix instruction takes along K (CANN asc-devkit, Mmad: k <= 4095)
MAX_K0 = 4095


@dataclass(frozen=True)
class Groups(SummationOrder):
    """Exact groups: the accumulator and K0 terms are one node.

    >>> Groups(2).tree(4, start=True)
    [[4, 0, 1], 2, 3]
    """

    kind = "groups"
    running = True

    k0: int = 16
    k0_fp32: int | None = None

    def __post_init__(self) -> None:
        check_k0(self)

    @property
    def label(self) -> str:
        """Name and size."""
        return f"groups{self.k0}"

    def for_data(self, fmt: str | Format) -> SummationOrder:
        """Fix the size for that format."""
        return Groups(group_size(self.k0, self.k0_fp32, fmt))

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return one multi-way node a group, the accumulator among its children."""
        return group_tree(n, self.k0, n if start else None)

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add group after group."""
        for part in groups(terms.count, self.k0):
            columns = terms.take(part)
            if start is not None:
                columns = np.concatenate([start[np.newaxis], columns])
            start = node.add_all(columns) if len(columns) > 1 else columns[0]
        return np.asarray(start)


@dataclass(frozen=True)
class GroupTrees(SummationOrder):
    """A tree of pairs in each group, its root added to the accumulator.

    >>> GroupTrees(4).tree(6, start=True)
    [[6, [[0, 1], [2, 3]]], [4, 5]]
    """

    kind = "group-trees"
    running = True

    k0: int = 16
    k0_fp32: int | None = None

    def __post_init__(self) -> None:
        check_k0(self)

    @property
    def label(self) -> str:
        """Name and size."""
        return f"tree{self.k0}"

    def for_data(self, fmt: str | Format) -> SummationOrder:
        """Fix the size for that format."""
        return GroupTrees(group_size(self.k0, self.k0_fp32, fmt))

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return a comb of trees of pairs."""
        total: Tree | None = n if start else None
        for part in groups(n, self.k0):
            pairs = adjacent_pairs(range(part.start, part.stop))
            total = pairs if total is None else [total, pairs]
        return 0 if total is None else total

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add group after group."""
        for part in groups(terms.count, self.k0):
            pairs = add_adjacent(terms.take(part), node)
            start = pairs if start is None else node.add(start, pairs)
        return np.asarray(start)


class Grouped(Protocol):
    """An order with groups."""

    @property
    def k0(self) -> int:
        """Terms of a group."""

    @property
    def k0_fp32(self) -> int | None:
        """Terms of a group of fp32 data, where that differs."""


def check_k0(order: Grouped) -> None:
    """Refuse groups of no terms."""
    for size in (order.k0, order.k0_fp32):
        if size is not None and not 1 <= size <= MAX_K0:
            raise PrecDiffError(f"groups: found k0={size}; allowed are 1 to {MAX_K0}")


def group_size(k0: int, k0_fp32: int | None, fmt: str | Format) -> int:
    """Return the terms of a group of data in that format."""
    return k0_fp32 if k0_fp32 is not None and get_format(fmt).p == 24 else k0


def groups(n: int, k0: int) -> Iterator[slice]:
    """Yield the parts of n terms."""
    return (slice(first, min(first + k0, n)) for first in range(0, n, k0))


def group_tree(n: int, k0: int, start: Tree | None) -> Tree:
    """Return one node a group: the accumulator so far and the group's terms."""
    total = start
    for part in groups(n, k0):
        leaves: list[Tree] = list(range(part.start, part.stop))
        children = leaves if total is None else [total, *leaves]
        total = children if len(children) > 1 else children[0]
    return 0 if total is None else total
