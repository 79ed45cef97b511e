"""The inputs on which rounding goes wrong, and what is right there, by a definition independent of precdiff.rounding.

The definition: take the format's values from numpy or ml_dtypes, in order, the number line continued by one value; a
real number lies between two neighbours of that list, and its direction chooses one. Comparisons are exact in fp64.
"""

from functools import cache

import ml_dtypes
import numpy as np

from precdiff.formats import FORMATS, get_format, native_dtype

#: the float formats whose every code can be tried, with the dtype that numpy or ml_dtypes has for them
DTYPES = {name: native_dtype(fmt) for name, fmt in FORMATS.items() if fmt.is_float and fmt.bits <= 16}
MIN_NORMAL = {name: float(ml_dtypes.finfo(dtype).smallest_normal) for name, dtype in DTYPES.items()}


@cache
def line(name):
    """All numbers of the format from 0 up, in fp64, and the one after the last (480 for e4m3fn, else 2^(emax + 1))."""
    dtype = DTYPES[name]
    codes = np.arange(2 ** (8 * dtype.itemsize - 1)).astype(f"uint{8 * dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        values = codes.view(dtype).astype(np.float64)
    values = values[np.isfinite(values)]
    return np.append(values, 2 * values[-1] - values[-2])


@cache
def edges(name):
    """Every value, every midpoint, their neighbours in fp32 and in fp64, thresholds and specials, of both signs."""
    values = line(name)
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2])
    with np.errstate(over="ignore"):
        narrow = points.astype(np.float32)
    near = [np.nextafter(at, toward) for at in (points, narrow) for toward in at.dtype.type([0, np.inf])]
    far = [2.0**-1074, 1e-300, 2.0**1000, np.finfo(np.float32).max, np.finfo(np.float64).max, np.inf, np.nan]
    positive = np.unique(np.concatenate([points, *near, far]))
    return np.concatenate([-positive[::-1], positive])


#: direction -> (index odd, negative, the number against the middle of its neighbours: -1, 0, 1) -> take the upper one
_UPPER = {
    "nearest-even": lambda odd, negative, half: (half > 0) | ((half == 0) & odd),
    "nearest-away": lambda odd, negative, half: half >= 0,
    "toward-zero": lambda odd, negative, half: np.zeros_like(odd),
    "up": lambda odd, negative, half: ~negative,
    "down": lambda odd, negative, half: negative,
    "to-odd": lambda odd, negative, half: ~odd,
}
#: direction -> whether what lies beyond the largest number stays there (IEEE 754-2019, 7.4), by the sign
_STAYS = {
    "toward-zero": np.ones_like,
    "to-odd": np.ones_like,
    "up": lambda negative: negative,
    "down": lambda negative: ~negative,
}


def by_neighbours(x, name, direction, overflow):
    """Round by choosing among neighbours in the sorted list of the format's values."""
    values = line(name)
    largest, negative, size = values[-2], np.signbit(x), np.abs(x)
    inside = np.where(size < values[-1], size, 0.0)
    lower = np.searchsorted(values, inside, side="right") - 1
    half = np.sign(2 * inside - (values[lower] + values[np.minimum(lower + 1, len(values) - 1)]))
    upper = _UPPER[direction](lower % 2 == 1, negative, half) & (values[lower] != inside)
    rounded = np.where(size < values[-1], values[lower + upper], values[-1])
    stays = _STAYS.get(direction, np.zeros_like)(negative) & np.isfinite(x)
    end = np.inf if get_format(name).has_inf else np.nan
    end = np.where(stays | (overflow == "saturate"), largest, end)
    result = np.where(rounded > largest, end, rounded)
    return np.where(np.isnan(x), np.nan, np.copysign(result, x))


def same(a, b):
    """Equal values with equal signs, or both NaN."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
