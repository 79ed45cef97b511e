"""Interval twins: fp64 planes (lo, hi) in, planes out that contain every value of the function on the box.

Meaning of a pair, per element (DESIGN 3, "Specials are not reals"):
    lo <= hi, both finite        the real lies between them
    lo == hi == +-inf            exactly that infinity
    lo < hi, one or both inf     unbounded on that side (an overflowed bound, a pole inside): not an infinity
    both NaN                     NaN
(-inf, inf) therefore also says "anything, perhaps NaN or an infinity": the ladder climbs. A pair with one unbounded end
holds reals only, so that 0 times it is 0; where a pole or an infinity is possible the pair is (-inf, inf). Points at
zero have the sign of IEEE 754. Everything is rounded outward: the host function errs by at most `bound` spacings of
fp64 at its result, and `bound` + 1 are added (the spacing below a power of two is half as wide, hence the extra one).
Source: interval arithmetic as in IEEE 1788-2015; host bounds are checked by the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from precdiff.rounding.error_free import two_product, two_sum

Pair = tuple[np.ndarray, np.ndarray]
Host = Callable[..., Any]

_LARGEST = np.finfo(np.float64).max


def lower(values: np.ndarray, ulps: float) -> np.ndarray:
    """`values` moved down by `ulps` + 1 spacings; +inf (an overflow) becomes the largest finite number, -inf stays."""
    moved = values - (ulps + 1.0) * np.spacing(np.abs(values))
    return np.where(np.isinf(values), np.minimum(values, _LARGEST), moved)


def upper(values: np.ndarray, ulps: float) -> np.ndarray:
    """`values` moved up by `ulps` + 1 spacings; -inf becomes the most negative finite number, +inf stays."""
    return -lower(-values, ulps)


def unknown(pair: Pair, where: np.ndarray) -> Pair:
    """The pair with (-inf, inf) at `where`."""
    return np.where(where, -np.inf, pair[0]), np.where(where, np.inf, pair[1])


def settle(pair: Pair, points: np.ndarray, exact: np.ndarray) -> Pair:
    """The pair with the exact values `points` where `exact`; a NaN left elsewhere becomes unknown."""
    lo, hi = unknown(pair, np.isnan(pair[0]) | np.isnan(pair[1]))
    return np.where(exact, points, lo), np.where(exact, points, hi)


def special_points(pairs: tuple[Pair, ...], points: np.ndarray, pole: np.ndarray | bool = False) -> np.ndarray:
    """Where the result is known without rounding: a NaN operand, or point operands that are infinite, invalid (a NaN
    result) or sit on a `pole`. An infinite result of finite operands elsewhere is an overflow and not exact.
    """
    nan = np.zeros(points.shape, bool)
    point = np.ones(points.shape, bool)
    infinite = np.zeros(points.shape, bool)
    for lo, hi in pairs:
        nan = nan | np.isnan(lo)
        point = point & _is_point((lo, hi))
        infinite = infinite | ((lo == hi) & np.isinf(lo))
    return np.asarray(nan | (point & (np.isnan(points) | infinite | (pole & np.isinf(points)))))


def increasing(
    host: Host, bound: float, low: float = -np.inf, high: float = np.inf, pole: float = np.nan
) -> Callable[[Pair], Pair]:
    """Twin of an increasing function with values in [low, high], infinite at `pole`, NaN outside its domain.

    Where it takes 0 to 0 (sqrt, tanh, expm1 ...) it does so exactly.
    """

    def enclose(x: Pair) -> Pair:
        with np.errstate(all="ignore"):
            at_lo, at_hi = host(x[0]), host(x[1])
            low_end = np.where((x[0] == 0) & (at_lo == 0), at_lo, lower(at_lo, bound))
            high_end = np.where((x[1] == 0) & (at_hi == 0), at_hi, upper(at_hi, bound))
            pair = np.maximum(low_end, low), np.minimum(high_end, high)
            pair = unknown(pair, ((x[0] == pole) | (x[1] == pole)) & ~_is_point(x))
            outside = np.isnan(at_lo) & np.isnan(at_hi)
            exact = special_points((x,), at_lo, x[0] == pole) | _exact_zero((x,), at_lo, x[0] == 0)
            return settle(pair, at_lo, exact | outside)

    return enclose


def decreasing(
    host: Host, bound: float, low: float = -np.inf, high: float = np.inf, pole: float = np.nan
) -> Callable[[Pair], Pair]:
    """Twin of a decreasing function on each side of its pole; an interval across the pole is unknown."""
    mirrored = increasing(lambda x: -host(x), bound, -high, -low, pole)

    def enclose(x: Pair) -> Pair:
        lo, hi = mirrored(x)
        across = (x[0] <= pole) & (x[1] >= pole) & ~_is_point(x)
        return unknown((-hi, -lo), across)

    return enclose


def exact_monotone(host: Host) -> Callable[..., Pair]:
    """Twin of a non-decreasing function whose fp64 host is exact: min, max, floor."""

    def enclose(*pairs: Pair) -> Pair:
        return host(*(p[0] for p in pairs)), host(*(p[1] for p in pairs))

    return enclose


def negate(x: Pair) -> Pair:
    """Twin of -x."""
    return -x[1], -x[0]


def absolute(x: Pair) -> Pair:
    """Twin of |x|."""
    a, b = np.abs(x[0]), np.abs(x[1])
    inside = (x[0] < 0) & (x[1] > 0)
    return np.where(inside, 0.0, np.minimum(a, b)), np.maximum(a, b)


def add(x: Pair, y: Pair) -> Pair:
    """Twin of x + y; exact sums stay points."""
    with np.errstate(all="ignore"):
        points = x[0] + y[0]
        pair = _outward(*two_sum(x[0], y[0]), -1), _outward(*two_sum(x[1], y[1]), 1)
        pair, points, exact = _beside_infinity((x, y), pair, points, (points, x[1] + y[1]))
        return settle(pair, points, exact | special_points((x, y), points))


def _beside_infinity(
    pairs: tuple[Pair, ...], pair: Pair, points: np.ndarray, ends: Pair
) -> tuple[Pair, np.ndarray, np.ndarray]:
    """(pair, points, where exact) with infinite operands put right: where both ends of the plain result are one
    infinity or one zero it is exactly that; elsewhere anything, since an unbounded pair means reals only.
    """
    infinite = np.logical_or.reduce([_is_infinite(p) for p in pairs])
    exact = infinite & _is_point(ends) & ~np.isnan(ends[0])
    return unknown(pair, infinite), np.where(exact, ends[0], points), exact


def _outward(value: np.ndarray, error: np.ndarray, side: int) -> np.ndarray:
    """value + error (error-free), as one fp64 number on that side of it."""
    moved = np.nextafter(value, side * np.inf)
    result = np.where(side * error > 0, moved, value)
    overflowed = np.isinf(value) & (np.sign(value) != side)
    return np.where(np.isnan(error), np.where(overflowed, -side * _LARGEST, moved), result)


def multiply(x: Pair, y: Pair) -> Pair:
    """Twin of x * y: the hull of the four corner products."""
    with np.errstate(all="ignore"):
        points = x[0] * y[0]
        corners = [(a, b) for a in x for b in y]
        lo = np.min([_corner(a, b, -1) for a, b in corners], axis=0)
        hi = np.max([_corner(a, b, 1) for a, b in corners], axis=0)
        plain = [a * b for a, b in corners]
        pair, points, exact = _beside_infinity((x, y), (lo, hi), points, (np.min(plain, axis=0), np.max(plain, axis=0)))
        exact |= special_points((x, y), points) | _exact_zero((x, y), points, (x[0] == 0) | (y[0] == 0))
        return settle(pair, points, exact)


def _is_infinite(x: Pair) -> np.ndarray:
    return np.asarray((x[0] == x[1]) & np.isinf(x[0]))


def _is_point(x: Pair) -> np.ndarray:
    """One number, zeros with their sign, or NaN."""
    equal = (x[0] == x[1]) & (np.signbit(x[0]) == np.signbit(x[1]))
    return np.asarray(equal | (np.isnan(x[0]) & np.isnan(x[1])))


def _has_zero(x: Pair) -> np.ndarray:
    return np.asarray((x[0] <= 0) & (x[1] >= 0))


def _exact_zero(pairs: tuple[Pair, ...], points: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Where point operands give an exact zero, whose sign `points` knows."""
    point = np.logical_and.reduce([_is_point(pair) for pair in pairs])
    return np.asarray(point & where & (points == 0))


