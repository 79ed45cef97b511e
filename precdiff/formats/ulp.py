"""Ulps: the unit in the last place, errors counted in it, and the number of floats between two values.

With e the exponent of |x| clamped to [emin, emax],

    ulp(x) = 2^(e - p + 1)                              (Goldberg 1991; exponent clamped as in JAX)
    ulp_error(a, r) = |a - r| / ulp(r)                  real valued; r any real number, infinities at +-2^(emax + 1)
    ulp_distance(a, b) = |ordinal(a) - ordinal(b)|      an integer: floats passed on the way

docs/definitions.md works every edge through. This file must not know how the numbers came about.
"""

from __future__ import annotations

import numpy as np

from precdiff.formats.encoding import NAN_ORDINAL, ordinal
from precdiff.formats.format import Array, Format, get_format
from precdiff.formats.native import carrier

#: what stands for the distance between a number and NaN, and for any distance beyond int64
FAR = np.iinfo(np.int64).max
_EXPONENT_FIELD = np.uint64(0x7FF0_0000_0000_0000)


def quantum(x: Array, fmt: Format) -> Array:
    """Spacing of the format's numbers at |x| in fp64, as `ulp`, but finite for NaN (it gets that of emax)."""
    if not fmt.is_float:
        return np.ones(np.shape(x))
    field = np.asarray(x, np.float64).view(np.uint64) & _EXPONENT_FIELD
    field = np.clip(field, _field(fmt.emin), _field(fmt.emax))
    if fmt.emin - fmt.p + 1 < -1022:  # the quotient may be subnormal in fp64, which bits alone do not give
        return np.asarray(np.ldexp(1.0, (field >> np.uint64(52)).astype(np.int32) - 1023 - fmt.p + 1))
    return np.asarray(field - (np.uint64(fmt.p - 1) << np.uint64(52))).view(np.float64)


def _field(exponent: int) -> np.uint64:
    return np.uint64((exponent + 1023) << 52)


def ulp(x: object, fmt: str | Format) -> Array:
    """Return the unit in the last place at |x| in fp64: 2^(e - p + 1), e clamped to [emin, emax]; NaN at NaN.

    >>> ulp([1.0, 0.0, 65504.0], "fp16").tolist()
    [0.0009765625, 5.960464477539063e-08, 32.0]
    """
    values = carrier(x).astype(np.float64)
    return np.where(np.isnan(values), np.nan, quantum(values, get_format(fmt)))


def ulp_error(actual: object, reference: object, fmt: str | Format) -> Array:
    """Return |actual - reference| / ulp(reference); `reference` is an array or a pair (hi, lo) of fp64 arrays.

    >>> float(ulp_error(1.0009765625, 1.0, "fp16"))
    1.0
    """
    return np.abs(signed_ulp_error(actual, reference, fmt))


def signed_ulp_error(actual: object, reference: object, fmt: str | Format) -> Array:
    """Return (actual - reference) / ulp(reference): positive where the actual value is too large.

    NaN against NaN is 0, NaN against a number +inf.

    >>> float(signed_ulp_error(0.5, 1.0, "fp16"))
    -512.0
    """
    fmt = get_format(fmt)
    high, low = _pair(reference)
    a = carrier(actual).astype(np.float64)
    with np.errstate(all="ignore"):
        unit = quantum(high, fmt)
        # Scaling first is exact and keeps differences near the largest fp64 finite.
        error = _in_units(a, unit, fmt) - _in_units(high, unit, fmt) - low / unit
    nans = np.isnan(a).astype(np.int8) + np.isnan(high)
    return np.where(nans == 0, error, np.where(nans == 2, 0.0, np.inf))


def _in_units(x: Array, unit: Array, fmt: Format) -> Array:
    """Return x / unit with what lies beyond the format, infinities included, at +-2^(emax + 1)."""
    if not fmt.is_float:
        return x / unit
    end = 2.0 * (2.0**fmt.emax / unit)
    return np.clip(x / unit, -end, end)


def _pair(reference: object) -> tuple[Array, Array]:
    """Return (hi, lo) in fp64 with |lo| not above half an ulp of hi where both are finite."""
    if not isinstance(reference, tuple):
        high = carrier(reference).astype(np.float64)
        return high, np.zeros_like(high)
    high, low = (np.asarray(part, np.float64) for part in reference)
    return high, np.where(np.isfinite(high), low, 0.0)


def ulp_distance(a: object, b: object, fmt: str | Format) -> Array:
    """Count the steps from one representable value to the other in int64; +0 and -0 are one value.

    NaN against NaN is 0, NaN against a number (and any count beyond int64) the largest int64.

    >>> int(ulp_distance(1.0, 1.0009765625, "fp16"))
    1
    """
    fmt = get_format(fmt)
    first, second = ordinal(a, fmt), ordinal(b, fmt)
    low, high = np.minimum(first, second), np.maximum(first, second)
    count = high.astype(np.uint64) - low.astype(np.uint64)  # modulo 2^64: the true difference fits
    count = np.minimum(count, np.uint64(FAR)).astype(np.int64)
    if not fmt.has_nan:
        return count
    one_nan = (low == NAN_ORDINAL) & (high != NAN_ORDINAL)
    return np.where(one_nan, FAR, count)


def is_representable(values: object, fmt: str | Format) -> Array:
    """Say which values the format holds exactly, infinities and NaN included.

    >>> is_representable([1.0, 1.0 + 2.0**-11, float("inf")], "fp16").tolist()
    [True, False, True]
    """
    fmt = get_format(fmt)
    x = carrier(values)
    if x.dtype.kind in "iub" or not fmt.is_float:
        return _whole_and_within(x, fmt)
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        in_units = x / quantum(x, fmt)
    held = (in_units == np.rint(in_units)) & (np.abs(x) <= fmt.max_finite)
    return np.asarray(held | (np.isinf(x) & fmt.has_inf) | (np.isnan(x) & fmt.has_nan))


def _whole_and_within(x: Array, fmt: Format) -> Array:
    """Settle the integer cases on Python integers, whose comparisons are exact at any size."""
    if fmt.is_float:
        flags = [abs(n) <= fmt.max_finite and n % (n & -n or 1) == 0 and _width(n) <= fmt.p for n in x.ravel().tolist()]
    else:
        low, high = fmt.integer_range
        flags = [n == n and abs(n) != np.inf and n == int(n) and low <= n <= high for n in x.ravel().tolist()]
    return np.array(flags, bool).reshape(x.shape)


def _width(n: int) -> int:
    """Bits between the highest and the lowest one of |n|."""
    return (n // (n & -n)).bit_length() if n else 0
