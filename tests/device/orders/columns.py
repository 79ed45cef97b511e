"""Terms that tell summation orders apart: per kind one seeded row of n numbers of a format."""

import numpy as np

from precdiff.formats import from_bits, get_format
from precdiff.rounding import Rounding, round_array

ORDINARY = ("normal", "cancelling", "all exponents", "subnormals")
SPECIAL = ("near overflow", "negative zeros", "zeros of both signs", "infinities", "one NaN")


def row(kind, fmt, n, seed=0):
    """n numbers of that format and kind, as a carrier."""
    fmt = get_format(fmt)
    rng = np.random.default_rng([seed, n, *kind.encode()])
    return round_array(np.asarray(_MAKERS[kind](rng, fmt, n), np.float64), Rounding(fmt))


def _cancelling(rng, fmt, n):
    half = rng.standard_normal(n // 2 + 1) * 2.0 ** rng.integers(-4, 4, n // 2 + 1)
    values = round_array(half, Rounding(fmt)).astype(np.float64)
    return rng.permutation(np.concatenate([values, -values]))[:n]


def _all_exponents(rng, fmt, n):
    return np.ldexp(rng.standard_normal(n), rng.integers(fmt.emin - fmt.p, fmt.emax - 10, n, endpoint=True))


def _subnormals(rng, fmt, n):
    codes = rng.integers(0, 2 ** (fmt.p - 1), n).astype(fmt.storage)
    return from_bits(codes, fmt).astype(np.float64) * rng.choice([-1.0, 1.0], n)


def _with(value):
    def make(rng, fmt, n):
        values = rng.standard_normal(n)
        values[rng.integers(0, n, 1 + n // 50)] = value
        return values

    return make


def _infinities(rng, fmt, n):
    values = rng.standard_normal(n)
    values[rng.integers(n)] = np.inf
    if n % 2:
        values[rng.integers(n)] = -np.inf
    return values


_MAKERS = {
    "normal": lambda rng, fmt, n: rng.standard_normal(n),
    "cancelling": _cancelling,
    "all exponents": _all_exponents,
    "subnormals": _subnormals,
    "near overflow": lambda rng, fmt, n: fmt.max_finite * rng.uniform(-1, 1, n),
    "negative zeros": lambda rng, fmt, n: np.full(n, -0.0),
    "zeros of both signs": lambda rng, fmt, n: rng.choice([-0.0, 0.0], n),
    "infinities": _infinities,
    "one NaN": _with(np.nan),
}


def same(actual, expected):
    """Equal bit for bit, NaN being one value."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    both_nan = np.isnan(actual) & np.isnan(expected)
    return bool(np.all(both_nan | ((actual == expected) & (np.signbit(actual) == np.signbit(expected)))))
