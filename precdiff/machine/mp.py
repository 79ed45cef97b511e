"""MpMachine: mpmath at `bits` bits: the definition of truth. Every row names its mpmath function; sums are exact.

Elements are mpf (with mpmath's inf and nan), bool, or the float -0.0, which mpmath lacks: at zeros and poles the row's
host function gives the sign, as IEEE 754 does. Rounding is to nearest with unbounded exponent, so at p bits this
is also the number system "precision p, no exponent limits" by which a replay proves overflow and underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from precdiff.formats import Format
from precdiff.machine.ball_number import FAR
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.objects import mapped, rows, scalar
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding import Rounding, round_exact, round_integer_exact


class MpMachine(Machine):
    """Numbers of `bits` bits; `casts` as in IntervalMachine. Results carry no radius: they define the truth."""

    name = "mpmath"

    def __init__(self, bits: int = 240, casts: str = "ignored") -> None:
        self.bits = bits
        self.casts = casts
        self.context = mpmath.MPContext()
        self.context.prec = bits

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        exact = self._exact if format.kind != "bool" else bool
        return (mapped(exact, np.asarray(values)),)

    def _exact(self, value: Any) -> Any:
        """The number itself, not rounded to `bits`."""
        if value == 0 and np.signbit(value):
            return -0.0
        with self.context.workprec(1100):
            return self.context.mpf(int(value) if isinstance(value, np.integer) else float(value))

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        text = params.get("text")
        if not text:
            return (scalar(self.context.mpf(params["value"])),)
        ratio = Fraction(text)
        return (scalar(self.context.mpf(ratio.numerator) / ratio.denominator),)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        return (mapped(lambda *args: self._apply(op, args), *(t.planes[0] for t in inputs)),)

    def _apply(self, op: Elementwise, args: Sequence[Any]) -> Any:
        try:
            value = op.mp(self.context, *(args if op.at_specials else map(self._number, args)))
        except ZeroDivisionError:
            value = None
        if isinstance(value, bool) or (value is not None and value != 0 and not self.context.isinf(value)):
            return value
        if value is not None and all(a and self.context.isfinite(a) for a in args):
            return value
        # beside a zero or an infinity: the sign of a zero or a pole is IEEE's, which the host knows
        with np.errstate(all="ignore"):
            plain = float(op.host(*map(_point, args)))
        agrees = value is None or (value == 0 and plain == 0) or (value != 0 and math.isinf(plain))
        return self._exact(plain) if agrees else value

    def _number(self, value: Any) -> Any:
        """-0.0 is 0, booleans are 0 and 1."""
        return self.context.mpf(value) if isinstance(value, bool | float) else value

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        return (mapped(lambda c, a, b: a if c else b, condition[0], x[0], y[0]),)

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        combine: Callable[[Any], Any] = self.context.fsum if op.kind == "sum" else self._largest
        return (rows(lambda row: combine(list(row)), x.planes[0]),)

    def _largest(self, row: list[Any]) -> Any:
        return self.context.nan if any(self.context.isnan(v) for v in row) else max(row)

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        a, b = (t.planes[0] for t in inputs[:2])
        left, right = a[..., :, None, :], np.swapaxes(b, -1, -2)[..., None, :, :]
        shape = np.broadcast_shapes(left.shape, right.shape)
        pairs = zip(*(np.broadcast_to(v, shape).reshape(-1, shape[-1]) for v in (left, right)), strict=True)
        product = np.empty(shape[:-1], object)
        product.ravel()[:] = [self.context.fdot(zip(x, y, strict=True)) for x, y in pairs]
        return (product,) if len(inputs) == 2 else (product + inputs[2].planes[0],)

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float and self.casts == "ignored":
            return (mapped(self._number, x.planes[0]),) if x.format.kind == "bool" else x.planes
        if format.kind == "bool":
            return (mapped(lambda v: bool(v != 0), x.planes[0]),)
        rounding = Rounding(format, params.get("mode") or "nearest-even")
        if not format.is_float:
            return (mapped(lambda v: self.context.mpf(round_integer_exact(_exact_value(v), rounding)), x.planes[0]),)
        return (mapped(lambda v: self._exact(round_exact(_exact_value(v), rounding)), x.planes[0]),)

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        """The value where the ends agree; mpmath has no enclosures, so NaN elsewhere."""
        return self.enter(np.where(lo == hi, lo, np.nan), format)

    def reals(self, x: Tensor) -> RealArray:
        table = np.array([self._describe(v) for v in x.planes[0].ravel()], np.float64).reshape(-1, 3)
        hi, lo, kind = (table[:, i].reshape(x.shape) for i in range(3))
        return RealArray(hi, lo, np.zeros(x.shape), kind.astype(np.uint8))

    def _describe(self, value: Any) -> tuple[float, float, int]:
        if isinstance(value, bool):
            return float(value), 0.0, FINITE
        if self.context.isnan(value):
            return 0.0, 0.0, NAN
        if math.isinf(hi := float(value)):
            return 0.0, 0.0, POSITIVE_INFINITY if hi > 0 else NEGATIVE_INFINITY
        return hi, float(value - hi), FINITE


def _exact_value(value: Any) -> Fraction | float:
    """The element as a Fraction, or a float where it is special; sizes no format tells apart end at 2^+-5000."""
    if isinstance(value, bool | float) or not mpmath.isfinite(value):
        return float(value)
    sign, mantissa, exponent, width = value._mpf_
    size = exponent + width
    if mantissa and abs(size) > FAR:
        mantissa, exponent = 1, FAR if size > 0 else -FAR
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


def _point(value: Any) -> np.float64:
    """A number of fp64 on the same side of 0 and of infinity."""
    near = float(value)
    if near == 0 and value != 0:
        return np.float64(math.copysign(5e-324, value))
    largest = float(np.finfo(np.float64).max)
    return np.float64(math.copysign(largest, near) if math.isinf(near) and mpmath.isfinite(value) else near)