def _corner(a: np.ndarray, b: np.ndarray, side: int) -> np.ndarray:
    value, error = two_product(a, b)
    # the error term of Dekker's product is itself inexact below 2^-969
    small = (np.abs(value) < 2.0**-960) & (a != 0) & (b != 0)
    outward = np.where(small, np.nextafter(value, side * np.inf), _outward(value, error, side))
    zero = np.where(np.isfinite(value), value, 0.0)  # 0 times an unbounded end is 0
    return np.where((a == 0) | (b == 0), zero, outward)


def divide(x: Pair, y: Pair) -> Pair:
    """Twin of x / y: corner quotients; a divisor that reaches 0 without being 0 leaves the result unknown."""
    with np.errstate(all="ignore"):
        points = x[0] / y[0]
        quotients = [a / b for a in x for b in y]
        lo, hi = np.min(quotients, axis=0), np.max(quotients, axis=0)
        # the end that stems from a zero of x is exact; which end that is follows the divisor's sign
        ends = [np.where(y[0] > 0, one == 0, other == 0) for one, other in (x, x[::-1])]
        pair = np.where(ends[0], lo, lower(lo, 0.5)), np.where(ends[1], hi, upper(hi, 0.5))
        pair, points, exact = _beside_infinity((x, y), unknown(pair, _has_zero(y)), points, (lo, hi))
        exact |= special_points((x, y), points, y[0] == 0) | _exact_zero((x, y), points, (x[0] == 0) & (y[0] != 0))
        exact |= _is_point(y) & (y[0] == 0) & ((x[0] > 0) | (x[1] < 0))
        return settle(pair, points, exact)


def fused(x: Pair, y: Pair, z: Pair) -> Pair:
    """Twin of x * y + z."""
    return add(multiply(x, y), z)


def corners(host: Host, bound: float) -> Callable[[Pair, Pair], Pair]:
    """Twin of a function monotone in each argument wherever the first is positive (power); elsewhere only points."""

    def enclose(x: Pair, y: Pair) -> Pair:
        with np.errstate(all="ignore"):
            points = host(x[0], y[0])
            values = [host(a, b) for a in x for b in y]
            ends = np.min(values, axis=0), np.max(values, axis=0)
            lo, hi = lower(ends[0], bound), upper(ends[1], bound)
            point = _is_point(x) & _is_point(y)
            pair = unknown((np.where(x[0] > 0, np.maximum(lo, 0.0), lo), hi), ~((x[0] > 0) | point))
            pair, points, exact = _beside_infinity((x, y), pair, points, ends)
            # 1^NaN and NaN^0 are 1, so a NaN beside an inexact operand tells nothing
            return settle(pair, points, exact & (x[0] > 0) | special_points((x, y), points, x[0] == 0) & point)

    return enclose
