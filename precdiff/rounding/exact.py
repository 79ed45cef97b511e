"""Rounding, the definition: a rational number or a float to a format, in integers.

This file is the truth the array version is held to: no floating-point operation takes part. For x = n / d with exponent
e, clamped at emin below, and the quantum q = 2^(e - p + 1),

    |x| / q = m + rest,   m integer, 0 <= rest < 1;     round(x) = sign(x) * (m or m + 1) * q

Which of the two is the direction's choice (IEEE 754-2019, 4.3); then overflow (7.4), then flushing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from precdiff.errors import PrecDiffError
from precdiff.formats import Format
from precdiff.rounding.rounding import Rounding

#: direction -> (m odd, x negative, rest as part / whole) -> whether m + 1 is taken
_AWAY: dict[str, Callable[[bool, bool, int, int], bool]] = {
    "nearest-even": lambda odd, negative, part, whole: 2 * part > whole or (2 * part == whole and odd),
    "nearest-away": lambda odd, negative, part, whole: 2 * part >= whole,
    "toward-zero": lambda odd, negative, part, whole: False,
    "up": lambda odd, negative, part, whole: part > 0 and not negative,
    "down": lambda odd, negative, part, whole: part > 0 and negative,
    "to-odd": lambda odd, negative, part, whole: part > 0 and not odd,
}


def round_exact(x: Fraction | float, rounding: Rounding, random: Fraction | None = None) -> float:
    """Round `x` once; a stochastic rounding goes away from zero where `random` in [0, 1) is below the fraction lost.

    >>> round_exact(65520.0, Rounding("fp16")), round_exact(Fraction(1, 3), Rounding("bf16", "up"))
    (inf, 0.333984375)
    """
    if isinstance(x, float):
        if math.isnan(x):
            return 0.0 if rounding.nan == "zero" else math.nan
        if math.isinf(x):
            return math.copysign(_end(rounding, infinite=True), x)
        negative = math.copysign(1.0, x) < 0
    else:
        negative = x < 0
    magnitude = _round_magnitude(*x.as_integer_ratio(), negative, rounding, random)
    return -magnitude if negative else magnitude


def _round_magnitude(n: int, d: int, negative: bool, rounding: Rounding, random: Fraction | None) -> float:
    """Return |n / d| rounded; the sign only matters to the directions."""
    fmt = rounding.format
    n = abs(n)
    shift = max(_exponent(n, d), fmt.emin) - fmt.p + 1
    whole = d << max(shift, 0)
    m, part = divmod(n << max(-shift, 0), whole)
    m += _takes_next(m, part, whole, negative, rounding, random)
    if _beyond(m, shift, fmt):
        return _end(rounding, negative=negative)
    value = math.ldexp(m, shift)
    return 0.0 if rounding.subnormals == "flush" and value < fmt.min_normal else value


def _exponent(n: int, d: int) -> int:
    """Return e with 2^e <= n / d < 2^(e + 1); any small number for zero."""
    e = n.bit_length() - d.bit_length()
    return e - ((n << max(-e, 0)) < (d << max(e, 0)))


def _takes_next(m: int, part: int, whole: int, negative: bool, rounding: Rounding, random: Fraction | None) -> bool:
    if rounding.direction != "stochastic":
        return _AWAY[rounding.direction](m % 2 == 1, negative, part, whole)
    if random is None:
        raise PrecDiffError("stochastic rounding needs random: a Fraction in [0, 1); found None.")
    return random * whole < part


def _beyond(m: int, shift: int, fmt: Format) -> bool:
    """Say whether m * 2^shift is above the largest finite number; m is at most 2^p."""
    top = fmt.emax - fmt.p + 1
    return shift > top or (shift == top and m > fmt.max_significand)


def _end(rounding: Rounding, negative: bool = False, infinite: bool = False) -> float:
    """Return the magnitude that stands beyond the largest finite number: it, infinity or NaN."""
    fmt = rounding.format
    inward = {"toward-zero": True, "to-odd": True, "up": negative, "down": not negative}
    if rounding.overflow == "saturate" or (inward.get(rounding.direction, False) and not infinite):
        return fmt.max_finite
    if fmt.has_inf:
        return math.inf
    return math.nan if fmt.has_nan else fmt.max_finite
