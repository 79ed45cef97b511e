"""The interval machine's own words: sums, products of matrices, extrema, choices and casts contain, by rationals."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from precdiff import ops
from precdiff.formats import get_format
from precdiff.machine import IntervalMachine, Tensor
from precdiff.machine.realarray import FINITE, NAN, UNKNOWN

FP64, FP32, BOOL = (get_format(n) for n in ("fp64", "fp32", "bool"))
M = IntervalMachine()
INF, NANS = np.inf, np.nan


def box(lo, hi, fmt=FP64):
    return Tensor((np.asarray(lo, np.float64), np.asarray(hi, np.float64)), fmt, M)


def random_box(rng, shape, wide):
    """Boxes of all sizes; points where not `wide`."""
    lo = rng.standard_normal(shape) * np.exp2(rng.choice([0, 30, -40, -600, 500], shape))
    return lo, lo + np.abs(lo) * rng.choice([0.0, 2.0**-50, 2.0**-3], shape) * wide


def exact(values):
    return [Fraction(v) for v in np.ravel(values).tolist()]


@pytest.mark.parametrize("wide", [False, True])
def test_sums(wide):
    rng = np.random.default_rng(wide)
    lo, hi = random_box(rng, (50, 13), wide)
    found = ops.sum_(box(lo, hi), axis=-1).planes
    for i in range(50):
        assert Fraction(float(found[0][i])) <= sum(exact(lo[i])) <= sum(exact(hi[i])) <= Fraction(float(found[1][i]))


def test_exact_sums_are_points():
    found = ops.sum_(box([[1e16, 1.0, -1e16]], [[1e16, 1.0, -1e16]]), axis=-1).planes
    assert found[0].tolist() == found[1].tolist() == [1.0]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("with_c", [False, True])
def test_products_of_matrices(wide, with_c):
    """The corners of random boxes, a few choices each."""
    rng = np.random.default_rng(2 * wide + with_c)
    a, b, c = (random_box(rng, s, wide) for s in ((4, 9), (9, 3), (4, 3)))
    operands = [box(*a), box(*b)] + ([box(*c)] if with_c else [])
    lo, hi = ops.matmul(*operands).planes
    for pick in range(6):
        x, y, z = (np.where(rng.random(p[0].shape) < pick / 5, *p) for p in (a, b, c))
        for i, j in np.ndindex(4, 3):
            value = sum(p * q for p, q in zip(exact(x[i]), exact(y[:, j]), strict=True))
            value += Fraction(float(z[i, j])) if with_c else 0
            assert Fraction(float(lo[i, j])) <= value <= Fraction(float(hi[i, j]))


@pytest.mark.parametrize("bad", [INF, NANS])
def test_specials_among_products_leave_them_open(bad):
    a = np.ones((2, 3))
    a[0, 1] = bad
    found = M.reals(ops.matmul(box(a, a), box(np.ones((3, 1)), np.ones((3, 1)))))
    assert found.kind.tolist() == [[UNKNOWN], [FINITE]]


def test_maxima():
    lo, hi = (
        np.array([[0.0, 1.0, -5.0], [1.0, NANS, 2.0], [-INF, 1.0, 2.0]]),
        np.array([[3.0, 1.5, INF], [1.0, NANS, 2.0], [INF, 1.0, 2.0]]),
    )
    found = ops.max_(box(lo, hi), axis=1).planes
    np.testing.assert_equal([p.tolist() for p in found], [[1.0, NANS, -INF], [INF, NANS, INF]])


@pytest.mark.parametrize(
    ("condition", "x", "y", "expected"),
    [
        ((1, 1), (1, 2), (5, 6), (1, 2)),
        ((0, 0), (1, 2), (5, 6), (5, 6)),
        ((0, 1), (1, 2), (5, 6), (1, 6)),
        ((0, 1), (1, 1), (1, 1), (1, 1)),
        ((0, 1), (INF, INF), (1, 1), (-INF, INF)),
        ((1, 1), (INF, INF), (1, 1), (INF, INF)),
        ((0, 1), (NANS, NANS), (1, 1), (-INF, INF)),
        ((0, 1), (INF, INF), (INF, INF), (INF, INF)),
    ],
)
def test_choices(condition, x, y, expected):
    found = ops.where(box(*condition, BOOL), box(*x), box(*y)).planes
    assert tuple(float(p) for p in found) == expected


@pytest.mark.parametrize(
    ("name", "x", "y", "certain", "possible"),
    [
        ("lt", (1, 2), (3, 4), 1, 1),
        ("lt", (1, 3), (3, 4), 0, 1),
        ("lt", (3, 4), (1, 3), 0, 0),
        ("le", (1, 3), (3, 4), 1, 1),
        ("eq", (1, 1), (1, 1), 1, 1),
        ("eq", (1, 2), (2, 3), 0, 1),
        ("eq", (1, 2), (3, 4), 0, 0),
        ("ne", (1, 2), (2, 3), 0, 1),
        ("ne", (1, 1), (1, 1), 0, 0),
        ("ne", (1, 2), (3, 4), 1, 1),
        ("lt", (NANS, NANS), (1, 1), 0, 0),
        ("eq", (NANS, NANS), (NANS, NANS), 0, 0),
        ("ne", (NANS, NANS), (1, 1), 1, 1),
        ("ge", (NANS, NANS), (1, 1), 0, 0),
        ("gt", (-INF, INF), (1, 1), 0, 1),
        ("ne", (-INF, INF), (1, 1), 0, 1),
    ],
)
def test_comparisons(name, x, y, certain, possible):
    assert tuple(float(p) for p in ops.OPS[name](box(*x), box(*y)).planes) == (certain, possible)


@pytest.mark.parametrize(
    ("to", "lo", "hi", "expected"),
    [
        ("i8", 2.4, 2.6, (2, 3)),
        ("i8", 2.5, 2.5, (2, 2)),
        ("i8", 200, 300, (127, 127)),
        ("i8", NANS, NANS, (0, 0)),
        ("bool", 2, 3, (1, 1)),
        ("bool", -1, 1, (0, 1)),
        ("bool", 0, 0, (0, 0)),
        ("bool", 0, 1, (0, 1)),
        ("bool", NANS, NANS, (1, 1)),
        ("fp32", 1.1, 1.2, (1.1, 1.2)),
    ],
)
def test_casts(to, lo, hi, expected):
    assert tuple(float(p) for p in ops.cast(box(lo, hi), to).planes) == expected


def test_float_casts_round_where_they_are_kept():
    machine = IntervalMachine("rounded")
    x = Tensor((np.array([1.0, 5.0]), np.array([1 + 2.0**-12, 1e9])), FP32, machine)
    found = ops.cast(x, "fp16").planes
    assert [p.tolist() for p in found] == [[1.0, 5.0], [1.0, INF]]


def test_an_overflow_to_nan_is_not_known_to_be_one():
    """e4m3fn has no infinity: 500 is NaN there, and [5, 500] is anything."""
    machine = IntervalMachine("rounded")
    x = Tensor((np.array([500.0, 5.0, -INF]), np.array([600.0, 500.0, INF])), FP32, machine)
    assert machine.reals(ops.cast(x, "e4m3fn")).kind.tolist() == [NAN, UNKNOWN, UNKNOWN]


@pytest.mark.parametrize("inner", ["tanh", "erf", "sin", "exp"])
def test_functions_with_bounded_values_do_not_hide_a_nan(inner):
    """tanh of anything is between -1 and 1, or NaN: so it is anything."""
    x = box(-INF, INF)
    for made in (ops.OPS[inner](x), 0.0 * x, ops.minimum(ops.maximum(x, 0.0), 6.0), abs(x), ops.power(x, 0.0)):
        assert M.reals(made).kind == UNKNOWN


def test_only_fp64_itself_can_tell_an_overflow_from_its_largest_number():
    for fmt, kind in ((FP64, UNKNOWN), (FP32, 1)):
        assert M.reals(box(np.finfo(np.float64).max, INF, fmt)).kind == kind


def test_a_box_of_subnormals():
    least = 5e-324
    for lo, hi in itertools.combinations([-least, 0.0, least, 3 * least], 2):
        found = M.reals(box(lo, hi))
        assert found.hi - found.radius <= lo <= hi <= found.hi + found.radius
