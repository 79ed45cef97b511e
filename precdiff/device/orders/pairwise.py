"""numpy's pairwise summation (numpy/_core/src/umath/loops_utils.h.src, `pairwise_sum`), as FPRev reveals it.

    n < 8      one after another
    n <= 128   8 lanes of stride 8, combined ((0+1)+(2+3)) + ((4+5)+(6+7)), then the tail one after another
    beyond     the two halves, the first a multiple of 8 long, each in this way; then added

The reduction adds this to a start value of +0, so that a sum of -0 is +0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from precdiff.device.orders.adjacent import add_adjacent, adjacent_pairs
from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.sequential import chain
from precdiff.device.orders.terms import Terms
from precdiff.device.orders.tree import Tree
from precdiff.formats import Array

LANES, BLOCK = 8, 128

Span: TypeAlias = tuple[int, int]
Halves: TypeAlias = Span | list["Halves"]


@dataclass(frozen=True)
class Pairwise(SummationOrder):
    """numpy's order, for contiguous data and the last axis.

    >>> Pairwise().tree(9)
    [[[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], 8]]
    """

    kind = "pairwise"

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return the tree, added to the start value."""
        inner = _tree(_halve(0, n))
        return [n, inner] if start else [inner]

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add all blocks of one length at a time, then all halves of one height."""
        total = terms.take(slice(None))[0] if terms.count == 1 else _fold_spans(terms, node)
        return node.add(total, np.zeros_like(total) if start is None else start)


def _halve(first: int, n: int) -> Halves:
    if n <= BLOCK:
        return first, n
    half = n // 2 // LANES * LANES
    return [_halve(first, half), _halve(first + half, n - half)]


def _tree(halves: Halves) -> Tree:
    if isinstance(halves, list):
        return [_tree(half) for half in halves]
    first, n = halves
    lanes = n // LANES * LANES if n >= LANES else 1
    rows = [range(row, min(row + LANES, first + lanes)) for row in range(first, first + lanes, LANES)]
    heads: list[Tree] = [reduce(_node, lane) for lane in zip(*rows, strict=True)]
    return reduce(_node, range(first + lanes, first + n), adjacent_pairs(heads))


def _node(left: Tree, right: Tree) -> Tree:
    return [left, right]


def _fold_spans(terms: Terms, node: Node) -> Array:
    levels = [[_halve(0, terms.count)]]
    while any(isinstance(part, list) for part in levels[-1]):
        levels.append([half for part in levels[-1] if isinstance(part, list) for half in part])
    below = np.empty((0, *terms.shape), node.rounding.format.carrier)
    for level in reversed(levels):
        sums = np.empty((len(level), *terms.shape), node.rounding.format.carrier)
        halved = np.array([isinstance(part, list) for part in level])
        sums[halved] = node.add(below[::2], below[1::2])
        _fold_blocks(terms, level, sums, node)
        below = sums
    return below[0]


def _fold_blocks(terms: Terms, level: list[Halves], sums: Array, node: Node) -> None:
    """Fill in the sums of the parts of a level that are blocks, all of one length at a time."""
    for length in {part[1] for part in level if isinstance(part, tuple)}:
        chosen = [i for i, part in enumerate(level) if isinstance(part, tuple) and part[1] == length]
        index = np.arange(length)[:, np.newaxis] + [level[i][0] for i in chosen]
        sums[chosen] = _fold_block(terms.take(index), node)


def _fold_block(columns: Array, node: Node) -> Array:
    """Add up to 128 terms over axis 0."""
    lanes = len(columns) // LANES * LANES
    if not lanes:
        return chain(columns, node)
    rows = columns[:lanes].reshape(-1, LANES, *columns.shape[1:])
    return chain(columns[lanes:], node, add_adjacent(chain(rows, node), node))
