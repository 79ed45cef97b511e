"""One element of the ball machine, and every op on such elements.

An element is an arb, a Python float for what an arb cannot say (inf, -inf, nan and -0.0), or for booleans True, False
and None (undecided). An arb that is not finite means "anything": a pole inside, or a branch the ball cannot decide.
Beside specials, at poles and at zeros the row's host function decides, as IEEE 754 does. Source: Johansson, Arb (2017).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN
from precdiff.ops import arithmetic
from precdiff.ops.op import Elementwise
from precdiff.rounding import Rounding, round_exact, round_integer_exact

_ANYTHING = arb(0, math.inf)
_LARGEST = float(np.finfo(np.float64).max)

#: exponents beyond which every format overflows or underflows alike
FAR = 5000


def evaluate(op: Elementwise, *args: Any) -> Any:
    """One op on balls, specials and booleans."""
    for a in args:
        if type(a) is not arb or not a.is_finite():
            return _beside_specials(op, args)
    return _at_numbers(op, args, args)


def _beside_specials(op: Elementwise, args: Sequence[Any]) -> Any:
    floats = [a for a in args if isinstance(a, float)]
    if any(floats) and not op.at_specials:
        return _at_specials(op, args)
    if not op.result and any(isinstance(a, arb) and not a.is_finite() for a in args):
        return _ANYTHING  # perhaps NaN, which even sin does not bound
    if floats and op.at_specials:
        return op.at_specials(*args)
    return _at_numbers(op, args, tuple(map(real, args)))


def _at_numbers(op: Elementwise, args: Sequence[Any], balls: Sequence[Any]) -> Any:
    try:
        value = op.ball(*balls)
    except (ValueError, ZeroDivisionError):
        return _not_finite(op, args)
    if type(value) is not arb:
        return value
    if not value.is_finite():
        return _not_finite(op, args)
    return _signed_zero(op, args) if value.is_zero() else value


def real(x: Any) -> Any:
    """A finite element as an arb: -0.0 is 0, booleans are 0 and 1, an undecided one is between."""
    if isinstance(x, arb):
        return x
    return arb(0.5, 0.5) if x is None else arb(int(x))


def _at_specials(op: Elementwise, args: Sequence[Any]) -> Any:
    """What the host gives for every kind of number the balls may hold, or the operand that is the result each time."""
    combinations = np.array(list(itertools.product(*map(_kinds, args)))).T
    with np.errstate(all="ignore"):
        results = op.host(*combinations)
    first = results[0]
    if op.result == "bool":
        return bool(first) if (results == first).all() else None
    for operand, values in zip(args, combinations, strict=True):
        if isinstance(operand, arb) and np.array_equal(results, values):
            return operand
    same = np.array_equal(results, np.full_like(results, first), equal_nan=True)
    return enter_float(first) if same and (np.signbit(results) == np.signbit(first)).all() else _ANYTHING


def _kinds(x: Any) -> list[float]:
    """One number of each kind x may be: beside a special only the sign, the size against 1 and the parity count."""
    if isinstance(x, float):
        return [x]
    ball = real(x)
    lo, hi = _interval(ball)
    if lo == hi:
        return [float(lo)]
    possible = [v for low, high, values in _REGIONS if not (ball <= low or ball >= high) for v in values]
    possible += [v for v in (-1.0, 0.0, 1.0) if not (ball < v or ball > v)]
    return possible if ball.is_finite() else [*possible, math.inf, -math.inf, math.nan]


#: (above, below, numbers of every kind between): two of each, so that a result that depends on the size shows
_REGIONS = (
    (-math.inf, -1, (-3.0, -2.5, -2.0, -5.0)), (-1, 0, (-0.5, -0.375)), (0, 1, (0.5, 0.375)),
    (1, math.inf, (2.0, 2.5, 3.0, 5.0)),
)  # fmt: skip


def _signed_zero(op: Elementwise, args: Sequence[Any]) -> Any:
    """An exact zero, with the sign of the host's."""
    value = op.host(*map(_near, args))
    return -0.0 if value == 0 and math.copysign(1.0, value) < 0 else arb(0)


def _near(x: Any) -> float:
    """A number of fp64 with the ball's sign, finite, and zero only where the ball is."""
    if isinstance(x, float):
        return x
    ball = real(x)
    near = float(ball)
    if near == 0 and not ball.is_zero():
        return math.copysign(5e-324, 1.0 if ball > 0 else -1.0)
    return max(-_LARGEST, min(near, _LARGEST))


def _not_finite(op: Elementwise, args: Sequence[Any]) -> Any:
    """A pole or an invalid operation at exact operands; otherwise, as where flint's exponents overflow, anything."""
    lo, hi = (float(end) for end in op.enclose(*map(_interval, args)))
    return lo if math.isnan(lo) or (lo == hi and math.isinf(lo)) else _ANYTHING


def _interval(x: Any) -> tuple[np.float64, np.float64]:
    """The ball in fp64: a point where it is one, outward otherwise."""
    if isinstance(x, float):
        return np.float64(x), np.float64(x)
    lo, hi = np.float64(float(x.lower())), np.float64(float(x.upper()))
    if lo == hi and np.isfinite(lo) and arb(float(lo)) == x:
        return lo, hi
    with np.errstate(over="ignore"):
        return np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)


