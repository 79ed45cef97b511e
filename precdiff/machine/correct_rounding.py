"""Elementary functions rounded once, by Ziv's strategy: an enclosure first, more bits only where it cannot decide.

Rung 1 is the row's fp64 interval twin at the given points: where both ends round alike the result is proven. The few
doubtful elements go through balls of doubling precision. What 1,200 bits do not separate from a rounding boundary is
taken to lie on it (x^y can; exp, log, tanh, erf cannot at rational points other than their trivial ones): the format's
tie rule decides. The row's `inside` keeps tanh(1000) below 1 and exp(-1e30) above 0 at any precision. Never what libm
gave: results are the same on every host. Source: Ziv 1991; Muller, Elementary Functions, 12.

A unary function of a 16-bit format is computed once for all of its codes and looked up.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from precdiff.errors import DefectError
from precdiff.formats import Format, from_bits, to_bits
from precdiff.machine.ball_number import FAR, bounds, enter_float, evaluate
from precdiff.ops.op import OPS, Elementwise
from precdiff.rounding import Rounding, round_array, round_exact

#: elements from which the table of a 16-bit format pays for itself
_TABLE_FROM = 4096
_CAP = 1200
_ODD = Rounding("fp64", "to-odd")
_LEAST = Fraction(1, 2**FAR)


def correctly_rounded(
    op: Elementwise, arrays: Sequence[np.ndarray], formats: Sequence[Format], rounding: Rounding,
    rng: np.random.Generator | None = None,
) -> np.ndarray:  # fmt: skip
    """op(*arrays) rounded once, as carriers of `rounding.format`; operands are carriers of `formats`."""
    if rounding.direction == "stochastic":
        # to odd first: one more rounding is then as good as one of the exact value (rounding/error_free.py)
        return round_array(correctly_rounded(op, arrays, formats, _ODD), rounding, rng)
    if len(arrays) == 1 and formats[0].bits <= 16 and arrays[0].size >= _TABLE_FROM:
        return np.asarray(_table(op.name, formats[0], rounding)[to_bits(arrays[0], formats[0])])
    return _evaluated(op, arrays, rounding)


@functools.lru_cache(maxsize=64)
def _table(name: str, format: Format, rounding: Rounding) -> np.ndarray:
    op = OPS[name]
    assert isinstance(op, Elementwise)
    codes = np.arange(2**format.bits, dtype=format.storage)
    return _evaluated(op, [from_bits(codes, format)], rounding)


def _evaluated(op: Elementwise, arrays: Sequence[np.ndarray], rounding: Rounding) -> np.ndarray:
    with np.errstate(all="ignore"):
        wide = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in arrays))
        lo, hi = op.enclose(*((a, a) for a in wide))
    # an overflowed bound is unbounded, not an infinity
    overflow = np.finfo(np.float64).max
    lo, hi = (np.where(np.isinf(end) & (lo != hi), np.copysign(overflow, end), end) for end in (lo, hi))
    result, other = round_array(lo, rounding), round_array(hi, rounding)
    doubtful = (result != other) | (np.signbit(result) != np.signbit(other))
    if rounding.format.max_finite >= overflow:
        # only fp64 itself can tell an overflow from its largest number; every other format rounds both alike
        doubtful |= np.abs(hi) == overflow
    doubtful &= ~(np.isnan(result) & np.isnan(other))
    if doubtful.any():
        result = np.array(result)
        rows = zip(*(a[doubtful].tolist() for a in wide), strict=True)
        result[doubtful] = [_settled(op, row, rounding) for row in rows]
    return result


def _settled(op: Elementwise, args: Sequence[float], rounding: Rounding) -> float:
    """One element, by balls of doubling precision."""
    bits = 80
    while True:
        with flint.ctx.workprec(bits), np.errstate(all="ignore"):
            value = evaluate(op, *map(enter_float, args))
            if isinstance(value, float):
                return round_exact(value, rounding)
            low, high = _ends(op, args, value)
        results = round_exact(low, rounding), round_exact(high, rounding)
        if results[0] == results[1] and (results[0] != 0 or low * high >= 0):
            return results[0]
        if bits > _CAP:
            return round_exact(_boundary(low, high, rounding), rounding)
        bits *= 2


def _ends(op: Elementwise, args: Sequence[float], value: Any) -> tuple[Fraction, Fraction]:
    """The ends of a ball, inside the values the row can take."""
    low, high = bounds(value) if value.is_finite() else _overflow(op, args)
    if low == high or op.inside is None:
        return low, high
    floor, ceiling = op.inside(*args)
    low = max(low, Fraction(floor) + _LEAST) if math.isfinite(floor) else low
    return low, min(high, Fraction(ceiling) - _LEAST) if math.isfinite(ceiling) else high


def _overflow(op: Elementwise, args: Sequence[float]) -> tuple[Fraction, Fraction]:
    """Where flint's exponents end, fp64's enclosure still knows the sign."""
    with np.errstate(all="ignore"):
        lo, hi = op.enclose(*((np.float64(a), np.float64(a)) for a in args))
    largest = np.finfo(np.float64).max
    if not (lo >= largest or hi <= -largest):
        raise DefectError(f"{op.name} of {list(args)} has no finite ball; please report it")
    return (1 / _LEAST, 1 / _LEAST) if lo > 0 else (-1 / _LEAST, -1 / _LEAST)


def _boundary(low: Fraction, high: Fraction, rounding: Rounding) -> Fraction:
    """The number of at most p + 2 bits inside the ball: a tie or a representable value."""
    middle = (low + high) / 2
    shift = rounding.format.p + 2 - (abs(middle.numerator).bit_length() - middle.denominator.bit_length())
    scale = Fraction(2) ** shift
    return Fraction(round(middle * scale)) / scale
