"""BallMachine: python-flint balls, rigorous at any precision: the third rung, and what settles a doubtful rounding.

Elements and ops on them are in ball_number.py; this file knows arrays and precisions. Source: Johansson, Arb (2017).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from flint import arb

from precdiff.formats import Format
from precdiff.machine import ball_number
from precdiff.machine.machine import Machine, Planes
from precdiff.machine.objects import mapped, objects, rows, scalar
from precdiff.machine.realarray import RealArray
from precdiff.machine.tensor import Tensor
from precdiff.ops.op import Elementwise, Reduction
from precdiff.rounding import Rounding


class BallMachine(Machine):
    """Balls of `bits` bits; `casts` as in IntervalMachine."""

    name = "ball"

    def __init__(self, bits: int = 128, casts: str = "ignored") -> None:
        self.bits = bits
        self.casts = casts

    def enter(self, values: np.ndarray, format: Format) -> Planes:
        return (objects(values, bool if format.kind == "bool" else ball_number.enter_float),)

    def literal(self, params: Mapping[str, Any], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits):
            text = params.get("text")
            number = ball_number.ratio(Fraction(text)) if text else ball_number.enter_float(params["value"])
        return (scalar(number),)

    def elementwise(self, op: Elementwise, inputs: Sequence[Tensor], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits), np.errstate(all="ignore"):
            return (mapped(functools.partial(ball_number.evaluate, op), *(t.planes[0] for t in inputs)),)

    def select(self, condition: Planes, x: Planes, y: Planes) -> Planes:
        with flint.ctx.workprec(self.bits):
            return (mapped(ball_number.choose, condition[0], x[0], y[0]),)

    def reduce(self, op: Reduction, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        step = ball_number.add if op.kind == "sum" else ball_number.larger
        with flint.ctx.workprec(self.bits):
            return (rows(lambda row: functools.reduce(step, row) if len(row) else arb(0), x.planes[0]),)

    def contract(self, inputs: Sequence[Tensor], params: Mapping[str, Any], format: Format) -> Planes:
        with flint.ctx.workprec(self.bits):
            product = _matrix_product(inputs[0].planes[0], inputs[1].planes[0])
            return (product,) if len(inputs) == 2 else (mapped(ball_number.add, product, inputs[2].planes[0]),)

    def convert(self, x: Tensor, params: Mapping[str, Any], format: Format) -> Planes:
        if format.is_float and self.casts == "ignored":
            return (mapped(ball_number.real, x.planes[0]),) if x.format.kind == "bool" else x.planes
        rounding = Rounding(format, params.get("mode") or "nearest-even")
        with flint.ctx.workprec(max(self.bits, 64)):
            return (mapped(lambda v: ball_number.round_number(v, rounding), x.planes[0]),)

    def of_reals(self, known: RealArray) -> Planes:
        """Balls holding the given reals."""
        columns = (known.hi, known.lo, known.radius, known.kind)
        with flint.ctx.workprec(max(self.bits, 2200)):
            return (mapped(ball_number.from_pair, *columns),)

    def hull(self, lo: np.ndarray, hi: np.ndarray, format: Format) -> Planes:
        return (mapped(ball_number.hull, np.asarray(lo, np.float64), np.asarray(hi, np.float64)),)

    def reals(self, x: Tensor) -> RealArray:
        with flint.ctx.workprec(self.bits + 64):
            columns = [ball_number.describe(v) for v in x.planes[0].ravel()]
        table = np.array(columns, np.float64).reshape(-1, 4)
        hi, lo, radius, kind = (table[:, i].reshape(x.shape) for i in range(4))
        return RealArray(hi, lo, radius, kind.astype(np.uint8))

    def rounded(
        self, x: Tensor, rounding: Rounding, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        # fp64's range is too small for the radius of what fp64's own smallest numbers are made of
        values, decided = (np.array(plane) for plane in super().rounded(x, rounding, rng))
        for index in map(tuple, np.argwhere(~decided)) if rounding.format.is_float else ():
            ends = ball_number.rounded_ends(x.planes[0][index], rounding)
            if ends is not None and ends[0] == ends[1]:
                values[index], decided[index] = ends[0], True
        return values, decided


def _matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    left = np.broadcast_to(a, lead + a.shape[-2:]).reshape(-1, *a.shape[-2:])
    right = np.broadcast_to(b, lead + b.shape[-2:]).reshape(-1, *b.shape[-2:])
    planes = [_one_product(x, y) for x, y in zip(left, right, strict=True)]
    return np.array(planes, object).reshape(*lead, a.shape[-2], b.shape[-1])


def _one_product(a: np.ndarray, b: np.ndarray) -> list[Any]:
    if any(isinstance(v, float) and v != 0 for v in (*a.ravel(), *b.ravel())):
        return [_dot(row, column) for row in a for column in b.T]
    product = flint.arb_mat(mapped(ball_number.real, a).tolist()) * flint.arb_mat(mapped(ball_number.real, b).tolist())
    return list(product.entries())


def _dot(row: np.ndarray, column: np.ndarray) -> Any:
    return functools.reduce(ball_number.add, map(ball_number.multiply, row, column), arb(0))
