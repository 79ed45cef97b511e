"""The fused dot product of matrix units: products aligned to the largest one, cut, added exactly, rounded once.

    E = max e_i over the accumulator and K0 products, e_i = e_a + e_b before normalisation; zeros have e = zero_exponent
    acc = round( 2^E * sum trunc(x_i * 2^(bits - E)) * 2^-bits )

`bits` fraction bits are kept of each term, without guard or sticky bit; the result is rounded in direction `final`
(default toward zero) and -0 becomes +0. Subnormal factors and accumulators keep their format's emin as exponent.
Source: the T-FDPA of MMA-Sim (arXiv 2511.10909), which reproduces real tensor cores; for others it is a candidate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np

from precdiff.device.orders.groups import check_k0, group_size, group_tree, groups
from precdiff.device.orders.node import Node
from precdiff.device.orders.order import SummationOrder
from precdiff.device.orders.terms import NO_EXPONENT, Terms, exponent
from precdiff.device.orders.tree import Leaf, NodeRule, Product, Tree, exact_value
from precdiff.errors import PrecDiffError, UnknownNameError
from precdiff.formats import Array, Format
from precdiff.rounding import DIRECTIONS, Direction, Rounding, round_exact

#: sums of up to 2^14 terms of bits + 2 bits stay exact in fp64
MAX_BITS = 37


@dataclass(frozen=True)
class AlignedTruncated(SummationOrder):
    """Groups whose terms are cut at `bits` fraction bits below the largest.

    >>> unit = AlignedTruncated(4, bits=23)
    >>> unit.dot(np.full(4, 2.0**-24), np.ones(4), Rounding("fp32"), c=1.0)
    array(1., dtype=float32)
    """

    kind = "aligned-truncated"
    running = True

    k0: int = 16
    bits: int = 24
    k0_fp32: int | None = None
    zero_exponent: int | None = None
    final: str = "toward-zero"

    def __post_init__(self) -> None:
        if self.final not in DIRECTIONS:
            raise UnknownNameError("direction", self.final, DIRECTIONS)
        check_k0(self)
        if not 0 < self.bits <= MAX_BITS:
            raise PrecDiffError(f"aligned-truncated: found bits={self.bits}; allowed are 1 to {MAX_BITS}")

    @property
    def label(self) -> str:
        """Name and width."""
        return f"trunc{self.bits}"

    def for_data(self, fmt: str | Format) -> SummationOrder:
        """Fix the size for that format."""
        return replace(self, k0=group_size(self.k0, self.k0_fp32, fmt), k0_fp32=None)

    @property
    def node_rule(self) -> NodeRule:
        """Align, cut, add, round: one node at a time, in integers."""
        return self._node

    def tree(self, n: int, start: bool = False) -> Tree:
        """Return one multi-way node a group, the accumulator among its children."""
        return group_tree(n, self.k0, n if start else None)

    def _final(self, rounding: Rounding) -> Rounding:
        return replace(rounding, direction=cast("Direction", self.final))

    def _node(self, children: Sequence[Leaf], rounding: Rounding) -> float:
        values = [exact_value(child) for child in children]
        special = sum(value for value in values if isinstance(value, float))
        if not math.isfinite(special):
            return round_exact(special, rounding)
        of_zero = NO_EXPONENT if self.zero_exponent is None else self.zero_exponent
        exponents = [_exponent_of(child, rounding.format) for child in children]
        top = max(of_zero if e is None else e for e in exponents)
        if top == NO_EXPONENT:
            return 0.0
        quantum = Fraction(2) ** (top - self.bits)
        total = sum(math.trunc(Fraction(value) / quantum) for value in values)
        return round_exact(total * quantum if total else 0.0, self._final(rounding))

    def fold(self, terms: Terms, node: Node, start: Array | None) -> Array:
        """Add group after group."""
        for part in groups(terms.count, self.k0):
            columns, exponents = terms.take(part), terms.exponents(part)
            if start is not None:
                columns = np.concatenate([start[np.newaxis], columns])
                emin = node.rounding.format.emin
                exponents = np.concatenate([exponent(start[np.newaxis], emin), exponents])
            start = self._add_aligned(columns, exponents, node) if len(columns) > 1 else columns[0]
        return np.asarray(start)

    def _add_aligned(self, columns: Array, exponents: Array, node: Node) -> Array:
        columns = columns.astype(np.float64)
        if self.zero_exponent is not None:
            exponents = np.where(exponents == NO_EXPONENT, self.zero_exponent, exponents)
        top = exponents.max(axis=0)
        finite = np.isfinite(columns)
        with np.errstate(all="ignore"):
            special = np.where(finite, 0.0, columns).sum(axis=0)
            cut = np.trunc(np.ldexp(np.where(finite, columns, 0.0), self.bits - top))
        shift = np.where(top == NO_EXPONENT, 0, top - self.bits)
        rounded = _scaled(cut.sum(axis=0) + 0.0, shift, replace(node, rounding=self._final(node.rounding)))
        return np.where(np.isfinite(special), rounded, node.finish(special))


def _scaled(whole: Array, shift: Array, node: Node) -> Array:
    """Return whole * 2^shift rounded once, for whole numbers of fp64."""
    if node.rounding.format.p <= 51:
        return node.finish(np.ldexp(whole, shift))
    pairs = zip(whole.ravel().tolist(), shift.ravel().tolist(), strict=True)  # fp64 may not hold whole * 2^shift
    values = [round_exact(Fraction(w) * Fraction(2) ** s if w else w, node.rounding) for w, s in pairs]
    return np.array(values).reshape(whole.shape)


def _exponent_of(leaf: Leaf, fmt: Format) -> int | None:
    """Return the exponent a leaf is aligned by; None for zero."""
    if isinstance(leaf, Product):
        parts = [_exponent_at_least(leaf.a, leaf.emin), _exponent_at_least(leaf.b, leaf.emin)]
        return None if None in parts else sum(part for part in parts if part is not None)
    return _exponent_at_least(leaf, fmt.emin)


def _exponent_at_least(value: float | Fraction, emin: int) -> int | None:
    return max(math.frexp(value)[1] - 1, emin) if value else None
