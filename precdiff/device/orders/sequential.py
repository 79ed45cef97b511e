"""One accumulator, terms in order: acc = round(acc + x_k).

With exact products this is a chain of fused multiply-adds, acc = round(acc + a_k b_k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.formats import Array

#: sums side by side above which plane by plane is faster than numpy's accumulate
_FEW = 64


@dataclass(frozen=True)
class Sequential(SummationOrder):
    """(((x0 + x1) + x2) + ...), from the start value where there is one.

    >>> Sequential().tree(4), Sequential().tree(2, start=True)
    ([[[0, 1], 2], 3], [[2, 0], 1])
    """

    kind = "sequential"
    running = True

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the comb."""
        leaves: list[Tree] = [n, *range(n)] if start else list(range(n))
        return reduce(lambda left, right: [left, right], leaves)

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add block after block, so that not all products are there at once."""
        size = max(1, 2**18 // max(1, math.prod(terms.shape)))
        for first in range(0, terms.count, size):
            start = chain(terms.take(slice(first, first + size)), node, start)
        return np.asarray(start)


@dataclass(frozen=True)
class SequentialFma(Sequential):
    """The same with fused products, whatever the profile says of products."""

    kind = "sequential-fma"
    fused = True


def chain(columns: Array, node: Node, start: Array | None = None) -> Array:
    """Add the planes of `columns` one after another to `start`."""
    if math.prod(columns.shape[1:]) <= _FEW and node.native is not None and _all_held(columns, node):
        whole = columns if start is None else np.concatenate([start[np.newaxis], columns])
        with np.errstate(all="ignore"):  # numpy's accumulate is sequential and rounds at every step
            return np.add.accumulate(whole.astype(node.native), axis=0)[-1].astype(node.rounding.format.carrier)
    for column in columns:
        start = column if start is None else node.add(start, column)
    return np.asarray(start)


def _all_held(columns: Array, node: Node) -> bool:
    """Say whether the planes are numbers of the accumulator's format."""
    return node.held or (node.native == columns.dtype == np.float32)
