"""The adjacent-pair tree: elements 2i and 2i + 1 are added, then neighbours of those, up to one value.

The order of one Ascend block or repeat (CANN asc-devkit, WholeReduceSum and BlockReduceSum).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.formats import Array


@dataclass(frozen=True)
class AdjacentTree(SummationOrder):
    """Pairs of neighbours; an odd one out passes to the next level as it is, a start value is added last.

    >>> AdjacentTree().tree(5)
    [[[0, 1], [2, 3]], 4]
    """

    kind = "adjacent-tree"

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the tree of pairs."""
        pairs = adjacent_pairs(range(n))
        return [pairs, n] if start else pairs

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add level by level."""
        total = add_adjacent(terms.take(slice(None)), node)
        return total if start is None else node.add(total, start)


def adjacent_pairs(leaves: Sequence[Tree]) -> Tree:
    """Return the tree of pairs over `leaves`."""
    level = list(leaves)
    while len(level) > 1:
        paired: list[Tree] = [[left, right] for left, right in zip(level[::2], level[1::2], strict=False)]
        level = paired + level[2 * len(paired) :]
    return level[0]


def add_adjacent(columns: Array, node: Node) -> Array:
    """Return the value of the tree of pairs over axis 0."""
    while len(columns) > 1:
        even = len(columns) // 2 * 2
        paired = node.add(columns[0:even:2], columns[1:even:2])
        columns = np.concatenate([paired, columns[even:]]) if even < len(columns) else paired
    return columns[0]
