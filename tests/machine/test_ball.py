"""Balls beside specials, zeros and poles, and at sizes no exponent was made for; mpmath where it has no such number."""

import math

import flint
import numpy as np
import pytest
from flint import arb

from precdiff import ops
from precdiff.formats import get_format
from precdiff.machine import BallMachine, MpMachine, RealArray, Tensor
from precdiff.machine.ball_number import FAR, bounds, choose, describe, evaluate, round_number
from precdiff.machine.realarray import FINITE, NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, UNKNOWN
from precdiff.ops import OPS
from precdiff.rounding import Rounding

INF, NANS = math.inf, math.nan
FP64 = get_format("fp64")
M = BallMachine(128)
NEAR_ONE, AROUND_ZERO, POSITIVE, SMALL = arb(1, 1e-9), arb(0, 1e-9), arb(5, 0.5), arb(0.3, 1e-9)
ANYTHING = arb(0, INF)
with flint.ctx.workprec(100):
    ALMOST = arb(2) ** -60 - 1  # fp64 has nothing between -1 and it


def shown(value):
    if value is None or isinstance(value, bool | float):
        return value
    return value if value.is_finite() else "anything"


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (NEAR_ONE, INF), INF),
        ("add", (AROUND_ZERO, -INF), -INF),
        ("add", (ANYTHING, INF), "anything"),
        ("add", (NANS, AROUND_ZERO), NANS),
        ("mul", (POSITIVE, -INF), -INF),
        ("mul", (AROUND_ZERO, INF), "anything"),
        ("mul", (arb(0), INF), NANS),
        ("mul", (-0.0, POSITIVE), -0.0),
        ("mul", (-0.0, -POSITIVE), 0.0),
        ("div", (POSITIVE, INF), 0.0),
        ("div", (-POSITIVE, INF), -0.0),
        ("div", (AROUND_ZERO, INF), "anything"),
        ("div", (POSITIVE, -0.0), -INF),
        ("div", (POSITIVE, AROUND_ZERO), "anything"),
        ("power", (SMALL, INF), 0.0),
        ("power", (POSITIVE, INF), INF),
        ("power", (NEAR_ONE, INF), "anything"),
        ("power", (-INF, POSITIVE), "anything"),
        ("power", (-INF, arb(3)), -INF),
        ("power", (NANS, arb(0)), 1.0),
        ("power", (NANS, AROUND_ZERO), "anything"),
        ("power", (NEAR_ONE, NANS), "anything"),
        ("power", (POSITIVE, NANS), NANS),
        ("lt", (NEAR_ONE, INF), True),
        ("lt", (INF, AROUND_ZERO), False),
        ("eq", (NANS, ANYTHING), False),
        ("ne", (NANS, ANYTHING), True),
        ("lt", (ANYTHING, INF), None),
        ("lt", (NEAR_ONE, arb(1)), None),
        ("eq", (AROUND_ZERO, -0.0), None),
        ("le", (arb(0), -0.0), True),
        ("tanh", (ANYTHING,), "anything"),
        ("log", (arb(0),), -INF),
        ("log", (arb(-1),), NANS),
        ("log", (AROUND_ZERO,), "anything"),
        ("rsqrt", (-0.0,), -INF),
        ("fma", (AROUND_ZERO, INF, arb(1)), "anything"),
        ("sub", (arb(2) ** 2000, INF), -INF),
    ],
)
def test_beside_specials(name, args, expected):
    with flint.ctx.workprec(100):
        found = shown(evaluate(OPS[name], *args))
    if isinstance(expected, float) and not isinstance(found, str):
        np.testing.assert_equal(float(found), expected)
        assert math.copysign(1, found) == math.copysign(1, expected) or expected != expected
    else:
        assert found == expected


@pytest.mark.parametrize("operand", [SMALL, NEAR_ONE, AROUND_ZERO, -POSITIVE])
def test_the_extremum_beside_an_infinity_is_the_operand_itself(operand):
    """And not a number that stands for it."""
    assert evaluate(OPS["maximum"], -INF, operand) is operand
    assert evaluate(OPS["minimum"], operand, INF) is operand
    assert evaluate(OPS["maximum"], operand, INF) == INF
    assert evaluate(OPS["clip"], operand, arb(-9), INF) is operand


@pytest.mark.parametrize(
    ("condition", "x", "y", "expected"),
    [
        (True, arb(1), arb(2), 1.0), (False, arb(1), arb(2), 2.0), (None, True, True, True), (None, True, False, None),
        (None, INF, INF, INF), (None, NANS, NANS, NANS), (None, INF, arb(1), "anything"),
    ],
)  # fmt: skip
def test_choices(condition, x, y, expected):
    found = shown(choose(condition, x, y))
    np.testing.assert_equal(float(found) if isinstance(found, arb) else found, expected)


def test_an_undecided_choice_is_a_hull():
    hull = choose(None, arb(1), -0.0)
    assert hull.contains(0) and hull.contains(1)


