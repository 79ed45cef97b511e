"""Summation trees and what they mean: the slow definition every order is held to.

A tree is nested lists. An integer is a leaf, the index of a term; a list is one node that adds its children at once and
rounds once; a list with one child adds +0 to it (a masked-off operand, or an accumulator that starts at +0). Leaf n is
the start value of a sum of n terms where there is one. This is the format of revealed trees (FPRev, arXiv 2411.00442),
which show neither one-child nodes nor the order of a node's operands: `visible` takes both away.

This file knows nothing of orders or devices: only integers and fractions, no floating-point operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from precdiff.rounding import Rounding, round_exact

Tree: TypeAlias = int | list["Tree"]


@dataclass(frozen=True)
class Product:
    """A leaf of a dot product whose product is not rounded on its own; factors have exponents from `emin` up."""

    a: float
    b: float
    emin: int = -1074


Leaf: TypeAlias = float | Fraction | Product
NodeRule: TypeAlias = Callable[[Sequence[Leaf], Rounding], float]


def exact_value(leaf: Leaf) -> float | Fraction:
    """Return a non-zero finite leaf as a fraction; zeros keep their sign and specials their kind, as floats.

    >>> exact_value(Product(3.0, 0.5)), exact_value(Product(-2.0, 0.0))
    (Fraction(3, 2), -0.0)
    """
    if isinstance(leaf, Product):
        if leaf.a and leaf.b and math.isfinite(leaf.a) and math.isfinite(leaf.b):
            return Fraction(leaf.a) * Fraction(leaf.b)
        return leaf.a * leaf.b
    return Fraction(leaf) if isinstance(leaf, float) and leaf and math.isfinite(leaf) else leaf


def exact_node(children: Sequence[Leaf], rounding: Rounding) -> float:
    """Add all children exactly and round once.

    >>> exact_node([1.0, 2.0**-30, -1.0], Rounding("fp16"))
    0.0
    >>> exact_node([1.0, 2.0**-20, -1.0], Rounding("fp16"))
    9.5367431640625e-07
    """
    values = [exact_value(child) for child in children]
    special = sum(value for value in values if isinstance(value, float))
    if not math.isfinite(special):
        return round_exact(special, rounding)
    total = sum((value for value in values if isinstance(value, Fraction)), Fraction(0))
    return round_exact(total or _zero(values, rounding), rounding)


def _zero(values: Sequence[float | Fraction], rounding: Rounding) -> float:
    """Return the zero an exact sum of 0 becomes: IEEE 754-2019, 6.3, for any number of operands."""
    signs = {math.copysign(1.0, value) for value in values}
    if len(signs) == 1:
        return 0.0 * signs.pop()
    return -0.0 if rounding.direction == "down" else 0.0


def evaluate(tree: Tree, leaves: Sequence[Leaf], rounding: Rounding, node: NodeRule = exact_node) -> float:
    """Return the value of the tree: every node adds its children by `node`; a lone leaf is rounded once.

    >>> evaluate([[0, 1], [2, 3]], [60000.0, 60000.0, -30000.0, 100.0], Rounding("fp16", overflow="saturate"))
    35584.0
    """
    frames: list[tuple[list[Tree], list[Leaf]]] = [([tree], [])]  # a stack: sequential trees are as deep as long
    while True:
        waiting, values = frames[-1]
        if not waiting:
            frames.pop()
            if not frames:
                return round_exact(exact_value(values[0]), rounding)
            frames[-1][1].append(node(values if len(values) > 1 else [*values, 0.0], rounding))
            continue
        child = waiting.pop(0)
        if isinstance(child, int):
            values.append(leaves[child])
        else:
            frames.append((list(child), []))


def visible(tree: Tree) -> Tree:
    """Return what probing can see of a tree: no one-child nodes, children in a fixed order.

    >>> visible([[3, [0]], [2, 1]])
    [[0, 3], [1, 2]]
    """
    if isinstance(tree, int):
        return tree
    children = [visible(child) for child in tree]
    return children[0] if len(children) == 1 else sorted(children, key=_first_leaf)


def _first_leaf(tree: Tree) -> int:
    while not isinstance(tree, int):
        tree = tree[0]
    return tree
