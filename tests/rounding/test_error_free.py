"""Error-free sums and products against rationals, and the theorem that makes rounding to odd useful."""

from fractions import Fraction

import numpy as np
import pytest

from precdiff.rounding import DIRECTIONS, Rounding, round_array, round_exact, round_to_odd, two_product, two_sum
from precdiff.rounding.error_free import fused_in_two, round_pair
from tests.rounding.edges import same


def wide(count, exponents, seed):
    """Doubles with full significands and exponents from a range."""
    rng = np.random.default_rng(seed)
    return rng.uniform(1, 2, count) * np.exp2(rng.integers(*exponents, count)) * rng.choice([-1, 1], count)


def test_two_sum_loses_nothing():
    a, b = wide(5000, (-60, 60), 1), wide(5000, (-60, 60), 2)
    b[::3] = -a[::3] * (1 + wide(1667, (-53, -40), 3))
    s, e = two_sum(a, b)
    assert (s == a + b).all()
    for parts in zip(a.tolist(), b.tolist(), s.tolist(), e.tolist(), strict=True):
        x, y, high, low = map(Fraction, parts)
        assert x + y == high + low


def test_two_product_loses_nothing():
    a, b = wide(5000, (-400, 400), 4), wide(5000, (-400, 400), 5)
    p, e = two_product(a, b)
    assert (p == a * b).all()
    for parts in zip(a.tolist(), b.tolist(), p.tolist(), e.tolist(), strict=True):
        x, y, high, low = map(Fraction, parts)
        assert x * y == high + low


def test_round_to_odd_is_its_definition():
    hi = np.concatenate([wide(3000, (-5, 5), 6), [1.0, -1.0, 2.0**-1022, 2.0**1000, 1.0, 1.0]])
    lo = hi * wide(3006, (-80, -53), 7) / 2
    lo[::5] = 0
    expected = [
        round_exact(Fraction(h) + Fraction(low), Rounding("fp64", "to-odd"))
        for h, low in zip(hi.tolist(), lo.tolist(), strict=True)
    ]
    assert round_to_odd(hi, lo).tolist() == expected


def test_round_to_odd_passes_specials_through():
    hi = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, np.inf, -np.inf])
    lo = np.array([np.nan, np.nan, np.nan, 0.0, 0.0, np.nan, -np.inf, 1.0])
    assert same(round_to_odd(hi, lo), hi).all()


@pytest.mark.parametrize("direction", [direction for direction in DIRECTIONS if direction != "stochastic"])
def test_round_pair_is_the_sum_rounded_once(direction):
    hi = np.concatenate([wide(500, (-5, 5), 9), [1.0, 1.0, -1.0, 1.0 + 2.0**-52, 2.0]])
    half = np.exp2(np.floor(np.log2(np.abs(hi)))) * 2.0**-53
    for share in (0.0, 0.25, 0.75):
        for sign in (1, -1):
            lo = sign * share * half / 2  # below half the gap under a power of two
            expected = [
                round_exact(Fraction(h) + Fraction(low), Rounding("fp64", direction))
                for h, low in zip(hi.tolist(), lo.tolist(), strict=True)
            ]
            assert round_pair(hi, lo, direction).tolist() == expected


def test_round_pair_knows_ties():
    hi, lo = np.array([1.0, -1.0, 1 + 2.0**-51, 1 + 2.0**-51]), 2.0**-53 * np.array([1, -1, 1, -1])
    assert round_pair(hi, lo, "nearest-even").tolist() == hi.tolist()
    assert round_pair(hi, lo, "nearest-away").tolist() == [1 + 2.0**-52, -1 - 2.0**-52, 1 + 3 * 2.0**-52, 1 + 2.0**-51]


def test_fused_in_two_is_the_nearest_and_the_sign_of_the_rest():
    a, b = wide(4000, (-40, 40), 10), wide(4000, (-40, 40), 11)
    c = -a * b * (1 + np.where(np.arange(4000) % 2, wide(4000, (-60, -1), 12), 0))
    hi, lo = fused_in_two(a, b, c)
    for parts in zip(a.tolist(), b.tolist(), c.tolist(), hi.tolist(), lo.tolist(), strict=True):
        x, y, z, high, low = map(Fraction, parts)
        exact = x * y + z
        assert high == Fraction(round_exact(exact, Rounding("fp64")))
        assert (exact > high) == (low > 0) and (exact < high) == (low < 0)


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "e5m2"])
@pytest.mark.parametrize("direction", [direction for direction in DIRECTIONS if direction != "stochastic"])
def test_a_second_rounding_after_one_to_odd_is_harmless(name, direction):
    # ties and neighbours of the narrow format, disturbed by what fp64 cannot hold
    narrow = round_array(wide(1500, (-18, 14), 8), Rounding(name)).astype(np.float64)
    middle = narrow * (1 + np.ldexp(1.0, -int(Rounding(name).format.p)))
    hi = np.concatenate([narrow, middle])[np.concatenate([narrow, middle]) != 0]  # a rational zero has no sign
    lo = hi * np.ldexp(np.resize([-1.0, 0.0, 1.0], hi.size), -70)
    expected = [
        round_exact(Fraction(h) + Fraction(low), Rounding(name, direction))
        for h, low in zip(hi.tolist(), lo.tolist(), strict=True)
    ]
    assert same(round_array(round_to_odd(hi, lo), Rounding(name, direction)), expected).all()
