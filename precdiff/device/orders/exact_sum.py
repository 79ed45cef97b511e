"""The exact sum of many fp64 numbers, for whole arrays, as a pair that rounds the way the sum does.

Adding without loss (TwoSum) over a tree gives the rounded sum and n - 1 errors; together they are the exact sum.
The errors are added in the same way until all errors are zero:

    sum x_i = s_1 + sum e_i = s_1 + s_2 + sum e'_i = ... = s_1 + ... + s_m          exactly

Each pass shrinks what is left by about 2^53 / n, and all numbers are multiples of one power of two, so it ends. The few
s_k are made non-overlapping (Shewchuk 1997, Grow-Expansion); then hi is the leading part, lo the first part that hi
does not absorb, nudged towards what lies below it. hi + lo is on the same side of every number and midpoint of up to 53
bits as the exact sum, so that rounding it once rounds the sum, in every direction. This file knows nothing of orders.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np

from precdiff.formats import Array
from precdiff.rounding import two_sum

#: TwoSum loses its exactness where sums overflow
_LARGE = 2.0**960


def exact_sum(terms: Array, zero_is_negative: bool = False) -> tuple[Array, Array]:
    """Return (hi, lo) for the sum over axis 0; infinities and NaN as IEEE 754 adds them, with lo = 0.

    `zero_is_negative`: exact cancellation gives -0, as when rounding down (IEEE 754-2019, 6.3).

    >>> exact_sum(np.array([2.0**60, 1.0, -(2.0**60), 2.0**-60]))
    (array(1.), array(8.67361738e-19))
    """
    wide = terms.astype(np.float64)
    finite = np.isfinite(wide)
    with np.errstate(all="ignore"):
        special = np.where(finite, 0.0, wide).sum(axis=0)
    wide = np.where(finite, wide, 0.0)
    hi, lo = _by_fractions(wide) if (np.abs(wide) > _LARGE).any() else _leading_pair(_parts(wide))
    hi = np.where((hi == 0) & (lo == 0), _zeros(wide, zero_is_negative), hi)
    ordinary = np.isfinite(special)
    return np.where(ordinary, hi, special), np.where(ordinary, lo, 0.0)


def _parts(terms: Array) -> list[Array]:
    """Return s_1 ... s_m whose exact sum is that of the terms."""
    parts = []
    while len(terms):
        s, errors = _sum_with_errors(terms)
        parts.append(s)
        terms = errors[errors.any(axis=tuple(range(1, errors.ndim)))] if errors.ndim > 1 else errors[errors != 0]
    return parts or [np.zeros(terms.shape[1:])]


def _sum_with_errors(terms: Array) -> tuple[Array, Array]:
    errors = []
    while len(terms) > 1:
        half = len(terms) // 2
        s, error = two_sum(terms[:half], terms[half : 2 * half])
        errors.append(error)
        terms = np.concatenate([s, terms[2 * half :]])
    return terms[0], np.concatenate([*errors, terms[:0]])


def _leading_pair(parts: list[Array]) -> tuple[Array, Array]:
    expansion = _expansion(parts)
    hi, lo = expansion[-1], np.zeros_like(expansion[-1])
    for part in reversed(expansion[:-1]):
        settled = lo != 0
        s, error = two_sum(hi, part)
        hi, lo = np.where(settled, hi, s), np.where(settled, _nudge(lo, part), error)
    return hi, lo


def _nudge(lo: Array, below: Array) -> Array:
    """Return lo moved one step towards the sign of what lies below its last bit; where nothing does, lo."""
    return np.where(below == 0, lo, np.nextafter(lo, np.copysign(np.inf, below)))


def _expansion(parts: list[Array]) -> list[Array]:
    """Return non-overlapping numbers of the same sum, in growing size, zeros among them."""
    expansion: list[Array] = []
    for part in parts:
        carried, grown = part, []
        for number in expansion:
            carried, error = two_sum(carried, number)
            grown.append(error)
        expansion = [*grown, carried]
    return expansion


def _zeros(terms: Array, zero_is_negative: bool) -> Array:
    """Return the zero that an exact sum of 0 becomes: the terms' own sign where all agree."""
    negative = np.signbit(terms).all(axis=0)
    if zero_is_negative:
        negative = ((terms != 0) | np.signbit(terms)).any(axis=0)
    return np.where(negative, -0.0, 0.0)


def _by_fractions(terms: Array) -> tuple[Array, Array]:
    """Return the pair of each column by rational arithmetic: slow, without limits."""
    columns = terms.reshape(len(terms), -1).T
    pairs = np.array([_pair_of(sum(map(Fraction, column), Fraction(0))) for column in columns.tolist()])
    return pairs[:, 0].reshape(terms.shape[1:]), pairs[:, 1].reshape(terms.shape[1:])


def _pair_of(total: Fraction) -> tuple[float, float]:
    try:
        hi = float(total)
    except OverflowError:  # any sum this large overflows in the same way
        sign = 1.0 if total > 0 else -1.0
        return sign * sys.float_info.max, sign * 2.0**1000
    rest = total - Fraction(hi)
    lo = float(rest)
    below = rest - Fraction(lo)
    # what lo rounds away decides where hi + lo would be a tie
    return hi, lo if below == 0 else math.nextafter(lo, math.copysign(math.inf, below))
