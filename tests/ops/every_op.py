"""Every op of the registry on every machine against mpmath: what is counted in docs/ops-table.md.

Elementwise rows at special, boundary and random values of each float format; the others on small tensors with specials
among them. The truth is mpmath at 1,200 bits. A device holds it rounded once (profile ieee-exact: sums and products of
matrices too), prod and cumsum rounded at every step; a reference machine's radius contains it. An op without a case
here is an error: adding a row without saying how it is checked fails.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

from precdiff import ops
from precdiff.device import get_profile
from precdiff.formats import FORMATS, get_format
from precdiff.machine import BallMachine, DoubleDoubleMachine, EmulatedMachine, IntervalMachine, MpMachine
from precdiff.ops import OPS, Elementwise
from precdiff.ops.convolution import unfold_row
from precdiff.rounding import Rounding, round_array, round_exact
from tests.machine.containment import contains
from tests.machine.truth import same
from tests.ops.points import edge_operands, random_operands

FLOATS = [name for name, row in FORMATS.items() if row.is_float]
INTEGERS = ["i8", "u8", "i16", "u16", "i32", "u32", "i64"]
BITS = 1200
#: exponents no format tells apart
FAR = 5000


@dataclass
class Count:
    """Cases of an op on a machine, and how many were wrong; the first wrong one is kept."""

    cases: int = 0
    wrong: int = 0
    first: Any = None

    def add(self, right: np.ndarray, describe: Callable[[int], Any]) -> None:
        self.cases += right.size
        bad = np.flatnonzero(~right)
        self.wrong += bad.size
        if bad.size and self.first is None:
            self.first = describe(int(bad[0]))


@dataclass(frozen=True)
class Case:
    """`shapes` of the float operands; `call` runs the op; `stepwise` rounds at every step.

    What runs before the op is exact in its format, so the whole is rounded once: cast gets 13/16 of x, ties among them.
    """

    shapes: tuple[tuple[int, ...], ...]
    call: Callable[..., Any]
    formats: tuple[str, ...] = tuple(FLOATS)
    stepwise: Callable[[np.ndarray, Rounding], np.ndarray] | None = None


def index(machine, *values):
    return machine.tensor(np.array(values, np.int32), get_format("i32"))


def _steps(combine):
    def stepwise(x, rounding):
        total, found = x[..., 0].copy(), [x[..., 0]]
        for column in np.moveaxis(x, -1, 0)[1:]:
            total = _rounded(np.vectorize(_exactly(combine), otypes=[object])(total, column), rounding)
            found.append(total)
        return np.stack(found, -1)

    return stepwise


def _exactly(combine):
    """On rationals; where the result is 0 or an operand special, Python's floats give its sign (mpmath has no -0)."""

    def value(x, y):
        x, y = float(x), float(y)
        finite = math.isfinite(x) and math.isfinite(y)
        return (finite and combine(Fraction(x), Fraction(y))) or combine(x, y)

    return value


def _choice(x, y):
    return ops.where(x > y, x, y)


