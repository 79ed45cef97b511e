"""DoubleDoubleMachine: an fp64 pair hi + lo and a radius, about 106 bits: the second rung.

Arithmetic is Dekker's and Knuth's error-free transforms; every radius contains the operands' radii propagated to first
order and above, plus the pair's own rounding (Joldes, Muller, Popescu 2017: add 3 u^2, multiply 5 u^2, divide 15 u^2,
sqrt 4 u^2 with u = 2^-53; we take 16 u^2 for all), plus an absolute term where products underflow. Rows without a
double-double twin go through balls and come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from precdiff.formats import Format, widen
from precdiff.machine.ball import BallMachine
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN, RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding.error_free import two_product, two_sum

_RELATIVE = 16 * 2.0**-106
_ABSOLUTE = 2.0**-1000
#: what the error-free square of a root loses below 2^-960
_UNDERFLOW = 2.0**-1068
_UP = 1 + 2.0**-50
#: terms of matrix products held at a time
_SLAB = 2**20

Plane = np.ndarray


class DoubleDoubleMachine(Machine):
    """Planes (hi, lo, radius). A special sits in hi with radius 0; radius NaN means "anything"."""

    name = "double-double"
    bits = 106
    signed_zeros = False

    def __init__(self, casts: str = "ignored") -> None:
        self.casts = casts
        self._balls = BallMachine(160, casts)

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        hi, lo = widen(np.asarray(values))
        return hi, np.zeros(hi.shape) if lo is None else lo, np.zeros(hi.shape)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        return self._from_balls(self._balls.literal(params, format), format)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        shape = np.broadcast_shapes(*(t.shape for t in inputs))
        planes = [tuple(np.broadcast_to(p, shape) for p in t.planes) for t in inputs]
        twin = _TWINS.get(op.name)
        if twin is None:
            return self._through_balls(op, [Tensor(p, t.format, self) for p, t in zip(planes, inputs, strict=True)])
        with np.errstate(all="ignore"):
            return _marked(twin(*planes), planes, op.host(*(p[0] for p in planes)))

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        with np.errstate(all="ignore"):
            middle = x[0] / 2 + y[0] / 2
            spread = (np.abs(x[0] - y[0]) + np.abs(x[1]) + np.abs(y[1]) + x[2] + y[2]) * _UP
        hull = middle, np.zeros(np.shape(middle)), np.where(np.isfinite(middle), spread, np.nan)
        return tuple(
            np.where(condition[2] == 0, np.where(condition[0] == 1.0, a, b), h)
            for a, b, h in zip(x, y, hull, strict=True)
        )

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        with np.errstate(all="ignore"):
            return _folded(_add, np.add, x.planes) if op.kind == "sum" else _folded(_maximum, np.maximum, x.planes)

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        a, b = (t.planes for t in inputs[:2])
        lead = np.broadcast_shapes(a[0].shape[:-2], b[0].shape[:-2])
        step = max(1, _SLAB // max(1, math.prod(lead) * b[0].size))
        with np.errstate(all="ignore"):
            slabs = [
                _product(tuple(p[..., i : i + step, :] for p in a), b) for i in range(0, a[0].shape[-2] or 1, step)
            ]
            total = tuple(np.concatenate(planes, axis=-2) for planes in zip(*slabs, strict=True))
            if len(inputs) == 2:
                return total
            c = inputs[2].planes
            return _marked(_add(total, c), [total, c], total[0] + c[0])

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float and self.casts == "ignored":
            return x.planes
        balls = Tensor(self._to_balls(x), x.format, self._balls)
        return self._from_balls(self._balls.convert(balls, params, format), format)

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        with np.errstate(invalid="ignore"):
            middle = np.where(lo == hi, lo, lo / 2 + hi / 2)
            radius = np.where(lo == hi, 0.0, np.abs(hi - lo) * _UP)
        bounded = np.isfinite(lo) & np.isfinite(hi) | (lo == hi) | np.isnan(lo)
        return np.where(bounded, middle, 0.0), np.zeros(np.shape(lo)), np.where(bounded, radius, np.nan)

    def reals(self, x: Tensor) -> RealArray:
        hi, lo, radius = x.planes
        kind = np.full(np.shape(hi), FINITE, np.uint8)
        kind[np.isposinf(hi)], kind[np.isneginf(hi)] = POSITIVE_INFINITY, NEGATIVE_INFINITY
        kind[np.isnan(hi)] = NAN
        kind[~np.isfinite(radius)] = UNKNOWN
        clean = [np.where(kind == FINITE, p, 0.0) for p in (hi, lo, radius)]
        return RealArray(clean[0], clean[1], clean[2], kind)

    def _through_balls(self, op: Elementwise, inputs: Sequence[Tensor]) -> Planes:
        balls = [Tensor(self._to_balls(t), t.format, self._balls) for t in inputs]
        hi, lo, radius = self._from_balls(self._balls.elementwise(op, balls, inputs[0].format), inputs[0].format)
        # the twins do not keep the sign of a zero, so neither that of a pole nor what asks for it is known
        unsure = np.isinf(hi) & np.all([np.isfinite(t.planes[0]) for t in inputs], axis=0)
        if op.at_specials:
            unsure |= np.any([t.planes[0] == 0 for t in inputs], axis=0)
        return hi, lo, np.where(unsure, np.nan, radius)

    def _to_balls(self, x: Tensor) -> Planes:
        return self._balls.of_reals(self.reals(x))

    def _from_balls(self, planes: Planes, format: Format) -> Planes:
        known = self._balls.reals(Tensor(planes, format, self._balls))
        radius = np.where(known.kind == UNKNOWN, np.nan, known.radius)
        hi, lo = two_sum(known.hi, known.lo)
        return np.where(known.kind == FINITE, hi, known.values()), lo, radius


def _marked(result: Planes, operands: Sequence[Planes], plain: Plane) -> Planes:
    """Put specials right: an infinite or NaN operand known exactly gives IEEE's result, `plain` of the leading parts;
    an unknown operand or an overflow gives an unknown one.
    """
    hi, lo, radius = result
    special = ~np.isfinite(hi) | ~np.isfinite(lo)
    known = np.zeros(np.shape(hi), bool)
    certain = np.ones(np.shape(hi), bool)
    for operand in operands:
        known = known | ~np.isfinite(operand[0])
        certain = certain & (operand[2] == 0)
    unsure = special & ~(known & certain)
    return (
        np.where(special, plain, hi),
        np.where(special, 0.0, lo),
        np.where(unsure, np.nan, np.where(special, 0.0, radius)),
    )


def _renormalised(hi: Plane, lo: Plane, radius: Plane) -> Planes:
    high, low = two_sum(hi, lo)
    exact_special = np.isfinite(hi)
    return np.where(exact_special, high, hi), np.where(exact_special, low, 0.0), radius


def _add(x: Planes, y: Planes) -> Planes:
    high, error = two_sum(x[0], y[0])
    low, low_error = two_sum(x[1], y[1])
    high, error = _quick(high, error + low)
    high, error = _quick(high, error + low_error)
    own = np.where((low_error == 0) & (x[1] == 0) & (y[1] == 0), 0.0, _RELATIVE * np.abs(high))
    # cancellation: the pair's error is relative to the operands' low parts, not to the result
    own = own + np.where(own > 0, _RELATIVE * (np.abs(x[1]) + np.abs(y[1])), 0.0)
    return _renormalised(high, error, (x[2] + y[2] + own) * _UP)


def _quick(a: Plane, b: Plane) -> tuple[Plane, Plane]:
    total = a + b
    return total, b - (total - a)


def _subtract(x: Planes, y: Planes) -> Planes:
    return _add(x, _negate(y))


def _negate(x: Planes) -> Planes:
    return -x[0], -x[1], x[2]


def _multiply(x: Planes, y: Planes) -> Planes:
    high, error = two_product(x[0], y[0])
    cross = x[0] * y[1] + x[1] * y[0]
    ax, ay = np.abs(x[0]) + np.abs(x[1]), np.abs(y[0]) + np.abs(y[1])
    plain = (x[1] == 0) & (y[1] == 0) & ((np.abs(high) > 2.0**-960) | (x[0] == 0) | (y[0] == 0))
    # the products of radii may underflow, too
    exact = plain & (x[2] == 0) & (y[2] == 0)
    own = np.where(exact, 0.0, _RELATIVE * (ax * ay) + _ABSOLUTE)
    radius = ax * y[2] + ay * x[2] + x[2] * y[2] + own
    return _renormalised(high, error + cross, radius * _UP)


def _divide(x: Planes, y: Planes) -> Planes:
    """q = x0/y0 corrected by the remainder x - q y, all in pairs; needs a divisor ball away from 0."""
    size = np.abs(y[0]) - np.abs(y[1]) - y[2]
    first = x[0] / y[0]
    zero = np.zeros(np.shape(first))
    rest = _subtract(x, _multiply((first, zero, zero), (y[0], y[1], zero)))
    quotient = _quick(first, (rest[0] + rest[1]) / y[0])
    magnitude = np.abs(quotient[0]) + np.abs(quotient[1])
    radius = (x[2] + magnitude * y[2]) / size + _RELATIVE * magnitude + _ABSOLUTE / size + _ABSOLUTE
    return quotient[0], quotient[1], np.where(size > 0, radius * _UP, np.where(y[2] == 0, 0.0, np.nan))


def _sqrt(x: Planes) -> Planes:
    root = np.sqrt(x[0])
    zero = np.zeros(np.shape(root))
    square = _multiply((root, zero, zero), (root, zero, zero))
    rest = _subtract((x[0], x[1], zero), square)
    low = np.where(root > 0, (rest[0] + rest[1]) / (2 * root), 0.0)
    floor = x[0] - np.abs(x[1]) - x[2]
    radius = np.where(x[2] == 0, 0.0, x[2] / np.sqrt(np.maximum(floor, 0.0))) + _RELATIVE * root + _UNDERFLOW / root
    exact_zero = (x[0] == 0) & (x[2] == 0)
    unsure = (floor <= 0) & (x[2] > 0)
    return root, low, np.where(exact_zero, 0.0, np.where(unsure, np.nan, radius * _UP))


def _fma(x: Planes, y: Planes, z: Planes) -> Planes:
    return _add(_multiply(x, y), z)


def _product(a: Planes, b: Planes) -> Planes:
    """The matrix product, all terms side by side."""
    x = tuple(p[..., :, None, :] for p in a)
    y = tuple(np.swapaxes(p, -1, -2)[..., None, :, :] for p in b)
    return _folded(_add, np.add, _marked(_multiply(x, y), [x, y], x[0] * y[0]))


def _absolute(x: Planes) -> Planes:
    return np.abs(x[0]), np.where(x[0] < 0, -x[1], x[1]), x[2]


def _maximum(x: Planes, y: Planes) -> Planes:
    """The larger where the balls are apart; otherwise the hull's middle with a radius that covers both."""
    larger = (x[0] > y[0]) | ((x[0] == y[0]) & (x[1] >= y[1])) | np.isnan(x[0])
    larger = larger & ~np.isnan(y[0])
    chosen = tuple(np.where(larger, a, b) for a, b in zip(x, y, strict=True))
    # both balls' uncertainty: |max(a, b) - max(a', b')| <= max(|a - a'|, |b - b'|)
    return chosen[0], chosen[1], np.maximum(x[2], y[2])


def _minimum(x: Planes, y: Planes) -> Planes:
    return _negate(_maximum(_negate(x), _negate(y)))


def _folded(fold: Callable[[Planes, Planes], Planes], plain: Callable[..., Plane], planes: Planes) -> Planes:
    """Fold the last axis by halves: log2(n) vectorised levels."""
    if planes[0].shape[-1] == 0:
        zeros = np.zeros(planes[0].shape[:-1])
        return zeros, zeros, zeros
    while (n := planes[0].shape[-1]) > 1:
        half = n // 2
        left = tuple(p[..., :half] for p in planes)
        right = tuple(p[..., half : 2 * half] for p in planes)
        folded = _marked(fold(left, right), [left, right], plain(left[0], right[0]))
        planes = tuple(np.concatenate([f, p[..., 2 * half :]], axis=-1) for f, p in zip(folded, planes, strict=True))
    return tuple(p[..., 0] for p in planes)


_TWINS: dict[str, Callable[..., Planes]] = {
    "add": _add, "sub": _subtract, "mul": _multiply, "div": _divide, "fma": _fma, "sqrt": _sqrt, "neg": _negate,
    "abs": _absolute, "maximum": _maximum, "minimum": _minimum,
}  # fmt: skip
