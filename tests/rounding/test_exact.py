"""The definition on rationals no float holds; on floats tests/rounding/test_array.py checks it everywhere."""

import math
from fractions import Fraction

import mpmath
import pytest

from precdiff.formats import next_down, next_up
from precdiff.rounding import DIRECTIONS, Rounding, round_exact

THIRD = Fraction(1, 3)


@pytest.mark.parametrize(("p", "name"), [(11, "fp16"), (8, "bf16"), (24, "fp32"), (53, "fp64")])
def test_rationals_round_as_mpmath_rounds_them(p, name):
    modes = {"nearest-even": "n", "toward-zero": "d", "up": "c", "down": "f"}
    for x in (THIRD, -THIRD, Fraction(22, 7), Fraction(-1, 10), Fraction(10**5, 7), Fraction(2**60 + 1, 2**60)):
        for direction, mode in modes.items():
            expected = mpmath.fdiv(x.numerator, x.denominator, prec=p, rounding=mode)
            assert round_exact(x, Rounding(name, direction)) == float(expected)


def test_a_hair_beside_a_tie_decides():
    tie, hair = Fraction(1) + Fraction(1, 2**11), Fraction(1, 10**400)
    assert round_exact(tie, Rounding("fp16")) == 1.0
    assert round_exact(tie + hair, Rounding("fp16")) == 1 + 2.0**-10
    assert round_exact(-tie - hair, Rounding("fp16")) == -1 - 2.0**-10
    assert round_exact(tie - hair, Rounding("fp16", "nearest-away")) == 1.0
    assert round_exact(1 + hair, Rounding("fp64", "up")) == 1 + 2.0**-52
    assert round_exact(1 + hair, Rounding("fp64", "to-odd")) == 1 + 2.0**-52


def test_rationals_beyond_every_float_overflow_and_underflow():
    huge, tiny = Fraction(10) ** 5000, Fraction(1, 10**5000)
    assert round_exact(huge, Rounding("fp64")) == math.inf
    assert round_exact(-huge, Rounding("fp64", "toward-zero")) == -1.7976931348623157e308
    assert round_exact(tiny, Rounding("fp64", "up")) == 5e-324
    assert math.copysign(1, round_exact(-tiny, Rounding("fp64"))) == -1


def test_zero_keeps_its_sign_and_a_rational_zero_is_positive():
    for direction in DIRECTIONS:
        rounding = Rounding("fp16", direction)
        assert math.copysign(1, round_exact(-0.0, rounding, Fraction(0))) == -1
        assert math.copysign(1, round_exact(Fraction(0), rounding, Fraction(0))) == 1


def test_the_random_number_is_compared_with_the_fraction_lost():
    rounding = Rounding("fp16", "stochastic")
    unit = Fraction(1, 2**10)
    x = 1 + THIRD * unit
    assert round_exact(x, rounding, THIRD) == 1.0
    assert round_exact(x, rounding, THIRD - Fraction(1, 10**30)) == 1 + 2.0**-10
    assert round_exact(-x, rounding, Fraction(0)) == -1 - 2.0**-10
    assert round_exact(1.0, rounding, Fraction(0)) == 1.0


@pytest.mark.parametrize("name", ["fp16", "bf16", "e4m3fn", "e5m2", "fp32", "fp64"])
def test_third_lies_between_its_neighbours(name):
    below, above = (round_exact(THIRD, Rounding(name, direction)) for direction in ("down", "up"))
    assert Fraction(below) < THIRD < Fraction(above)
    assert next_up(below, name) == above and next_down(above, name) == below
