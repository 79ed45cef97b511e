"""IntervalMachine: fp64 arrays (lo, hi), outward rounded, vectorised: the first rung of the certified reference.

Every op's planes contain the true value for every choice of values in its operands' planes; the meaning of the planes
is in ops/enclosure.py. Sums go through math.fsum (correctly rounded); products of matrices through BLAS in
midpoint-radius form with Higham's gamma bound (Rump 1999; Higham, Accuracy and Stability, 3.5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from precdiff.formats import Format, widen
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN, RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.enclosure import Pair, lower, unknown, upper
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding import Rounding, round_array, round_integer


class IntervalMachine(Machine):
    """`casts` "ignored": float casts are the identity (total error); "rounded": they round (storage error)."""

    name = "interval"
    bits = 53

    def __init__(self, casts: str = "ignored") -> None:
        self.casts = casts

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        hi, lo = widen(np.asarray(values))
        if lo is None:
            return hi, hi
        return np.where(lo < 0, np.nextafter(hi, -np.inf), hi), np.where(lo > 0, np.nextafter(hi, np.inf), hi)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        value = np.float64(params["value"])
        if params.get("text") and Fraction(params["text"]) != Fraction(float(value)):
            point = np.asarray(value)
            return lower(point, 0.5), upper(point, 0.5)
        return np.asarray(value), np.asarray(value)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        pairs = np_broadcast([t.planes for t in inputs])
        lo, hi = op.enclose(*pairs)
        if op.result:
            return np.asarray(lo), np.asarray(hi)
        anything = np.any([np.isneginf(p[0]) & np.isposinf(p[1]) for p in pairs], axis=0)
        return unknown((lo, hi), anything)

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        certain, possible = condition
        low, high = np.minimum(x[0], y[0]), np.maximum(x[1], y[1])
        special = ~np.all([np.isfinite(p) for p in np.broadcast_arrays(*x, *y)], axis=0)
        hull = unknown((low, high), special & ~((x[0] == y[0]) & (x[1] == y[1])))
        chosen = [
            np.where(certain == 1.0, a, np.where(possible == 0.0, b, h)) for a, b, h in zip(x, y, hull, strict=True)
        ]
        return chosen[0], chosen[1]

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if op.kind == "max":
            pair = np.max(x.planes[0], axis=-1), np.max(x.planes[1], axis=-1)
            anything = np.any(np.isneginf(x.planes[0]) & np.isposinf(x.planes[1]), axis=-1)
            return unknown(pair, anything & ~np.isnan(pair[0]))
        lo, hi = (_sums(p, side) for p, side in zip(x.planes, (-1, 1), strict=True))
        return unknown((lo, hi), np.isnan(lo) | np.isnan(hi))

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        with np.errstate(all="ignore"):
            product = _midpoint_product(inputs[0].planes, inputs[1].planes)
            if len(inputs) == 3:
                c = inputs[2].planes
                product = lower(product[0] + c[0], 0.5), upper(product[1] + c[1], 0.5)
            bad = ~np.isfinite(product[0]) | ~np.isfinite(product[1])
            return unknown(product, bad)

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float and self.casts == "ignored":
            return x.planes
        rounding = Rounding(format, params.get("mode") or "nearest-even")
        into = round_array if format.is_float else round_integer
        lo, hi = (self.enter(into(p, rounding), format)[side] for side, p in enumerate(x.planes))
        if format.kind == "bool":
            lo = np.where((x.planes[0] <= 0) & (x.planes[1] >= 0), 0.0, lo)
            hi = np.where((x.planes[0] == 0) & (x.planes[1] == 0), 0.0, 1.0)
        return unknown((lo, hi), (np.isnan(lo) != np.isnan(hi)) | (np.isneginf(x.planes[0]) & np.isposinf(x.planes[1])))

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        return np.asarray(lo, np.float64), np.asarray(hi, np.float64)

    def reals(self, x: Tensor) -> RealArray:
        lo, hi = x.planes
        with np.errstate(all="ignore"):
            middle = np.where(lo == hi, lo, lo / 2 + hi / 2)
            radius = np.where(lo == hi, 0.0, np.nextafter(np.maximum(hi - middle, middle - lo), np.inf))
        kind = _kinds(lo, hi, x.format)
        finite = kind == FINITE
        zeros = np.zeros(np.shape(lo))
        return RealArray(np.where(finite, middle, 0.0), zeros, np.where(finite, radius, 0.0), kind)


def _kinds(lo: np.ndarray, hi: np.ndarray, format: Format) -> np.ndarray:
    """Points at infinity and NaN are specials, other infinite ends unknown.

    From fp64's largest number up every narrower format overflows; fp64 itself may not yet.
    """
    point = lo == hi
    overflow = np.finfo(np.float64).max if format.max_finite < np.finfo(np.float64).max else np.inf
    kind = np.full(np.shape(lo), FINITE, np.uint8)
    kind[~np.isfinite(lo) | ~np.isfinite(hi)] = UNKNOWN
    kind[(point & np.isposinf(lo)) | ((lo >= overflow) & np.isposinf(hi))] = POSITIVE_INFINITY
    kind[(point & np.isneginf(lo)) | ((hi <= -overflow) & np.isneginf(lo))] = NEGATIVE_INFINITY
    kind[np.isnan(lo) & np.isnan(hi)] = NAN
    return kind


def np_broadcast(pairs: Sequence[Planes]) -> list[Planes]:
    """The operands' planes, all of one shape."""
    shape = np.broadcast_shapes(*(p[0].shape for p in pairs))
    return [tuple(np.broadcast_to(plane, shape) for plane in planes) for planes in pairs]


