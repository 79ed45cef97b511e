"""+ - * / sqrt and fma of single floats by their definition: the real result in rationals, rounded once.

This file is slow and has no shortcuts; arithmetic.py is held to it. Operands are Python floats of any value; where one
is not finite, or the result is a pole, the answer is the one fp64 gives, which `round_exact` then fits into the format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.rounding.array import draw
from precdiff.rounding.exact import round_exact
from precdiff.rounding.rounding import Rounding

#: bits of a square root beyond which a sticky bit stands for the rest
_ROOT_BITS = 128


def _square_root(x: Fraction) -> Fraction:
    """Return sqrt(x) to 128 bits, rounded to odd: never mistaken for a number of a format or a midpoint."""
    shift = max(0, 2 * _ROOT_BITS - x.numerator.bit_length() + x.denominator.bit_length())
    scaled = (x.numerator << 2 * shift) // x.denominator
    root = math.isqrt(scaled)
    exact = root * root * x.denominator == x.numerator << 2 * shift
    return Fraction(root if exact else root | 1, 1 << shift)


_REAL: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "sqrt": _square_root,
    "fma": lambda a, b, c: a * b + c,
}

#: the same in fp64, for arrays and numbers; fma with two roundings, which only special values forgive
HOST: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "sqrt": np.sqrt,
    "fma": lambda a, b, c: a * b + c,
}


def _special(name: str, operands: Sequence[float]) -> bool:
    """Say whether the result is not a real number made of real numbers."""
    pole = name == "divide" and operands[1] == 0
    return pole or (name == "sqrt" and operands[0] < 0) or not all(map(math.isfinite, operands))


def _zero(name: str, operands: Sequence[float], rounding: Rounding) -> float:
    """Return the exact zero result with its sign (IEEE 754-2019, 6.3)."""
    signs = [math.copysign(1.0, operand) for operand in operands]
    if name in ("multiply", "divide"):
        return 0.0 * signs[0] * signs[1]
    if name == "sqrt":
        return operands[0]
    first, second = (signs[0] * signs[1], signs[2]) if name == "fma" else (signs[0], signs[1])
    second = -second if name == "subtract" else second
    if first == second:
        return 0.0 * first
    return -0.0 if rounding.direction == "down" else 0.0


def evaluate(name: str, operands: Sequence[float], rounding: Rounding, rng: np.random.Generator | None = None) -> float:
    """Return the operation's exact result rounded once.

    >>> evaluate("divide", (1.0, 3.0), Rounding("bf16"))
    0.333984375
    """
    random = draw(rounding, rng)
    if _special(name, operands):
        with np.errstate(all="ignore"):
            # A product of finite factors never overflows next to an infinity or NaN: only its sign counts.
            return round_exact(float(HOST[name](*map(_tame, operands))), rounding, random)
    value = _REAL[name](*map(Fraction, operands))
    return round_exact(value or _zero(name, operands, rounding), rounding, random)


def _tame(x: float) -> np.float64:
    """Return x with finite magnitudes made 1 so that fp64 neither over- nor underflows; zeros stay."""
    return np.float64(math.copysign(1.0, x) if math.isfinite(x) and x else x)
