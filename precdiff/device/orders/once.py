"""One node for all terms: the exact sum, rounded once. No device adds like this; it is the best any can do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.formats import Array


@dataclass(frozen=True)
class Once(SummationOrder):
    """All terms and the start value in one go.

    >>> Once().tree(3, start=True)
    [3, 0, 1, 2]
    """

    kind = "once"
    running = True

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the one node, or the lone leaf."""
        leaves: list[Tree] = [n, *range(n)] if start else list(range(n))
        return leaves if len(leaves) > 1 else leaves[0]

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add everything exactly."""
        columns = terms.take(slice(None))
        return node.add_all(columns if start is None else np.concatenate([start[np.newaxis], columns]))