def _sums(plane: np.ndarray, side: int) -> np.ndarray:
    """Sums over the last axis, moved one step to `side` unless exact."""
    rows = plane.reshape(math.prod(plane.shape[:-1]), plane.shape[-1])
    result = np.array([_sum(row, side) for row in rows.tolist()], np.float64)
    return result.reshape(plane.shape[:-1])


def _sum(row: list[float], side: int) -> float:
    try:
        total = math.fsum(row)
    except (ValueError, OverflowError):
        return math.nan
    if not math.isfinite(total):
        return math.nan
    rest = math.fsum([*row, -total])
    return total if rest * side <= 0 else math.nextafter(total, side * math.inf)


def _midpoint_product(a: Planes, b: Planes) -> Pair:
    """Bounds of A @ B: midpoints by BLAS, radii by |mA| rB + rA (|mB| + rB) + gamma |mA| |mB|, rounded up."""
    (ma, ra), (mb, rb) = _midpoint(a), _midpoint(b)
    k = ma.shape[-1]
    # gamma_{k+2} of the product itself, and as much again for the rounding of the radius
    gamma = (k + 2) * 2.0**-53 / (1 - (k + 2) * 2.0**-53)
    middle = ma @ mb
    weight = np.abs(ma) @ np.abs(mb)
    if not (ra.any() or rb.any()) and _whole(ma) and _whole(mb) and np.max(weight, initial=0.0) < 2.0**53:
        return middle, middle
    spread = np.abs(ma) @ rb + ra @ (np.abs(mb) + rb) if ra.any() or rb.any() else 0.0
    radius = (weight * gamma + spread) * (1 + 4 * gamma) + (k + 1) * 5e-324
    return middle - radius, middle + radius


def _whole(x: np.ndarray) -> bool:
    """Whether all elements are integers: sums of their products below 2^53 are exact."""
    return bool(np.all(np.isfinite(x)) and np.all(x == np.floor(x)))


def _midpoint(planes: Planes) -> tuple[np.ndarray, np.ndarray]:
    lo, hi = planes
    middle = np.where(lo == hi, lo, lo / 2 + hi / 2)
    return middle, np.where(lo == hi, 0.0, np.nextafter(np.maximum(hi - middle, middle - lo), np.inf))
