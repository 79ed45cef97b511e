"""round_integer against its definition on Fraction: every half-integer near the ends of i8, all directions."""

from fractions import Fraction

import numpy as np
import pytest

from precdiff.rounding import Rounding, round_integer, round_integer_exact

DIRECTIONS = ("nearest-even", "nearest-away", "toward-zero", "up", "down", "to-odd")
POINTS = [n / 8 for n in range(-1100, 1101)] + [1e30, -1e30, float("inf"), float("-inf"), float("nan"), -0.0]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("format", ["i8", "u8", "i16", "i32", "bool"])
def test_arrays_follow_the_definition(format, direction):
    rounding = Rounding(format, direction)
    expected = [round_integer_exact(x, rounding) for x in POINTS]
    assert round_integer(np.array(POINTS), rounding).astype(int).tolist() == expected


def test_a_tie_no_float_can_hold():
    just_above = Fraction(5, 2) + Fraction(1, 2**200)
    assert round_integer_exact(just_above, Rounding("i8")) == 3
    assert round_integer_exact(Fraction(5, 2), Rounding("i8")) == 2