def enter_float(value: Any) -> Any:
    """An arb, or the float itself where that is inf, NaN or -0.0; integers exactly."""
    if isinstance(value, int):
        return arb(value)
    number = float(value)
    return number if not math.isfinite(number) or _is_negative_zero(number) else arb(number)


def _is_negative_zero(number: float) -> bool:
    return number == 0 and math.copysign(1.0, number) < 0


def ratio(value: Fraction) -> arb:
    """The ball of a rational number."""
    return arb(flint.fmpq(value.numerator, value.denominator))


def bounds(x: arb) -> tuple[Fraction, Fraction]:
    """The exact ends of a finite ball; sizes beyond 2^5000 and 2^-5000, which no format tells apart, end there."""
    return _fraction(x.lower()), _fraction(x.upper())


def _fraction(x: arb) -> Fraction:
    mantissa, exponent = (int(part) for part in x.mid().man_exp())
    size = exponent + mantissa.bit_length()
    if mantissa and abs(size) > FAR:
        return Fraction(1 if mantissa > 0 else -1) * Fraction(2) ** (FAR if size > 0 else -FAR)
    return Fraction(mantissa) * Fraction(2) ** exponent


def round_number(x: Any, rounding: Rounding) -> Any:
    """The element rounded to a format: the hull of the ends' roundings, which is one number almost always."""
    if rounding.format.kind == "bool":
        return _is_not_zero(x)
    into = round_exact if rounding.format.is_float else round_integer_exact
    if isinstance(x, float):
        return enter_float(into(x, rounding))
    ball = real(x)
    if not ball.is_finite():
        return ball
    lo, hi = (into(end, rounding) for end in bounds(ball))
    if lo == hi:
        return enter_float(lo)
    return arb(lo).union(arb(hi)) if math.isfinite(lo) and math.isfinite(hi) else _ANYTHING


def rounded_ends(x: Any, rounding: Rounding) -> tuple[float, float] | None:
    """Both ends of a ball rounded to a float format; None where it has none."""
    if not isinstance(x, arb) or not x.is_finite():
        return None
    low, high = (round_exact(end, rounding) for end in bounds(x))
    return low, high


def _is_not_zero(x: Any) -> bool | None:
    if not isinstance(x, arb):
        return None if x is None else bool(x != 0)
    return False if x.is_zero() else None if x.contains(0) else True


def describe(x: Any) -> tuple[float, float, float, int]:
    """(hi, lo, radius, kind) of one element."""
    if isinstance(x, bool):
        return float(x), 0.0, 0.0, FINITE
    if x is None:
        return 0.5, 0.0, 0.5, FINITE
    if isinstance(x, float) and x == 0:
        return x, 0.0, 0.0, FINITE
    if isinstance(x, float):
        return 0.0, 0.0, 0.0, NAN if math.isnan(x) else POSITIVE_INFINITY if x > 0 else NEGATIVE_INFINITY
    if not x.is_finite():
        return 0.0, 0.0, 0.0, UNKNOWN
    return _pair(x)


def _pair(x: arb) -> tuple[float, float, float, int]:
    middle = x.mid()
    hi = float(middle)
    if math.isinf(hi):
        return 0.0, 0.0, 0.0, (POSITIVE_INFINITY if x > _LARGEST else NEGATIVE_INFINITY if x < -_LARGEST else UNKNOWN)
    lo = float(middle - arb(hi))
    rest = abs(middle - arb(hi) - arb(lo)) + x.rad()
    radius = float(rest.upper())
    return hi, lo, radius if rest.is_zero() else math.nextafter(radius, math.inf), FINITE


def from_pair(hi: float, lo: float, radius: float, kind: int) -> Any:
    """The element a RealArray row stands for."""
    if kind == FINITE:
        point = lo == 0 and radius == 0
        return enter_float(hi) if point else arb(float(hi), float(radius)) + arb(float(lo))
    return {POSITIVE_INFINITY: math.inf, NEGATIVE_INFINITY: -math.inf, NAN: math.nan}.get(int(kind), _ANYTHING)


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition, else y; their hull where it is undecided."""
    if condition is not None:
        return x if condition else y
    if x is None or isinstance(x, bool):
        return x if x is y else None
    if all(isinstance(v, arb) or v == 0 for v in (x, y)):
        return real(x).union(real(y))
    return x if isinstance(x, float) and (x == y or (x != x and y != y)) else _ANYTHING


def add(x: Any, y: Any) -> Any:
    """x + y."""
    return x + y if isinstance(x, arb) and isinstance(y, arb) else evaluate(arithmetic.add, x, y)


def multiply(x: Any, y: Any) -> Any:
    """x * y."""
    return x * y if isinstance(x, arb) and isinstance(y, arb) else evaluate(arithmetic.mul, x, y)


def larger(x: Any, y: Any) -> Any:
    """max(x, y)."""
    return x.max(y) if isinstance(x, arb) and isinstance(y, arb) else evaluate(arithmetic.maximum, x, y)


def hull(lo: float, hi: float) -> Any:
    """A ball that contains [lo, hi], the special itself where both ends are one."""
    low, high = float(lo), float(hi)
    if low == high or low != low:
        return enter_float(low)
    return arb(low).union(arb(high)) if math.isfinite(low) and math.isfinite(high) else _ANYTHING
