"""Running error analysis: how large the error of a formula's own rounding may be, element by element, to first order.

Every tensor carries its value in fp64 and a bound on the error a device makes that computes the formula step by step
with unit roundoff u, and adds up with unit roundoff v (Wilkinson 1963; Higham, Accuracy and Stability, 2002, 3.3):

    y = f(x1 .. xn)         err y = sum_i |d f / d x_i| err x_i + u |y|
    sums and products       err y = sum err of the terms + min(gamma_n, 6 sqrt(n) v) sum |terms| + u |y|

Derivatives are the rows' own. It is what a call may legitimately be off by whose device nobody described: the noise
of a composite such as layer_norm, whose ULP error is unbounded where it cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.formats import Format, get_format, widen
from precdiff.machine import HostMachine, Machine, RealArray, Tensor
from precdiff.machine.machine import Planes
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY
from precdiff.ops import Elementwise, Reduction
from precdiff.reference.accumulation import factor
from precdiff.rounding import Rounding, round_array, round_integer

_WIDE = get_format("fp64")


class RunningMachine(Machine):
    """Planes (value, bound of its error); steps round in `unit`, sums add up in `adder`. Float casts are ignored."""

    name = "running"

    def __init__(self, unit: Format, adder: Format) -> None:
        self._unit, self._adder = unit, adder
        self._host = HostMachine()

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        hi, _ = widen(np.asarray(values))
        return hi, np.zeros(hi.shape)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        value = np.asarray(np.float64(params["value"]))
        return value, self._unit.u * np.abs(value)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        arrays = [t.planes[0] for t in inputs]
        with np.errstate(all="ignore"):
            value = np.asarray(op.host(*arrays), np.float64)
            if op.result:
                return value, np.zeros(value.shape)
            # an ulp is at most 2 u |y|; functions are not rounded correctly: the row says how far off a device may be
            ulps = op.allowance if op.rounded is None else 0.5
            own = np.zeros(value.shape) if op.exact else 2 * ulps * self._rounding(value)
            return value, _finite(own + self._carried(op, inputs, value))

    def _rounding(self, value: np.ndarray) -> np.ndarray:
        return np.asarray(self._unit.u * np.abs(value) + self._unit.min_subnormal)

    def _carried(self, op: Elementwise, inputs: Sequence[Tensor], value: np.ndarray) -> np.ndarray:
        """sum |partial derivative| err, each partial broadcast to the result."""
        carried = np.zeros(value.shape)
        if op.vjp is None or not any(t.planes[1].any() for t in inputs):
            return carried
        operands = [self._host.tensor(np.broadcast_to(t.planes[0], value.shape).copy(), _WIDE) for t in inputs]
        one, result = (self._host.tensor(x, _WIDE) for x in (np.ones(value.shape), value))
        for partial, t in zip(op.vjp(one, result, *operands), inputs, strict=True):
            if partial is not None:
                carried = carried + _finite(np.abs(partial.planes[0])) * t.planes[1]
        return carried

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        first, second = (np.where(condition[0] != 0, a, b) for a, b in zip(x, y, strict=True))
        return first, second

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        value, error = x.planes
        with np.errstate(all="ignore"):
            if op.kind != "sum":
                return np.max(value, axis=-1), np.max(error, axis=-1)
            total, terms = np.sum(value, axis=-1), np.sum(np.abs(value), axis=-1)
            carried = np.sum(error, axis=-1) + self._factor(value.shape[-1]) * terms
            return total, _finite(carried + self._rounding(total))

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        (a, ea), (b, eb) = (t.planes for t in inputs[:2])
        with np.errstate(all="ignore"):
            product, terms = a @ b, np.abs(a) @ np.abs(b)
            error = self._factor(a.shape[-1] + len(inputs) - 2) * terms + np.abs(a) @ eb + ea @ np.abs(b)
            if len(inputs) == 3:
                product, error = product + inputs[2].planes[0], error + inputs[2].planes[1]
            return product, _finite(error + self._rounding(product))

    def _factor(self, n: int) -> float:
        return float(factor(np.asarray(float(n)), self._adder.u))

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float:
            return x.planes
        into = round_integer if format.kind != "bool" else round_array
        rounding = Rounding(format, params.get("mode") or "nearest-even")
        return self.enter(into(x.planes[0], rounding), format)

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        value = np.where(np.isfinite(lo), lo, hi)
        return np.asarray(value, np.float64), np.zeros(np.shape(lo))

    def reals(self, x: Tensor) -> RealArray:
        value, _ = x.planes
        kind = np.full(value.shape, FINITE, np.uint8)
        kind[np.isposinf(value)], kind[np.isneginf(value)], kind[np.isnan(value)] = (
            POSITIVE_INFINITY, NEGATIVE_INFINITY, NAN,
        )  # fmt: skip
        zeros = np.zeros(value.shape)
        return RealArray(np.where(kind == FINITE, value, 0.0), zeros, zeros, kind)


def _finite(error: np.ndarray) -> np.ndarray:
    """Where the derivative or the value is no number there is no first-order bound: infinity, never NaN."""
    return np.where(np.isnan(error), np.inf, error)
