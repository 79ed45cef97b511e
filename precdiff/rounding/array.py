"""Rounding, vectorised: `round_exact` for whole arrays, with the same result bit for bit.

This file works in fp64, where every step is exact: the quantum q = 2^(e - p + 1) (e clamped to [emin, emax]) is built
from the exponent bits, m = x / q changes the exponent only, m is rounded to an integer in the direction asked for,
m * q changes the exponent only. An fp64 source is never rounded to fp32 on the way: two roundings are not one
(1 + 2^-8 + 2^-30 to bf16).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats import Array, Format, carrier, format_of, in_blocks, quantum
from precdiff.rounding.error_free import round_integers_to_odd
from precdiff.rounding.exact import round_exact
from precdiff.rounding.rounding import Rounding


def round_array(x: object, rounding: Rounding, rng: np.random.Generator | None = None) -> Array:
    """Round every element once; returns the carrier of the format. Stochastic rounding draws from `rng`.

    Source formats: any known one; integers beyond 2^53 are rounded once, too.

    >>> round_array([65519.0, 65520.0, 2.0**-25], Rounding("fp16")).tolist()
    [65504.0, inf, 0.0]
    """
    source = carrier(x)
    if not rounding.format.is_float:
        return round_integer(source, rounding, rng)
    if source.dtype.kind in "iub":
        if source.dtype.itemsize == 8 and rounding.format.p > 51:
            return _round_wide_integers(source, rounding, rng)
        source = round_integers_to_odd(source)
    with np.errstate(all="ignore"):
        return in_blocks(lambda block: _finish(_in_direction(block, rounding, rng), block, rounding), source)


def _round_wide_integers(source: Array, rounding: Rounding, rng: np.random.Generator | None) -> Array:
    """Round 64-bit integers to fp64, whose precision leaves no room for rounding to odd first, one by one."""
    values = [round_exact(Fraction(n), rounding, draw(rounding, rng)) for n in source.ravel().tolist()]
    return np.array(values, rounding.format.carrier).reshape(source.shape)


def draw(rounding: Rounding, rng: np.random.Generator | None) -> Fraction | None:
    """Return the number in [0, 1) that decides one stochastic rounding; None for the other directions."""
    return None if rounding.direction != "stochastic" or rng is None else Fraction(rng.random())


def _in_direction(x: Array, rounding: Rounding, rng: np.random.Generator | None) -> Array:
    """Round to a multiple of the quantum, as if exponents had no upper end."""
    fmt = rounding.format
    if fmt.name == "fp64":
        return x.astype(np.float64)
    if rounding.direction == "nearest-even" and fmt.name == "fp32":
        return x.astype(np.float32)  # one rounding by the host, from fp32 and from fp64
    x = x.astype(np.float64, copy=False)
    q = quantum(x, fmt)
    return _to_integer(x / q, rounding, rng) * q


def _to_integer(m: Array, rounding: Rounding, rng: np.random.Generator | None) -> Array:
    if rounding.direction != "stochastic":
        return _INTEGER[rounding.direction](m)
    if rng is None:
        raise PrecDiffError("stochastic rounding needs rng: a numpy.random.Generator; found None.")
    return _away_where(lambda lost: rng.random(np.shape(lost)) < lost, m)


def _away_where(choice: Callable[[Array], Array], m: Array) -> Array:
    """Step one away from zero where `choice` of the fraction lost says so."""
    whole = np.trunc(m)
    return np.asarray(whole + np.copysign(choice(np.asarray(np.abs(m - whole))).astype(np.float64), m))


def _to_odd(m: Array) -> Array:
    whole = np.trunc(m)
    even = np.trunc(0.5 * whole) == 0.5 * whole
    return np.asarray(whole + np.copysign((even & (whole != m)).astype(np.float64), m))


_INTEGER: dict[str, Callable[[Array], Array]] = {
    "nearest-even": np.rint,
    "nearest-away": lambda m: _away_where(lambda lost: lost >= 0.5, m),
    "toward-zero": np.trunc,
    "up": np.ceil,
    "down": np.floor,
    "to-odd": _to_odd,
}


def _finish(rounded: Array, source: Array, rounding: Rounding) -> Array:
    """Apply overflow, flushing and the NaN rule, and enter the carrier."""
    fmt = rounding.format
    rounded = np.asarray(rounded)
    beyond = np.abs(rounded) > fmt.max_finite
    if beyond.any():
        rounded = np.where(beyond, _end(rounded, source, rounding), rounded)
    result = rounded.astype(fmt.carrier, copy=False)
    if rounding.subnormals == "flush":
        result = np.where(np.abs(result) < fmt.min_normal, np.copysign(result.dtype.type(0), result), result)
    if rounding.nan == "zero":
        result = np.where(np.isnan(result), result.dtype.type(0), result)
    return result


def _end(rounded: Array, source: Array, rounding: Rounding) -> Array:
    """Return what stands beyond the largest finite number, with the sign of `rounded`: it, infinity or NaN."""
    fmt = rounding.format
    outermost = np.copysign(fmt.max_finite, rounded)
    if rounding.overflow == "saturate" or not (fmt.has_inf or fmt.has_nan):
        return outermost
    beyond = np.copysign(np.inf, rounded) if fmt.has_inf else np.full_like(outermost, np.nan)
    inward = _INWARD.get(rounding.direction)
    return beyond if inward is None else np.where(inward(rounded) & ~np.isinf(source), outermost, beyond)


#: direction -> where a finite value that overflows stays at the largest number (IEEE 754-2019, 7.4)
_INWARD: dict[str, Callable[[Array], Array]] = {
    "toward-zero": lambda x: np.full(x.shape, True),
    "to-odd": lambda x: np.full(x.shape, True),
    "up": np.signbit,
    "down": lambda x: ~np.signbit(x),
}


def round_integer(x: object, rounding: Rounding, rng: np.random.Generator | None = None) -> Array:
    """Round to an integer format: out of range saturates, NaN gives 0 (CANN asc-devkit, Cast); bool is x != 0.

    >>> round_integer([2.5, -0.5, 300.0, float("nan")], Rounding("i8")).tolist()
    [2, 0, 127, 0]
    """
    source, fmt = carrier(x), rounding.format
    if fmt.kind == "bool":
        return np.asarray(source != 0)
    if source.dtype.kind in "iub":
        return _clip_integers(source, fmt)
    low, high = fmt.integer_range
    with np.errstate(all="ignore"):
        whole = np.asarray(_to_integer(source.astype(np.float64), rounding, rng))
        above, below = whole >= float(high), whole <= float(low)
        kept = np.where(above | below | np.isnan(whole), 0.0, whole).astype(fmt.carrier)
    limit = kept.dtype.type
    return np.where(above, limit(high), np.where(below, limit(low), kept))


def _clip_integers(source: Array, fmt: Format) -> Array:
    """Saturate integers; the nearer of both formats' limits is a value of the source format."""
    own = format_of(source).integer_range
    low, high = max(own[0], fmt.integer_range[0]), min(own[1], fmt.integer_range[1])
    limit = source.dtype.type
    return np.asarray(np.minimum(np.maximum(source, limit(low)), limit(high))).astype(fmt.carrier)
