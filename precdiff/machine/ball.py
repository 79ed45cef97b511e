"""BallMachine: python-flint balls, rigorous at any precision: the third rung, and what settles a doubtful rounding.

An element is an arb, a Python float for a special (inf, -inf, nan), or for booleans True, False and None (undecided).
An arb that is not finite means "anything": a pole inside, or a branch the ball cannot decide. Source: Johansson, Arb
(2017).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from precdiff.formats import Format
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN, RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding import Rounding, round_exact, round_integer_exact

_ANYTHING = arb(0, math.inf)
_LARGEST = float(np.finfo(np.float64).max)


class BallMachine(Machine):
    """Balls of `bits` bits; `casts` as in IntervalMachine."""

    name = "ball"

    def __init__(self, bits: int = 128, casts: str = "ignored") -> None:
        self.bits = bits
        self.casts = casts

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        return (_objects(values, bool if format.kind == "bool" else enter_float),)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits):
            text = params.get("text")
            number = _ratio(Fraction(text)) if text else enter_float(params["value"])
        return (_scalar(number),)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits):
            return (_mapped(functools.partial(evaluate, op), *(t.planes[0] for t in inputs)),)

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        with flint.ctx.workprec(self.bits):
            return (_mapped(_choose, condition[0], x[0], y[0]),)

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        step = _add if op.kind == "sum" else _larger
        with flint.ctx.workprec(self.bits):
            return (
                _rows(lambda row: functools.reduce(step, row, *([arb(0)] if op.kind == "sum" else [])), x.planes[0]),
            )

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits):
            product = _matrix_product(inputs[0].planes[0], inputs[1].planes[0])
            return (product,) if len(inputs) == 2 else (_mapped(_add, product, inputs[2].planes[0]),)

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float and self.casts == "ignored":
            return x.planes
        rounding = Rounding(format, params.get("mode") or "nearest-even")
        with flint.ctx.workprec(max(self.bits, 64)):
            return (_mapped(lambda v: _round_ball(v, rounding), x.planes[0]),)

    def of_reals(self, known: RealArray) -> Planes:
        """Balls holding the given reals."""
        columns = (known.hi, known.lo, known.radius, known.kind)
        with flint.ctx.workprec(max(self.bits, 2200)):
            return (_mapped(_from_pair, *columns),)

    def reals(self, x: Tensor) -> RealArray:
        with flint.ctx.workprec(self.bits + 64):
            rows = [_describe(v) for v in x.planes[0].ravel()]
        columns = np.array(rows, np.float64).reshape(-1, 4)
        hi, lo, radius, kind = (columns[:, i].reshape(x.shape) for i in range(4))
        return RealArray(hi, lo, radius, kind.astype(np.uint8))


def evaluate(op: Elementwise, *args: Any) -> Any:
    """One op on balls and specials: NaN, infinite operands and poles at exact operands follow the host function."""
    if any(isinstance(a, float) for a in args):
        return _at_specials(op, args)
    try:
        value = op.ball(*args)
    except (ValueError, ZeroDivisionError):
        return _ANYTHING
    if value is None or isinstance(value, bool) or value.is_finite():
        return value
    return _not_finite(op, args)


def _at_specials(op: Elementwise, args: Sequence[Any]) -> Any:
    points = [a if isinstance(a, float) else float(a) if a.is_exact() else _sign_only(a) for a in args]
    if any(p is None for p in points):
        return _ANYTHING
    with np.errstate(all="ignore"):
        return _enter_host(op, op.host(*(np.float64(p) for p in points)))


def _sign_only(x: arb) -> float | None:
    """A stand-in for an inexact ball beside a special operand: only its sign can matter for the rows we have."""
    return 2.5 if x > 1 else 0.5 if x > 0 and x < 1 else -2.5 if x < -1 else -0.5 if x > -1 and x < 0 else None


def _enter_host(op: Elementwise, value: Any) -> Any:
    return bool(value) if op.result == "bool" else enter_float(float(value))


def _not_finite(op: Elementwise, args: Sequence[Any]) -> Any:
    """A pole or an invalid operation at exact operands; an overflow of flint's exponents; otherwise anything."""
    pairs = [(np.float64(float(a.lower())), np.float64(float(a.upper()))) for a in args]
    if not all(a.is_exact() and lo == hi for a, (lo, hi) in zip(args, pairs, strict=True)):
        pairs = [(np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)) for lo, hi in pairs]
    lo, hi = (float(end) for end in op.enclose(*pairs))
    if math.isnan(lo) or (lo == hi and math.isinf(lo)):
        return lo
    return math.inf if lo >= _LARGEST else -math.inf if hi <= -_LARGEST else _ANYTHING