#: ops that are not elementwise
CASES = {
    "sum": Case(((5, 9),), lambda x: ops.sum_(x, axis=-1)),
    "max": Case(((5, 9),), lambda x: ops.max_(x, axis=-1)),
    "min": Case(((5, 9),), lambda x: ops.min_(x, axis=-1)),
    "matmul": Case(((3, 6), (6, 4)), ops.matmul),
    "prod": Case(((5, 4),), lambda x: ops.prod(x, axis=-1),
                 stepwise=lambda x, r: _steps(lambda a, b: a * b)(x, r)[..., -1]),
    "cumsum": Case(((5, 6),), lambda x: ops.cumsum(x, axis=-1), stepwise=_steps(lambda a, b: a + b)),
    "where": Case(((7, 5), (7, 5)), _choice),
    "sort": Case(((5, 9),), lambda x: ops.sort(x, axis=-1)),
    "argsort": Case(((5, 9),), lambda x: ops.argsort(x, axis=-1)),
    "argmax": Case(((5, 9),), lambda x: ops.argmax(x, axis=-1)),
    "take": Case(((5, 3),), lambda x: ops.take(x, index(x.machine, 4, 0, -1))),
    "take_along": Case(((4, 3),), lambda x: ops.take_along(x, index(x.machine, [2], [1], [0], [2]), axis=1)),
    "scatter": Case(((5, 3), (2, 3)), lambda x, v: ops.scatter(x, index(x.machine, 3, 1), v)),
    "scatter_along": Case(((2, 4),), lambda x: ops.topk(x, 2, axis=-1)[0] + 0.0 * ops.sort(x, axis=-1)[:, :2]),
    "getitem": Case(((5, 3),), lambda x: x[1:4, ::2]),
    "update": Case(((5, 3), (3,)), lambda x, v: ops.update(x, 2, v)),
    "reshape": Case(((4, 6),), lambda x: x.reshape(3, 8)),
    "transpose": Case(((4, 6),), lambda x: x.transpose()),
    "broadcast_to": Case(((1, 6),), lambda x: ops.broadcast_to(x, (3, 6))),
    "detach": Case(((4, 6),), ops.detach),
    "concatenate": Case(((4, 6), (2, 6)), lambda x, y: ops.concatenate([x, y], axis=0)),
    "unfold": Case(((1, 2, 4, 4),), lambda x: unfold_row(x, window=[2, 2], stride=[1, 1])),
    "decide": Case(((1,),), lambda x: -x if ops.decide((x < 0.0) | (x >= 0.0)) else x),
    "constant": Case(((1,),), lambda x: x.machine.constant(0.1, x.format) + 0.0 * ops.clip(x, 0.0, 0.0)),
    "cast": Case(((4, 6),), lambda x: ops.cast(ops.cast(x, "fp64") * 0.8125, x.format)),
    "bitcast": Case(((4, 6),), lambda x: ops.bitcast(ops.bitcast(x, "u32"), "fp32"), formats=("fp32",)),
}  # fmt: skip


def machines():
    """The reference machines, by name."""
    return {"interval": IntervalMachine(), "double-double": DoubleDoubleMachine(), "ball": BallMachine(128)}


def count(name: str, points: int) -> dict[str, Count]:
    """The counts of an op by machine."""
    if isinstance(OPS[name], Elementwise):
        return _elementwise(name, points)
    return _integers(name, points) if name not in CASES else _structured(name, CASES[name])


def _elementwise(name, points):
    found = {machine: Count() for machine in ("device", *machines())}
    for fmt in FLOATS:
        arrays = operands(name, fmt, points)
        _check(found, fmt, arrays, OPS[name], lambda i, a=arrays, f=fmt: (f, [float(x[i]) for x in a]))
    return found


