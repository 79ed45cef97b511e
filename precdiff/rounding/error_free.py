"""Sums and products without error, and the rounding that makes a second rounding harmless.

    two_sum(a, b) = (s, e)      s = fl(a + b),  s + e = a + b exactly           (Knuth, TAOCP 2, 4.2.2)
    two_product(a, b) = (p, e)  p = fl(a * b),  p + e = a * b exactly           (Dekker 1971)
    round_to_odd(hi, lo)        hi + lo rounded to fp64 to odd; rounding that to p <= 51 bits gives the same as rounding
                                hi + lo itself, in every direction              (Boldo and Melquiond 2008, theorem 1)

All in fp64 nearest-even. two_sum is exact unless the sum overflows; two_product unless the product leaves
[2^-969, 2^1023] or a factor 2^996 (`_split` overflows): callers keep outside. Where the first part is not finite, the
second means nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from precdiff.formats import Array
from precdiff.rounding.rounding import Direction

_SPLITTER = 2.0**27 + 1.0


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return (fl(a + b), its error); the error of an infinite or NaN sum is not a number.

    >>> two_sum(np.float64(1.0), np.float64(2.0**-60))[1] == 2.0**-60
    np.True_
    """
    s = a + b
    from_b = s - a
    return s, (a - (s - from_b)) + (b - from_b)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return (fl(a * b), its error).

    >>> two_product(np.float64(1 + 2.0**-30), np.float64(1 + 2.0**-30))[1] == 2.0**-60
    np.True_
    """
    p = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def fused_in_two(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return (fl(a * b + c), lo): lo has the sign, at a tie the size, of what was lost (Boldo and Melquiond 2008, 5).

    >>> a = np.float64(1 + 2.0**-30)
    >>> fused_in_two(a, a, -a * a)[0] == 2.0**-60
    np.True_
    """
    product, low = two_product(a, b)
    middle, lowest = two_sum(c, low)
    high, lower = two_sum(product, middle)
    hi, lo = two_sum(high, round_to_odd(*two_sum(lowest, lower)))
    # Infinities, NaNs and the signs of zeros get lost on the way; where there are any, plain arithmetic is exact.
    return np.where(np.isfinite(hi) & (hi != 0), hi, product + c), lo


def _split(a: Array) -> tuple[Array, Array]:
    """Split into two halves of at most 26 bits (Veltkamp)."""
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def round_to_odd(hi: Array, lo: Array) -> Array:
    """Return hi + lo rounded to odd, for |lo| <= ulp(hi) / 2; only the sign of lo matters. Not finite: hi as it is.

    >>> round_to_odd(np.float64(1.0), np.float64(2.0**-60)) == 1.0 + 2.0**-52
    np.True_
    """
    hi, lo = np.broadcast_arrays(np.asarray(hi, np.float64), np.asarray(lo, np.float64))
    word = hi.view(np.int64)
    inexact = (lo != 0) & (lo == lo) & np.isfinite(hi) & (word & 1 == 0)
    step = np.where(np.signbit(lo) == np.signbit(hi), 1, -1)
    return np.where(inexact, word + step, word).view(np.float64)


def round_pair(hi: Array, lo: Array, direction: Direction) -> Array:
    """Return hi + lo rounded to fp64 in any direction but stochastic, for hi = fl(hi + lo).

    Only the sign of lo matters, and for nearest-away its size at a tie.

    >>> float(round_pair(np.float64(1.0), np.float64(-(2.0**-60)), "toward-zero"))
    0.9999999999999999
    """
    if direction == "to-odd":
        return round_to_odd(hi, lo)
    step = _STEPS[direction](hi, np.where(np.isfinite(hi), lo, 0.0))
    return np.where(step == 0, hi, np.nextafter(hi, np.copysign(np.inf, step)))


#: direction -> (hi, lo) -> a number whose sign says to which neighbour of hi to go; 0: stay
_STEPS: dict[str, Callable[[Array, Array], Array]] = {
    "nearest-even": lambda hi, lo: np.zeros_like(hi),
    "nearest-away": lambda hi, lo: np.where(np.nextafter(hi, np.copysign(np.inf, hi)) - hi == 2 * lo, lo, 0.0),
    "toward-zero": lambda hi, lo: np.where(np.signbit(hi) == np.signbit(lo), 0.0, lo),
    "up": lambda hi, lo: np.maximum(lo, 0.0),
    "down": lambda hi, lo: np.minimum(lo, 0.0),
}


def round_integers_to_odd(values: Array) -> Array:
    """Return integers as fp64, those beyond 2^53 rounded to odd, so that one more rounding is the only one."""
    if values.dtype.itemsize < 8:
        return values.astype(np.float64)
    upper = (values >> 32).astype(np.float64) * 2.0**32
    lower = (values & 0xFFFF_FFFF).astype(np.float64)
    return round_to_odd(*two_sum(upper, lower))