def enter_float(value: Any) -> Any:
    """An arb, or the float itself where it is not finite."""
    number = float(value)
    return arb(number) if math.isfinite(number) else number


def _entered(value: float) -> Any:
    return arb(value) if isinstance(value, int) else enter_float(value)


def _ratio(value: Fraction) -> arb:
    return arb(flint.fmpq(value.numerator, value.denominator))


def bounds(x: arb) -> tuple[Fraction, Fraction]:
    """The exact ends of a finite ball."""
    return _fraction(x.lower()), _fraction(x.upper())


def _fraction(x: arb) -> Fraction:
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _round_ball(x: Any, rounding: Rounding) -> Any:
    into = round_exact if rounding.format.is_float else round_integer_exact
    if isinstance(x, float):
        return _entered(into(x, rounding))
    if not x.is_finite():
        return x
    lo, hi = (into(end, rounding) for end in bounds(x))
    if lo == hi:
        return _entered(lo)
    return arb(lo).union(arb(hi)) if math.isfinite(lo) and math.isfinite(hi) else _ANYTHING


def _describe(x: Any) -> tuple[float, float, float, int]:
    """(hi, lo, radius, kind) of one element."""
    if isinstance(x, bool):
        return float(x), 0.0, 0.0, FINITE
    if x is None:
        return 0.5, 0.0, 0.5, FINITE
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


def _from_pair(hi: float, lo: float, radius: float, kind: int) -> Any:
    if kind == FINITE:
        return arb(float(hi), float(radius)) + arb(float(lo))
    return {POSITIVE_INFINITY: math.inf, NEGATIVE_INFINITY: -math.inf, NAN: math.nan}.get(int(kind), _ANYTHING)


def _choose(condition: Any, x: Any, y: Any) -> Any:
    if condition is not None:
        return x if condition else y
    if isinstance(x, arb) and isinstance(y, arb):
        return x.union(y)
    return x if isinstance(x, float) and (x == y or (x != x and y != y)) else _ANYTHING


def _add(x: Any, y: Any) -> Any:
    if isinstance(x, arb) and isinstance(y, arb):
        return x + y
    return _with_special(lambda a, b: a + b, x, y)


def _multiply(x: Any, y: Any) -> Any:
    if isinstance(x, arb) and isinstance(y, arb):
        return x * y
    return _with_special(lambda a, b: a * b, x, y)


def _larger(x: Any, y: Any) -> Any:
    if isinstance(x, arb) and isinstance(y, arb):
        return x.max(y)
    return _with_special(lambda a, b: math.nan if a != a or b != b else max(a, b), x, y)


def _with_special(function: Callable[[float, float], float], x: Any, y: Any) -> Any:
    """At least one operand is inf or NaN; the other counts by sign, or by its own ball where it wins."""
    a, b = (v if isinstance(v, float) else 0.0 if v.is_zero() else _sign_only(v) for v in (x, y))
    if a is None or b is None:
        return math.nan if (a != a or b != b) else _ANYTHING
    value = function(a, b)
    if math.isinf(value) or math.isnan(value):
        return value
    return y if isinstance(x, float) else x


def _matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = np.broadcast_to(a, lead + a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = np.broadcast_to(b, lead + b.shape[-2:]).reshape(-1, *b.shape[-2:])
    planes = [_one_product(x, y) for x, y in zip(left, right, strict=True)]
    return np.array(planes, object).reshape(*lead, a.shape[-2], b.shape[-1])


def _one_product(a: np.ndarray, b: np.ndarray) -> list[Any]:
    if any(isinstance(v, float) for v in (*a.ravel(), *b.ravel())):
        return [functools.reduce(_add, map(_multiply, row, column), arb(0)) for row in a for column in b.T]
    product = flint.arb_mat(a.tolist()) * flint.arb_mat(b.tolist())
    return list(product.entries())


def _objects(values: np.ndarray, convert: Callable[[Any], Any]) -> np.ndarray:
    result = np.empty(np.shape(values), object)
    result.ravel()[:] = [convert(v) for v in np.asarray(values).ravel().tolist()]
    return result


def _scalar(value: Any) -> np.ndarray:
    result = np.empty((), object)
    result[()] = value
    return result


def _mapped(function: Callable[..., Any], *planes: np.ndarray) -> np.ndarray:
    arrays = np.broadcast_arrays(*planes)
    result = np.empty(arrays[0].shape, object)
    result.ravel()[:] = [function(*values) for values in zip(*(a.ravel() for a in arrays), strict=True)]
    return result


def _rows(function: Callable[[Any], Any], plane: np.ndarray) -> np.ndarray:
    result = np.empty(plane.shape[:-1], object)
    result.ravel()[:] = [function(row) for row in plane.reshape(math.prod(plane.shape[:-1]), plane.shape[-1])]
    return result
