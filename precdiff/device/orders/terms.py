"""What is added: terms given as they are, or products of two operands made when they are needed.

Terms stand first (axis 0), the independent sums behind it, so that one term of all sums is one contiguous plane. This
file knows nothing of orders. Products of two numbers of at most 26 bits and moderate exponents are exact in fp64.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from precdiff.formats import Array
from precdiff.rounding import Rounding, multiply

#: exponent reported for a zero, below that of every number
NO_EXPONENT = -(2**20)


class Terms(Protocol):
    """A column of `count` terms for each of many sums of shape `shape`."""

    count: int
    shape: tuple[int, ...]
    #: every term is a number of the accumulator's format
    held: bool

    def take(self, part: slice | Array) -> Array:
        """Return the terms of that part, shape (terms, *shape), exact in their float dtype."""

    def exponents(self, part: slice) -> Array:
        """Return each term's exponent; zeros have NO_EXPONENT."""

    def rows(self, part: slice) -> Terms:
        """Return the sums of a part of the first axis of `shape`."""


class Addends:
    """Terms that are there: numbers of exponents from `emin` up, the terms on axis 0."""

    held = True

    def __init__(self, columns: Array, emin: int) -> None:
        self._columns, self._emin = columns, emin
        self.count, self.shape = len(columns), columns.shape[1:]

    def take(self, part: slice | Array) -> Array:
        """Return a part of the terms."""
        return self._columns[part]

    def exponents(self, part: slice) -> Array:
        """Return the exponents of a part of the terms."""
        return exponent(self._columns[part], self._emin)

    def rows(self, part: slice) -> Addends:
        """Return a part of the sums."""
        return Addends(self._columns[:, part], self._emin)


class Products:
    """Terms a_k * b_k, factors on axis 0 of arrays that broadcast: exact in fp64, or rounded where `rounding` is given.

    Factors have exponents from `emin` up.
    """

    def __init__(self, a: Array, b: Array, emin: int, rounding: Rounding | None = None) -> None:
        self._a, self._b, self._emin, self._rounding = a, b, emin, rounding
        self.count, *shape = np.broadcast_shapes(a.shape, b.shape)
        self.shape, self.held = tuple(shape), rounding is not None

    def take(self, part: slice | Array) -> Array:
        """Return a part of the products."""
        if self._rounding is not None:
            return multiply(self._a[part], self._b[part], self._rounding)
        with np.errstate(all="ignore"):
            wide = self._a[part].astype(np.float64) * self._b[part].astype(np.float64)
            narrow = wide.astype(np.float32)
        # fp16 products and nearly all bf16 ones fit fp32, where adding is twice as fast
        return narrow if np.array_equal(wide, narrow, equal_nan=True) else wide

    def exponents(self, part: slice) -> Array:
        """Return e_a + e_b, the exponent of an exact product before it is normalised, or that of a rounded product."""
        if self._rounding is not None:
            return exponent(self.take(part), self._rounding.format.emin)
        exponents = exponent(self._a[part], self._emin) + exponent(self._b[part], self._emin)
        return np.where(exponents < NO_EXPONENT // 2, NO_EXPONENT, exponents)

    def rows(self, part: slice) -> Products:
        """Return a part of the sums."""
        a, b = (x if x.shape[1] == 1 else x[:, part] for x in (self._a, self._b))
        return Products(a, b, self._emin, self._rounding)


def columns_of(values: Array, rank: int = 0) -> Array:
    """Return the last axis first, with at least `rank` axes, contiguous."""
    padded = values.reshape((1,) * (rank - values.ndim) + values.shape)
    return np.ascontiguousarray(np.moveaxis(padded, -1, 0))


def exponent(values: Array, smallest: int) -> Array:
    """Return floor(log2 |x|), at least `smallest`; NO_EXPONENT for zero.

    >>> exponent(np.array([1.5, 0.75, 2.0**-20, 0.0]), -14).tolist()
    [0, -1, -14, -1048576]
    """
    exponents = np.frexp(values)[1].astype(np.int64) - 1
    return np.where(values == 0, NO_EXPONENT, np.maximum(exponents, smallest))
