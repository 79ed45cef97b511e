"""Rounding, vectorised: `round_exact` for whole arrays, with the same result bit for bit.

This file works in fp64, where every step is exact: the quantum q = 2^(e - p + 1) (e clamped to [emin, emax]) is built
from the exponent bits, m = x / q changes the exponent only, m is rounded to an integer in the direction asked for,
m * q changes the exponent only. An fp64 source is never rounded to fp32 on the way: two roundings are not one
(1 + 2^-8 + 2^-30 to bf16).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from precdiff.errors import PrecDiffError
from precdiff.formats import Array, carrier, quantum
from precdiff.rounding.error_free import round_integers_to_odd
from precdiff.rounding.rounding import Rounding


def round_array(x: object, rounding: Rounding, rng: np.random.Generator | None = None) -> Array:
    """Round every element once; returns the carrier of the format. Stochastic rounding draws from `rng`.

    Source formats: any known one; integers beyond 2^53 are rounded once, too.

    >>> round_array([65519.0, 65520.0, 2.0**-25], Rounding("fp16")).tolist()
    [65504.0, inf, 0.0]
    """
    source = carrier(x)
    if source.dtype.kind in "iub":
        source = round_integers_to_odd(source)
    if not rounding.format.is_float:
        return round_integer(source, rounding, rng)
    with np.errstate(all="ignore"):
        return _finish(_in_direction(source, rounding, rng), source, rounding)


def _in_direction(x: Array, rounding: Rounding, rng: np.random.Generator | None) -> Array:
    """Round to a multiple of the quantum, as if exponents had no upper end."""
    fmt = rounding.format
    if fmt.name == "fp64":
        return x.astype(np.float64)
    if rounding.direction == "nearest-even" and fmt.native in ("float16", "float32"):
        return x.astype(fmt.native)  # numpy converts from fp32 and from fp64 directly, each with a single rounding
    x = x.astype(np.float64, copy=False)
    q = quantum(x, fmt)
    return _to_integer(x / q, rounding, rng) * q


def _to_integer(m: Array, rounding: Rounding, rng: np.random.Generator | None) -> Array:
    if rounding.direction != "stochastic":
        return _INTEGER[rounding.direction](m)
    if rng is None:
        raise PrecDiffError("stochastic rounding needs rng: a numpy.random.Generator; found None.")
    return _away_where(lambda rest: rng.random(np.shape(rest)) < rest, m)


def _away_where(choice: Callable[[Array], Array], m: Array) -> Array:
    """Step one away from zero where `choice` of the fraction lost says so."""
    whole = np.trunc(m)
    return np.where(choice(np.abs(m - whole)), whole + np.copysign(1.0, m), whole)


def _to_odd(m: Array) -> Array:
    whole = np.trunc(m)
    half = 0.5 * whole
    return np.where((whole != m) & (np.trunc(half) == half), whole + np.copysign(1.0, m), whole)


_INTEGER: dict[str, Callable[[Array], Array]] = {
    "nearest-even": np.rint,
    "nearest-away": lambda m: _away_where(lambda rest: rest >= 0.5, m),
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
    if rounding.overflow == "saturate":
        return outermost
    beyond = np.copysign(np.inf, rounded) if fmt.has_inf else np.full_like(outermost, np.nan)
    inward = _INWARD.get(rounding.direction)
    if inward is None:
        return beyond
    return np.where(inward(outermost) & ~np.isinf(source), outermost, beyond)


#: direction -> where a finite value that overflows stays at the largest number (IEEE 754-2019, 7.4)
_INWARD: dict[str, Callable[[Array], Array]] = {
    "toward-zero": lambda sign: np.full(sign.shape, True),
    "to-odd": lambda sign: np.full(sign.shape, True),
    "up": lambda sign: sign < 0,
    "down": lambda sign: sign > 0,
}


def round_integer(x: object, rounding: Rounding, rng: np.random.Generator | None = None) -> Array:
    """Round to an integer format: out of range saturates, NaN gives 0 (CANN asc-devkit, Cast).

    >>> round_integer([2.5, -0.5, 300.0, float("nan")], Rounding("i8")).tolist()
    [2, 0, 127, 0]
    """
    low, high = rounding.format.integer_range
    values = carrier(x).astype(np.float64)
    with np.errstate(all="ignore"):
        whole = np.nan_to_num(_to_integer(values, rounding, rng), nan=0.0, posinf=np.inf, neginf=-np.inf)
        inside = np.where(whole >= float(high), 0.0, np.where(whole <= float(low), 0.0, whole))
    kept = inside.astype(rounding.format.carrier)
    limit = kept.dtype.type
    return np.where(whole >= float(high), limit(high), np.where(whole <= float(low), limit(low), kept))
