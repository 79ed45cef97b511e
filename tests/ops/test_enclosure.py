"""Interval twins contain every value of their function, and say "anything" where a pole or a NaN is possible."""

import math

import flint
import numpy as np
import pytest
from flint import arb

from precdiff.machine.ball_number import enter_float, evaluate
from tests.ops.points import ARITY, NUMERIC, ROWS, edge_operands, random_operands

INF, NAN = math.inf, math.nan
ANYTHING = (-INF, INF)
LARGEST = float(np.finfo(np.float64).max)


def contains(lo, hi, value):
    """The meaning of a pair (ops/enclosure.py), for one exact value: an arb, or a float for inf, -inf, NaN and -0.0."""
    if (lo, hi) == ANYTHING:
        return True
    if isinstance(value, float) and value != 0:
        if value != value:
            return lo != lo and hi != hi
        return bool(lo == hi == value)
    exact = arb(0) if isinstance(value, float) else value
    if not exact.is_finite():
        return math.isinf(lo) or math.isinf(hi)  # beyond flint's exponents
    return (
        bool(lo <= hi) and not exact < arb(lo) and not exact > arb(hi) and not lo == hi == INF and not lo == hi == -INF
    )


def check(name, pairs, points):
    """The twin at boxes `pairs` contains the function at `points` inside them."""
    op = ROWS[name]
    lo, hi = op.enclose(*pairs)
    with flint.ctx.workprec(160):
        for i in range(len(points[0])):
            args = [float(p[i]) for p in points]
            value = evaluate(op, *map(enter_float, args))
            assert contains(float(lo[i]), float(hi[i]), value), (
                args,
                [(p[0][i], p[1][i]) for p in pairs],
                lo[i],
                hi[i],
            )


@pytest.mark.parametrize("name", NUMERIC)
def test_at_points(name):
    arrays = [
        np.concatenate(p)
        for p in zip(edge_operands(name), random_operands(name, 1000, np.random.default_rng(1)), strict=True)
    ]
    check(name, [(a, a) for a in arrays], arrays)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("width", ["narrow", "wide", "unbounded"])
def test_on_boxes(name, width):
    """Boxes between two random numbers, of a few spacings, or with an infinite end; points are at the ends."""
    rng = np.random.default_rng(ARITY[name])
    first = random_operands(name, 1000, rng)
    if width == "narrow":
        second = [a + rng.integers(0, 4, a.size) * np.spacing(np.abs(a)) for a in first]
    else:
        second = [rng.permutation(a) for a in random_operands(name, 1000, rng)]
    pairs = [(np.minimum(a, b), np.maximum(a, b)) for a, b in zip(first, second, strict=True)]
    inside = [np.where(rng.random(a.size) < 0.5, a, b) for a, b in zip(first, second, strict=True)]
    if width == "unbounded":
        pairs = [
            (np.where(rng.random(lo.size) < 0.3, -INF, lo), np.where(rng.random(lo.size) < 0.3, INF, hi))
            for lo, hi in pairs
        ]
    check(name, pairs, inside)


@pytest.mark.parametrize("name", NUMERIC)
def test_boxes_around_edges(name):
    """Edges with the smallest box around them: it may hold a pole, the end of a domain, an overflow."""
    arrays = edge_operands(name)
    with np.errstate(over="ignore"):
        pairs = [(np.nextafter(a, -INF), np.nextafter(a, INF)) for a in arrays]
    for points in (arrays, [p[0] for p in pairs], [p[1] for p in pairs]):
        finite = np.all([np.isfinite(p) for p in points], axis=0) & np.all([np.isfinite(a) for a in arrays], axis=0)
        check(name, [(lo[finite], hi[finite]) for lo, hi in pairs], [p[finite] for p in points])


