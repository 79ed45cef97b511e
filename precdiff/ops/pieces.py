"""Interval twins of functions that are monotone piece by piece: domains with two ends, even and periodic functions.

Built from the twins of enclosure.py, with the same meaning of a pair and the same outward rounding. Of a periodic
function only the turning points inside the interval matter; at k + 1/2 half periods, with k counted from both ends:

    none      between the values at the ends
    one       the extremum there on that side, the ends on the other
    more      [-1, 1]

The count is made in fp64 and widened by more than its error, so that a turning point too many may be believed in, never
one too few.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from precdiff.ops.enclosure import Host, Pair, absolute, lower, settle, special_points, unknown, upper

#: fp64 numbers above pi/2 and pi
HALF_PI, PI = math.nextafter(math.pi / 2, math.inf), math.nextafter(math.pi, math.inf)


def is_point(*pairs: Pair) -> np.ndarray:
    """Where every operand is one number, or NaN."""
    found = [(lo == hi) | (np.isnan(lo) & np.isnan(hi)) for lo, hi in pairs]
    return np.asarray(np.logical_and.reduce(found))


def within(twin: Callable[[Pair], Pair], low: float, high: float) -> Callable[[Pair], Pair]:
    """Twin of a function on [low, high]: NaN outside, unknown where an interval reaches across an end."""

    def enclose(x: Pair) -> Pair:
        inside = (x[0] >= low) & (x[1] <= high)
        outside = (x[1] < low) | (x[0] > high) | np.isnan(x[0])
        lo, hi = unknown(twin(x), ~inside)
        return np.where(outside, np.nan, lo), np.where(outside, np.nan, hi)

    return enclose


def poles_at(twin: Callable[[Pair], Pair], host: Host, size: float) -> Callable[[Pair], Pair]:
    """Twin with poles at -size and size: infinities at those points, unknown for intervals that end there."""

    def enclose(x: Pair) -> Pair:
        with np.errstate(all="ignore"):
            touches = (np.abs(x[0]) == size) | (np.abs(x[1]) == size)
            pair = unknown(twin(x), touches & ~is_point(x))
            return settle(pair, host(x[0]), touches & is_point(x))

    return enclose


def limits(twin: Callable[[Pair], Pair], host: Host, bound: float) -> Callable[[Pair], Pair]:
    """Twin of a function whose values at infinities are no fp64 numbers: they are widened as well."""

    def enclose(x: Pair) -> Pair:
        lo, hi = twin(x)
        infinite, value = is_point(x) & np.isinf(x[0]), host(x[0])
        return np.where(infinite, lower(value, bound), lo), np.where(infinite, upper(value, bound), hi)

    return enclose


def even(twin: Callable[[Pair], Pair]) -> Callable[[Pair], Pair]:
    """Twin of a function of |x|."""
    return lambda x: twin(absolute(x))


def _turns(x: Pair, shift: float) -> Pair:
    """How many half periods lie below the ends, the first counted low and the second high."""
    ends = [end / math.pi - shift for end in x]
    slack = [np.abs(end) * 2.0**-50 + 2.0**-50 for end in ends]
    return np.floor(ends[0] - slack[0]), np.floor(ends[1] + slack[1])


def periodic(host: Host, bound: float, shift: float) -> Callable[[Pair], Pair]:
    """Twin of sin (shift 1/2) or cos (shift 0): +1 at even turning points k, -1 at odd ones, x = (k + shift) pi."""

    def enclose(x: Pair) -> Pair:
        with np.errstate(all="ignore"):
            values = host(x[0]), host(x[1])
            first, last = _turns(x, shift)
            point = is_point(x)
            many = ~(last - first < 2) & ~point
            one = (last - first == 1) & ~point
            top, bottom = many | (one & (last % 2 == 0)), many | (one & (last % 2 == 1))
            lo = np.where(bottom, -1.0, np.maximum(lower(np.minimum(*values), bound), -1.0))
            hi = np.where(top, 1.0, np.minimum(upper(np.maximum(*values), bound), 1.0))
            return settle((lo, hi), values[0], special_points((x,), values[0]))

    return enclose


def tangent(host: Host, bound: float) -> Callable[[Pair], Pair]:
    """Twin of tan: increasing between its poles, which lie where sin turns; unknown across one."""

    def enclose(x: Pair) -> Pair:
        with np.errstate(all="ignore"):
            values = host(x[0]), host(x[1])
            first, last = _turns(x, 0.5)
            pair = unknown((lower(values[0], bound), upper(values[1], bound)), ~(first == last) & ~is_point(x))
            return settle(pair, values[0], special_points((x,), values[0]))

    return enclose


def hypotenuse(host: Host, bound: float) -> Callable[[Pair, Pair], Pair]:
    """Twin of hypot: increasing in |x| and |y|, never below either."""

    def enclose(x: Pair, y: Pair) -> Pair:
        with np.errstate(all="ignore"):
            a, b = absolute(x), absolute(y)
            lo = np.maximum(lower(host(a[0], b[0]), bound), np.maximum(a[0], b[0]))
            hi = np.maximum(upper(host(a[1], b[1]), bound), lo)
            points = host(x[0], y[0])
            exact = special_points((x, y), points) | (a[0] == 0) | (b[0] == 0)
            return settle((lo, hi), points, exact & is_point(x, y))

    return enclose


def angle(host: Host, bound: float) -> Callable[[Pair, Pair], Pair]:
    """Twin of atan2(y, x): monotone in each operand away from the cut, which is the negative x axis with 0."""

    def enclose(y: Pair, x: Pair) -> Pair:
        with np.errstate(all="ignore"):
            corners = [host(a, b) for a in y for b in x]
            lo, hi = lower(np.min(corners, axis=0), bound), upper(np.max(corners, axis=0), bound)
            point = is_point(y, x)
            cut = ~((x[0] > 0) | (y[0] > 0) | (y[1] < 0) | point)
            pair = np.where(cut, -PI, np.maximum(lo, -PI)), np.where(cut, PI, np.minimum(hi, PI))
            points = host(y[0], x[0])
            zero = (points == 0) & ((y[0] == 0) | np.isinf(x[0]))
            return settle(pair, points, point & (np.isnan(points) | zero))

    return enclose