def kinds(function, *arrays):
    tensors = [M.tensor(np.asarray(a, np.float64), FP64) for a in arrays]
    return M.reals(function(*tensors)).kind.tolist()


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ([1.0, INF], POSITIVE_INFINITY), ([1.0, -INF, 2.0], NEGATIVE_INFINITY), ([INF, -INF], NAN), ([NANS, 1.0], NAN),
        ([-0.0, -0.0], FINITE), ([0.5, 0.25], FINITE), ([], FINITE),
    ],
)  # fmt: skip
def test_sums_with_specials(row, kind):
    assert kinds(lambda x: ops.sum_(x, axis=-1), [row]) == [kind]


@pytest.mark.parametrize(
    ("row", "kind"),
    [([1.0, INF], 1), ([1.0, -INF], FINITE), ([-INF, -INF], 2), ([NANS, INF], NAN), ([-0.0, 0.0], FINITE)],
)
def test_maxima_with_specials(row, kind):
    assert kinds(lambda x: ops.max_(x, axis=-1), [row]) == [kind]


def test_products_of_matrices_with_specials():
    a, b = [[1.0, INF], [0.0, INF], [-0.0, 2.0]], [[2.0], [3.0]]
    assert kinds(ops.matmul, a, b) == [[POSITIVE_INFINITY], [POSITIVE_INFINITY], [FINITE]]
    assert kinds(ops.matmul, [[INF, 1.0]], [[0.0], [1.0]]) == [[NAN]]


class TestSizes:
    """exp(-1e300) and its like: no exponent is large enough, and no Fraction may be built."""

    @pytest.mark.parametrize("x", [1e5, -1e5, 1e18, -1e18, 3e38, -3e38, -1e300])
    def test_ends_are_cut_where_no_format_reaches(self, x):
        low, high = bounds(arb(x).exp())
        assert abs(low) <= 2**FAR and abs(high) <= 2**FAR
        assert low <= high

    @pytest.mark.parametrize("x", [1e5, 3e38])
    def test_overflows_are_certain(self, x):
        assert kinds(ops.exp, [x, -x]) == [POSITIVE_INFINITY, FINITE]

    def test_beyond_all_exponents_nothing_is_claimed(self):
        assert kinds(ops.exp, [1e300]) == [UNKNOWN]
        assert kinds(lambda x: ops.log(ops.exp(x)), [1e300]) == [UNKNOWN]

    def test_a_large_number_is_not_an_infinity(self):
        """log(exp(3e38)) is 3e38 again."""
        for machine in (M, MpMachine(200)):
            x = machine.tensor(np.array([3e38, -3e38]), FP64)
            assert machine.reals(ops.log(ops.exp(x))).values().tolist() == [3e38, -3e38]

    def test_mpmath_ends_where_an_exponent_would_have_more_than_1100_bits(self):
        machine = MpMachine(200)
        x = machine.tensor(np.array([1e300, -1e300]), FP64)
        assert machine.reals(ops.exp(ops.exp(x))).values().tolist() == [INF, 1.0]

    @pytest.mark.parametrize("value", [arb(2) ** 3000, -(arb(2) ** -3000)])
    def test_casts_of_extreme_numbers(self, value):
        found = round_number(value, Rounding("fp32"))
        assert found == (INF if value > 0 else -0.0)


def test_descriptions():
    with flint.ctx.workprec(200):
        hi, lo, radius, kind = describe(arb(1) / 3)
        assert (hi, kind) == (1 / 3, FINITE)
        assert abs(arb(hi) + arb(lo) - arb(1) / 3) <= arb(radius)
    assert describe(None) == (0.5, 0.0, 0.5, FINITE)
    assert describe(True) == (1.0, 0.0, 0.0, FINITE)
    assert describe(ANYTHING)[3] == UNKNOWN
    assert describe(arb(2) ** 1024)[3] == POSITIVE_INFINITY
    assert describe(arb(2) ** 1024 - arb(2) ** 970)[3] == FINITE  # fp64's largest number
    assert math.copysign(1, describe(-0.0)[0]) == -1


def test_reals_come_back_as_balls():
    columns = (
        [1.5, -0.0, 0.0, 0.0, 0.0, 0.0],
        [2.0**-60, 0, 0, 0, 0, 0],
        [2.0**-80, 0, 0, 0, 0, 0],
        [0, 0, 1, 2, 3, 4],
    )
    known = RealArray(*(np.array(c, np.float64) for c in columns[:3]), np.array(columns[3], np.uint8))
    back = M.reals(Tensor(M.of_reals(known), FP64, M))
    assert back.kind.tolist() == known.kind.tolist()
    assert (back.hi[0], back.lo[0]) == (1.5, 2.0**-60)
    assert np.signbit(back.hi[1])


@pytest.mark.parametrize("machine", [M, MpMachine(200)], ids=lambda m: m.name)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1.0 / x, lambda x: 1.0 / (x * 2.0), lambda x: 1.0 / ops.neg(-x), ops.reciprocal, ops.rsqrt,
        lambda x: ops.power(x, -3.0), lambda x: 1.0 / ops.tanh(x), lambda x: 1.0 / ops.sqrt(x),
    ],
)  # fmt: skip
def test_zeros_keep_their_sign_to_a_pole(machine, function):
    x = machine.tensor(np.array([0.0, -0.0]), FP64)
    assert machine.reals(function(x)).values().tolist() == [INF, -INF]
