"""The definition of truth for tests: mpmath at 200 bits or more, then `round_exact`; no enclosures, no balls."""

import math
from fractions import Fraction

import mpmath
import numpy as np

from precdiff.rounding import round_exact

CONTEXT = mpmath.MPContext()

_NAMES = {"log": "ln"}
#: what IEEE 754-2019 9.2 says where mpmath has no real answer: domain errors are NaN, poles infinite, zeros keep signs
_SPECIAL = {
    "log": lambda x: -np.inf if x == 0 else np.nan,
    "log1p": lambda x: -np.inf if x == -1 else np.nan,
    "sqrt": lambda x: np.nan,
    "rsqrt": lambda x: np.copysign(np.inf, x) if x == 0 else np.nan,
    "reciprocal": lambda x: np.copysign(np.inf, x),
}
_DOMAIN = {"log": (0, True), "log1p": (-1, True), "sqrt": (0, False), "rsqrt": (0, True)}
_OWN = {"rsqrt": lambda x: 1 / CONTEXT.sqrt(x), "reciprocal": lambda x: 1 / x}
_ODD_OR_ZERO_AT_ZERO = ("tanh", "erf", "expm1", "log1p", "sqrt")
_AT_INFINITY = {
    "exp": (np.inf, 0.0), "expm1": (np.inf, -1.0), "log": (np.inf, np.nan), "log1p": (np.inf, np.nan),
    "tanh": (1.0, -1.0), "erf": (1.0, -1.0), "sqrt": (np.inf, np.nan), "rsqrt": (0.0, np.nan),
    "reciprocal": (0.0, -0.0),
}  # fmt: skip
#: finite points from which on the exact value lies within 2^-200 of this one, on the far side of it from zero or one
_SATURATED = {
    "exp": lambda x: None if abs(x) < 1e4 else (Fraction(2) ** 5000 if x > 0 else Fraction(1, 2**5000)),
    "expm1": lambda x: None if -130 < x < 1e4 else (Fraction(2) ** 5000 if x > 0 else -1 + Fraction(1, 2**5000)),
    "tanh": lambda x: None if abs(x) < 60 else (1 - Fraction(1, 2**5000)) * (1 if x > 0 else -1),
    "erf": lambda x: None if abs(x) < 11 else (1 - Fraction(1, 2**5000)) * (1 if x > 0 else -1),
}


def fraction(value):
    """An mpf as a Fraction."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def exact(name, x):
    """The unary function at the fp64 number x: a Fraction of 200 bits or more, or a float at specials and zeros."""
    if np.isnan(x):
        return np.nan
    if np.isinf(x):
        return _AT_INFINITY[name][0 if x > 0 else 1]
    low, open_ = _DOMAIN.get(name, (-np.inf, False))
    if x < low or (open_ and x == low) or (name == "reciprocal" and x == 0):
        return _SPECIAL[name](x)
    if x == 0 and name in _ODD_OR_ZERO_AT_ZERO:
        return x
    far = _SATURATED.get(name, lambda x: None)(x)
    if far is not None:
        return far
    # exp(x) - 1 - x is of the size x^2: so many bits more tell log1p(x) from x
    CONTEXT.prec = 200 + max(0, -2 * math.frexp(x)[1])
    function = _OWN.get(name) or getattr(CONTEXT, _NAMES.get(name, name))
    return fraction(function(CONTEXT.mpf(x)))


def rounded(name, x, rounding):
    """The unary function at x rounded once."""
    value = exact(name, x)
    return round_exact(float(value) if isinstance(value, float) else value, rounding)


def same(actual, expected):
    """Where two arrays have equal bits, NaN being one value."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    both_nan = np.isnan(actual) & np.isnan(expected)
    return both_nan | ((actual == expected) & (np.signbit(actual) == np.signbit(expected)))