def operands(name, fmt, points):
    """Half edges and half random tuples, rounded to the format."""
    rng = np.random.default_rng([points, len(name)])
    edges = edge_operands(name)
    chosen = rng.choice(edges[0].size, min(points // 2, edges[0].size), replace=False)
    drawn = random_operands(name, points - chosen.size, rng)
    both = [np.concatenate([e[chosen], d]) for e, d in zip(edges, drawn, strict=True)]
    with np.errstate(all="ignore"):
        return [round_array(a, Rounding(fmt, overflow="saturate")) for a in both]


def _structured(name, case):
    found = {machine: Count() for machine in ("device", *machines())}
    for fmt in case.formats:
        arrays = [_unruly(shape, fmt, i) for i, shape in enumerate(case.shapes)]
        _check(found, fmt, arrays, case.call, lambda i, f=fmt: (f, i), case.stepwise)
    return found


def _unruly(shape, fmt, seed):
    """Small numbers with ties, zeros of both signs, and now and then an infinity or a NaN."""
    rng = np.random.default_rng([seed, len(fmt)])
    x = rng.normal(0, 1, shape) * 4.0 ** rng.integers(-2, 2, shape)
    x = np.where(rng.random(shape) < 0.2, rng.choice([0.0, -0.0, 1.0, 1.0, -1.0], shape), x)
    x = np.where(rng.random(shape) < 0.03, rng.choice([np.inf, -np.inf, np.nan], shape), x)
    with np.errstate(all="ignore"):
        return round_array(x, Rounding(fmt, overflow="saturate"))


def _check(found, fmt, arrays, call, describe, stepwise=None):
    row = get_format(fmt)
    truth = _on(MpMachine(BITS), call, arrays, row)
    with np.errstate(all="ignore"):
        device = _on(EmulatedMachine(get_profile("ieee-exact")), call, arrays, row)
        expected = stepwise(arrays[0], Rounding(fmt)) if stepwise else _declared(truth.planes[0], device.format)
        actual = np.asarray(device.planes[0], np.float64)
        right = same(actual, expected)
    found["device"].add(np.ravel(right), describe)
    for name, machine in machines().items():
        result = _on(machine, call, arrays, row)
        found[name].add(np.ravel(contains(machine.reals(result), truth.planes[0])), describe)


def _on(machine, call, arrays, row):
    return call(*(machine.tensor(a, row) for a in arrays))


def _declared(truth, format):
    """The true values in the result's format: rounded once, or as they are where they are no floats."""
    if not format.is_float:
        return np.vectorize(float, otypes=[np.float64])(truth)
    return _rounded(truth, Rounding(format))


def _rounded(truth, rounding):
    flat = [round_exact(_fraction(v), rounding) for v in np.ravel(truth)]
    return np.array(flat, np.float64).reshape(np.shape(truth))


def _fraction(value):
    """A Fraction, or a number of mpmath, for round_exact; what lies beyond every format ends at 2^5000 and 2^-5000."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | bool) or not mpmath.isfinite(value) or value == 0:
        return float(value)
    sign, mantissa, exponent, size = value._mpf_
    if abs(exponent + size) > FAR:
        return Fraction(-1 if sign else 1) * Fraction(2) ** (FAR if exponent > 0 else -FAR)
    return Fraction(-mantissa if sign else mantissa) * Fraction(2) ** exponent


#: ops of integers -> numpy's own, on arrays of the format
OF_INTEGERS = {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_not": np.bitwise_not, "floor_divide": np.floor_divide, "floor_mod": np.remainder,
    "shift_left": np.left_shift, "shift_right": np.right_shift,
}  # fmt: skip


def _integers(name, points):
    function = OF_INTEGERS[name]
    used = {"device": EmulatedMachine(get_profile("ieee")), **machines(), "mpmath": MpMachine()}
    found = {machine: Count() for machine in used}
    for fmt in INTEGERS:
        row, rng = get_format(fmt), np.random.default_rng(points)
        low, high = row.integer_range
        ends = np.array([low, low + 1, 0, 1, high - 1, high], row.carrier)
        arrays = [np.concatenate([rng.permutation(ends), rng.integers(low, high, points, row.carrier, endpoint=True)])
                  for _ in range(function.nin)]  # fmt: skip
        if name.startswith("shift"):
            arrays[1] = (arrays[1] % row.bits).astype(row.carrier)
        with np.errstate(all="ignore"):
            expected = function(*arrays)
        with mpmath.workprec(80):
            truth = np.vectorize(lambda v: mpmath.mpf(int(v)), otypes=[object])(expected)
        for machine, made in used.items():
            result = _on(made, OPS[name], arrays, row)
            right = result.planes[0] == expected if machine == "device" else contains(made.reals(result), truth)
            found[machine].add(np.ravel(right), lambda i, a=arrays, f=fmt: (f, [x[i] for x in a]))
    return found