UP = (3.0, INF)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("div", [(1.0, 1.0), (-1.0, 1.0)], ANYTHING),
        ("div", [(1.0, 1.0), (0.0, 1.0)], ANYTHING),
        ("div", [(1.0, 1.0), (0.0, 0.0)], (INF, INF)),
        ("div", [(1.0, 1.0), (-0.0, -0.0)], (-INF, -INF)),
        ("div", [(0.0, 0.0), (0.0, 0.0)], (NAN, NAN)),
        ("div", [(0.0, 0.0), (-2.0, -1.0)], (-0.0, -0.0)),
        ("div", [(0.0, 1e-300), (-1e300, -1e300)], (-1e-323, 0.0)),
        ("div", [(1.0, 1.0), UP], (-1e-323, 1 / 3 + 2.0**-53)),
        ("div", [(1.0, 2.0), (-0.0, -0.0)], (-INF, -INF)), ("div", [(1.0, 1.0), (-0.0, 0.0)], ANYTHING),
        ("reciprocal", [(-0.0, 0.0)], ANYTHING),
        ("reciprocal", [(-1.0, 1.0)], ANYTHING),
        ("reciprocal", [(-0.0, -0.0)], (-INF, -INF)),
        ("log", [(0.0, 0.0)], (-INF, -INF)),
        ("log", [(0.0, 1.0)], ANYTHING),
        ("log", [(-1.0, 1.0)], ANYTHING),
        ("log", [(-2.0, -1.0)], (NAN, NAN)),
        ("log1p", [(-1.0, 0.0)], ANYTHING),
        ("sqrt", [(-1e-30, 1.0)], ANYTHING),
        ("rsqrt", [(0.0, 1.0)], ANYTHING),
        ("rsqrt", [(0.0, 0.0)], (INF, INF)),
        ("power", [(0.0, 1.0), (0.5, 0.5)], ANYTHING),
        ("power", [(0.0, 0.0), (-3.0, -3.0)], (INF, INF)),
        ("power", [(-0.0, -0.0), (-3.0, -3.0)], (-INF, -INF)),
        ("power", [(-8.0, -8.0), (0.5, 0.5)], (NAN, NAN)),
        ("power", [(-8.0, -7.0), (3.0, 3.0)], ANYTHING),
        ("exp", [(710.0, 710.0)], (LARGEST, INF)),
        ("exp", [(INF, INF)], (INF, INF)),
        ("exp", [(-INF, -INF)], (0.0, 0.0)),
        ("mul", [(1e200, 1e200), (1e200, 1e200)], (LARGEST, INF)),
        ("mul", [(-1e200, -1e200), (1e200, 1e200)], (-INF, -LARGEST)),
        ("mul", [(0.0, 0.0), UP], (0.0, 0.0)),
        ("mul", [(0.0, 1.0), UP], (0.0, INF)),
        ("mul", [(0.0, 0.0), (INF, INF)], (NAN, NAN)),
        ("mul", [(-1.0, 1.0), (INF, INF)], ANYTHING),
        ("mul", [(-0.0, -0.0), (2.0, 2.0)], (-0.0, -0.0)),
        ("add", [UP, (-INF, -3.0)], ANYTHING),
        ("add", [(INF, INF), (-1.0, 1.0)], (INF, INF)),
        ("add", [(INF, INF), (-INF, -INF)], (NAN, NAN)),
        ("add", [(INF, INF), (-INF, 5.0)], ANYTHING),
        ("add", [(-INF, -INF), (-INF, 5.0)], (-INF, -INF)),
        ("mul", [(INF, INF), (-3.0, -2.0)], (-INF, -INF)),
        ("mul", [(-0.0, -0.0), (2.0, 3.0)], (-0.0, -0.0)),
        ("div", [(-INF, -INF), (2.0, 3.0)], (-INF, -INF)),
        ("div", [(2.0, 3.0), (-INF, -INF)], (-0.0, -0.0)),
        ("div", [(-0.0, -0.0), (2.0, 3.0)], (-0.0, -0.0)),
        ("power", [(INF, INF), (2.0, 3.0)], (INF, INF)),
        ("power", [(2.0, 3.0), (-INF, -INF)], (0.0, 0.0)),
        ("power", [(0.5, 2.0), (INF, INF)], ANYTHING),
        ("add", [(LARGEST, LARGEST), (LARGEST, LARGEST)], (LARGEST, INF)),
        ("add", [(0.5, 0.5), (0.25, 0.25)], (0.75, 0.75)),
        ("maximum", [(-0.0, -0.0), (0.0, 0.0)], (0.0, 0.0)),
        ("minimum", [(-1.0, 2.0), (0.0, 3.0)], (-1.0, 2.0)),
        ("abs", [(-3.0, 2.0)], (0.0, 3.0)),
        ("floor", [(0.9999, 1.0)], (0.0, 1.0)),
        ("tanh", [UP], (math.tanh(3) - 6e-16, 1.0)),
    ],
)  # fmt: skip
def test_by_hand(name, operands, expected):
    lo, hi = ROWS[name].enclose(*((np.float64(a), np.float64(b)) for a, b in operands))
    if name in ("div", "tanh") and expected[0] not in (expected[1], -INF) and expected != ANYTHING:
        assert expected[0] <= lo <= hi <= expected[1]
        return
    np.testing.assert_equal((float(lo), float(hi)), expected)
    assert np.signbit(lo) == np.signbit(expected[0]) or np.isnan(lo)


@pytest.mark.parametrize("name", NUMERIC)
def test_exact_results_stay_points(name):
    """What needs no rounding is not widened: + - * and the exact rows on small integers."""
    if name not in ("add", "sub", "mul", "fma", "neg", "abs", "minimum", "maximum", "floor"):
        return
    arrays = [np.array([3.0, -5.0, 0.0])] * ARITY[name]
    lo, hi = ROWS[name].enclose(*((a, a) for a in arrays))
    assert np.array_equal(lo, hi)
    assert np.array_equal(lo, ROWS[name].host(*arrays))
