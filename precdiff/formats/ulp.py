"""Ulps: the unit in the last place, errors counted in it, and the number of floats between two values.

With e the exponent of |x| clamped to [emin, emax],

    ulp(x) = 2^(e - p + 1)                              (Goldberg 1991; exponent clamped as in JAX)
    ulp_error(a, r) = |a - r| / ulp(r)                  real valued; r is any real number
    ulp_distance(a, b) = |ordinal(a) - ordinal(b)|      an integer: floats passed on the way

An infinity stands for everything from where the number line would go on, max_finite + ulp(max_finite), which is
2^(emax + 1) where a format has infinities; so it is no error where the reference lies beyond that. With
subnormals="flush" the numbers a flushing device lacks are taken out of the line: zero and the smallest normal number
are one ulp apart.

docs/definitions.md works every edge through. This file must not know how the numbers came about.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from precdiff.formats.blocks import in_blocks
from precdiff.formats.encoding import NAN_ORDINAL, ordinal
from precdiff.formats.format import Array, Format, get_format
from precdiff.formats.native import carrier

#: what stands for the distance between a number and NaN, and for any distance beyond int64
FAR = np.iinfo(np.int64).max
_EXPONENT_FIELD = np.uint64(0x7FF0_0000_0000_0000)
Subnormals = Literal["keep", "flush"]


def quantum(x: Array, fmt: Format) -> Array:
    """Spacing of the format's numbers at |x| in fp64, as `ulp`, but finite for NaN (it gets that of emax).

    >>> quantum(np.array([1.0]), get_format("bf16")).tolist()
    [0.0078125]
    """
    if not fmt.is_float:
        return np.ones(np.shape(x))
    with np.errstate(invalid="ignore"):  # a signalling NaN is none of our business here
        field = np.asarray(x, np.float64).view(np.uint64) & _EXPONENT_FIELD
    field = np.minimum(np.maximum(field, _field(fmt.emin)), _field(fmt.emax))
    if fmt.emin - fmt.p + 1 < -1022:  # the quantum may be subnormal in fp64, which bits alone do not give
        return np.asarray(np.ldexp(1.0, (field >> np.uint64(52)).astype(np.int32) - 1023 - fmt.p + 1))
    return np.asarray(field - (np.uint64(fmt.p - 1) << np.uint64(52))).view(np.float64)


def _field(exponent: int) -> np.uint64:
    return np.uint64((exponent + 1023) << 52)


def ulp(x: object, fmt: str | Format) -> Array:
    """Return the unit in the last place at |x| in fp64: 2^(e - p + 1), e clamped to [emin, emax]; NaN at NaN.

    >>> ulp([1.0, 0.0, 65504.0], "fp16").tolist()
    [0.0009765625, 5.960464477539063e-08, 32.0]
    """
    values = carrier(x)
    return np.where(np.isnan(values), np.nan, quantum(values, get_format(fmt)))


def ulp_error(actual: object, reference: object, fmt: str | Format, *, subnormals: Subnormals = "keep") -> Array:
    """Return |actual - reference| / ulp(reference); `reference` is an array or a pair (hi, lo) of fp64 arrays.

    >>> float(ulp_error(1.0009765625, 1.0, "fp16"))
    1.0
    """
    return np.asarray(np.abs(signed_ulp_error(actual, reference, fmt, subnormals=subnormals)))


def signed_ulp_error(actual: object, reference: object, fmt: str | Format, *, subnormals: Subnormals = "keep") -> Array:
    """Return (actual - reference) / ulp(reference): positive where the actual value is too large.

    NaN against NaN is 0, NaN against a number +inf.

    >>> float(signed_ulp_error(0.5, 1.0, "fp16"))
    -512.0
    """
    fmt = get_format(fmt)
    parts = reference if isinstance(reference, tuple) else (reference,)

    def work(a: Array, high: Array, low: Array | None = None) -> Array:
        a, high = a.astype(np.float64, copy=False), high.astype(np.float64, copy=False)
        unit = quantum(high, fmt)
        rest = 0.0 if low is None else -low / unit
        if subnormals == "flush" and fmt.is_float:
            rest = rest + (_closing(a, fmt) - _closing(high, fmt)) / unit
        # Scaling before subtracting is exact and keeps differences near the largest fp64 finite.
        error = (a / unit - high / unit) + rest
        return error if np.isfinite(error).all() else _with_specials(error, a, high, rest, fmt)

    with np.errstate(all="ignore"):
        return in_blocks(work, carrier(actual), *map(carrier, parts))


def _closing(x: Array, fmt: Format) -> Array:
    """Return how far each number moves when the gap the subnormals leave in the line is closed to one ulp."""
    shrunk = x * (fmt.min_subnormal / fmt.min_normal - 1.0)
    moved = np.copysign(fmt.min_normal - fmt.min_subnormal, -x)
    return np.where(np.abs(x) < fmt.min_normal, shrunk, moved)


def _with_specials(error: Array, a: Array, high: Array, rest: Array | float, fmt: Format) -> Array:
    """Replace what infinities and NaNs made of the error by its definition."""
    unit = quantum(high, fmt)
    last = np.asarray(fmt.max_finite)
    end = last / unit + quantum(last, fmt) / unit
    a_end, high_end = (np.where(np.isinf(x), np.copysign(end, x), x / unit) for x in (a, high))
    ray = (a_end - high_end) + np.where(np.isfinite(rest), rest, 0.0)
    ray = np.where((a == np.inf) | (high == -np.inf), np.maximum(ray, 0.0), ray)
    ray = np.where((a == -np.inf) | (high == np.inf), np.minimum(ray, 0.0), ray)
    error = np.where(np.isinf(a) | np.isinf(high), ray, error)
    nans = np.isnan(a).astype(np.int8) + np.isnan(high)
    return np.where(nans == 0, error, np.where(nans == 2, 0.0, np.inf))


def ulp_distance(a: object, b: object, fmt: str | Format) -> Array:
    """Count the steps from one representable value to the other in int64; +0 and -0 are one value.

    NaN against NaN is 0, NaN against a number (and any count beyond int64) the largest int64.

    >>> int(ulp_distance(1.0, 1.0009765625, "fp16"))
    1
    """
    fmt = get_format(fmt)
    return in_blocks(lambda one, other: _distance(one, other, fmt), np.asarray(a), np.asarray(b))


def _distance(a: Array, b: Array, fmt: Format) -> Array:
    first, second = ordinal(a, fmt), ordinal(b, fmt)
    low, high = np.minimum(first, second), np.maximum(first, second)
    count = high.astype(np.uint64) - low.astype(np.uint64)  # modulo 2^64: the true difference fits
    count = np.minimum(count, np.uint64(FAR)).astype(np.int64)
    one_is_nan = (low == NAN_ORDINAL) & (high != NAN_ORDINAL) & fmt.has_nan
    return np.where(one_is_nan, FAR, count)


def is_representable(values: object, fmt: str | Format) -> Array:
    """Say which values the format holds exactly, infinities and NaN included.

    >>> is_representable([1.0, 1.0 + 2.0**-11, float("inf")], "fp16").tolist()
    [True, False, True]
    """
    fmt = get_format(fmt)
    x = carrier(values)
    if x.dtype.kind in "iub" or not fmt.is_float:
        return _whole_and_within(x, fmt)
    with np.errstate(all="ignore"):
        return in_blocks(lambda block: _is_held(block.astype(np.float64, copy=False), fmt), x)


def _is_held(x: Array, fmt: Format) -> Array:
    in_units = x / quantum(x, fmt)
    held = (in_units == np.rint(in_units)) & (np.abs(x) <= fmt.max_finite)
    return np.asarray(held | (np.isinf(x) & fmt.has_inf) | (np.isnan(x) & fmt.has_nan))


def _whole_and_within(x: Array, fmt: Format) -> Array:
    """Settle the integer cases on Python integers, whose comparisons are exact at any size."""
    if fmt.is_float:
        flags = [abs(n) <= fmt.max_finite and _width(n) <= fmt.p for n in x.ravel().tolist()]
    else:
        low, high = fmt.integer_range
        flags = [low <= n <= high and n == int(n) for n in x.ravel().tolist()]
    return np.array(flags, bool).reshape(x.shape)


def _width(n: int) -> int:
    """Bits from the highest one of |n| to its lowest."""
    return (n // (n & -n)).bit_length() if n else 0
